"""Completes and checks an installed environment: installs stand-ins for packages that were left out.

``complete.py FRAMEWORK ENVIRONMENT LOCKED``, where LOCKED is the folder that ``locked.py`` wrote. If this folder has no
``spared.txt``, no stand-ins are installed, and a missing package is an error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from runners.cli import locks
from runners.errors import StubError
from runners.isolation.installation import STAND_IN


def main(framework: str, environment: str, locked: str) -> str | None:
    python, spared = Path(environment) / "bin" / "python", Path(locked) / "spared.txt"
    packages = spared.read_text() if spared.exists() else None
    if packages is not None:
        (installed,) = Path(environment).glob("lib/python*/site-packages")
        module, _, function = (Path(locked) / "stand-in.txt").read_text().partition(":")
        try:
            stand_ins = getattr(import_module(module), function)(installed)
        except StubError as error:
            return f"{error}; build the image with PORTOLAN_WITH_CUDA=1"
        if stand_ins:
            (Path(environment) / STAND_IN).write_text(f"{json.dumps(stand_ins)}\n")
        # LD_BIND_NOW resolves all symbols during the import, so that a missing symbol fails here.
        subprocess.run([python, "-c", f"import {framework}"], env={**os.environ, "LD_BIND_NOW": "1"}, check=True)
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "check"], capture_output=True, text=True, check=False
    )
    if checked.returncode and not (packages and locks.lack_only(checked.stdout.splitlines(), packages)):
        return checked.stdout + checked.stderr
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
