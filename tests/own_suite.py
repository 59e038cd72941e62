"""A small suite like a user's own, written into a folder away from the checkout."""

from __future__ import annotations

from pathlib import Path

CASES = """\
import numpy as np

from runners.suite.cases import Function

total = Function("mine.total", lambda values: np.asarray(np.sum(values)), given=lambda values: np.asarray(values.sum()))
total.value("row", lambda inputs: [inputs.normal(4)], dtype="float64")
total.value("empty", lambda inputs: [inputs.normal(0)], dtype="float64")
"""
MODULE = f"{CASES}\nFUNCTIONS = [total]\n"
"""A suite in one file."""
BOTH = ["mine.total/row", "mine.total/empty"]
"""The ids of its cases."""


def write_module(folder: Path, source: str = MODULE, name: str = "mine") -> Path:
    """Write a suite that is one module. Returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    file.write_text(source)
    return file


def write_package(folder: Path, name: str = "mine") -> Path:
    """Write a suite that is a package. Returns its folder. Its cases are in one of its modules, and use another
    module."""
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sums.py").write_text(
        CASES.replace("lambda values: np.asarray(np.sum(values)),", "right,").replace(
            "from runners", f"from .right import right\nfrom {name}.right import LENGTH\nfrom runners"
        )
        + "total.value('long', lambda inputs: [inputs.normal(LENGTH)], dtype='float64')\n\nFUNCTIONS = [total]\n"
    )
    (package / "right.py").write_text(
        "import numpy as np\n\nLENGTH = 9\n\n\ndef right(values):\n    return np.asarray(np.sum(values))\n"
    )
    return package


def install(folder: Path, *entries: str) -> Path:
    """Turn a folder into a folder of installed packages, with these entry points in the group of suites."""
    information = folder / "mine-0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0\n")
    (information / "entry_points.txt").write_text("[portolan.suites]\n" + "".join(f"{entry}\n" for entry in entries))
    return folder
