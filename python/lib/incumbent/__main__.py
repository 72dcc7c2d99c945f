"""``python -m incumbent``: runs the command line ``incumbent``, if it is installed.

The package does not contain it: it would add a second program of the library's size to every wheel, and most programs
that import the package never run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

MISSING = """\
python -m incumbent runs the command line `incumbent`, a separate program, which is not on PATH. Install it with

    cargo install incumbent-cli

To create a bucket or a file for elections this package is enough: await incumbent.init(url), or incumbent.sync.init(url).
"""


def main() -> int:
    """Runs the command line with the arguments of this process, and returns its exit code."""
    program = shutil.which("incumbent")
    if program is None:
        sys.stderr.write(MISSING)
        return 127
    arguments = [program, *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.run(arguments, check=False).returncode
    os.execv(program, arguments)


if __name__ == "__main__":
    sys.exit(main())
