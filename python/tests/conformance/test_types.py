"""The runner uses the package like a program, and passes mypy's strict mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_the_runner_passes_mypy_strict(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path), str(HERE)]
    ran = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
