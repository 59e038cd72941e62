"""Deletes the files of an installed environment that no case needs: packages' own tests, headers, static libraries.

``strip.py FOLDER``. Package versions do not change, so the environment hash does not change either.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

TESTED = ("jax", "mpmath", "networkx", "numpy", "pyarrow", "scipy", "sympy")
"""Packages whose ``tests`` folders only test the package itself. Torch's ``testing`` is not among them, because cases
need it."""
HEADERS = ("torch/include", "tensorflow/include", "pyarrow/include", "numpy/_core/include")
"""Files for compiling extensions. The image has no compiler."""


def main(environment: Path) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    before = size(environment)
    for name in TESTED:
        for folder in [*(packages / name).rglob("tests")]:
            shutil.rmtree(folder, ignore_errors=True)
    for name in HEADERS:
        shutil.rmtree(packages / name, ignore_errors=True)
    for pattern in ("*.a", "*.pdb"):
        for file in packages.rglob(pattern):
            file.unlink()
    print(f"stripped {(before - size(environment)) / 1e6:.0f} MB of {before / 1e6:.0f} MB")


def size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
