"""Writes the lock of the packages that an image installs: its framework's lock without packages that its device does
not use.

``locked.py FRAMEWORK DEVICE LOCK FOLDER`` writes ``lock.txt`` into the folder, and ``pins.txt``, which has no hashes.
If packages are left out, ``spared.txt`` has a pattern for their names, and ``stand-in.txt`` names the function that
creates stand-ins for them. With the variable WITH_CUDA, no packages are left out.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from runners.cli import locks
from runners.frameworks import packages_to_spare


def main(framework: str, device: str, lock: str, folder: str) -> None:
    content, target = Path(lock).read_text(), Path(folder)
    left_out = packages_to_spare(framework, device, whole=bool(os.environ.get("WITH_CUDA")))
    target.mkdir()
    if left_out is not None:
        content = locks.without(content, left_out.packages)
        (target / "spared.txt").write_text(left_out.packages)
        (target / "stand-in.txt").write_text(left_out.stand_in)
    (target / "lock.txt").write_text(content)
    (target / "pins.txt").write_text("".join(f"{pin}\n" for pin in re.findall(r"^[^ \n]+==[^ \n]+", content, re.M)))


if __name__ == "__main__":
    main(*sys.argv[1:])
