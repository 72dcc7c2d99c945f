"""`python -m incumbent` runs the command line, and says how to install it if it is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import TIMEOUT


def run(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "incumbent", *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def test_the_command_line_runs_with_its_arguments_and_exit_code(cli: Path, tmp_path: Path):
    url = f"sqlite:{tmp_path}/e.db"
    made = run(str(cli.parent), "init", "--store", url)
    assert (made.returncode, made.stdout.startswith("made "), made.stderr) == (0, True, "")
    assert run(str(cli.parent), "init", "--store", "memory:").returncode == 2


def test_without_the_command_line_a_message_says_how_to_install_it(tmp_path: Path):
    missing = run(str(tmp_path), "init")
    assert (missing.returncode, missing.stdout) == (127, "")
    assert "cargo install incumbent-cli" in missing.stderr and "incumbent.sync.init(url)" in missing.stderr
