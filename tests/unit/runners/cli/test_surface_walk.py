"""The enumeration of a small framework, and of one whose modules fail, print, end their process or hang."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from runners.cli.enumeration import enumerate_surface
from runners.errors import FrameworkBrokenError
from runners.isolation.fork_server import Interpreter

FILES = {
    "jax/__init__.py": (
        "__version__ = '9.1+local'\n"
        "from jax.shapes import area as area, Square as Square\nfrom math import sqrt\nimport json\n"
    ),
    "jax/shapes.py": (
        '__all__ = ["area", "Square", "Cube", "old", "Fault"]\n'
        "def area(side: float = 1.0) -> float:\n    'Compute.'\n"
        "class _Hidden:\n    def edges(self): ...\n    def _inner(self): ...\n"
        "class Square(_Hidden):\n    'A square.'\n    def side(self): ...\n"
        "    @property\n    def width(self): ...\n    @classmethod\n    def unit(cls): ...\n"
        "    @staticmethod\n    def corners(): ...\n"
        "class Cube(Square):\n    def volume(self): ...\n"
        "def old():\n    'This function is deprecated.'\n"
        "class Fault(Exception): ...\n"
        "def unlisted(): ...\n"
    ),
    "jax/plain.py": "from jax.shapes import area\ndef mine(): ...\nvalue = 3\n",
    "jax/_private.py": "raise SystemError('nobody imports me')\n",
}


def lines(place: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, silence_s: float = 60.0) -> list[Any]:
    """Write a framework in place of one of Portolan's, and enumerate it."""
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(place))
    output = enumerate_surface("jax", Interpreter(sys.executable), silence_s=silence_s)
    return [json.loads(line) for line in output.splitlines()]


def test_every_public_object_is_listed_once_with_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *entries = lines(tmp_path, FILES, monkeypatch)
    assert {entry["name"]: entry["kind"] for entry in entries} == {
        "jax.Square": "class",
        "jax.Square.corners": "staticmethod",
        "jax.Square.edges": "method",
        "jax.Square.side": "method",
        "jax.Square.unit": "classmethod",
        "jax.Square.width": "property",
        "jax.area": "function",
        "jax.plain.mine": "function",
        "jax.shapes.Cube": "class",
        "jax.shapes.Cube.volume": "method",
        "jax.shapes.Fault": "exception",
        "jax.shapes.old": "function",
    }
    by_name = {entry["name"]: entry for entry in entries}
    area = by_name["jax.area"]
    assert (area["aliases"], area["module"]) == (["jax.shapes.area"], "jax.shapes")
    assert (area["signature"], area["documented"]) == ("(side: float = 1.0) -> float", True)
    assert by_name["jax.shapes.Cube"]["bases"] == ["jax.Square"]
    assert [name for name, entry in by_name.items() if entry["deprecated"]] == ["jax.shapes.old"]
    assert (header["version"], header["entries"], header["failed"]) == ("9.1", len(entries), {})


def test_a_module_that_misbehaves_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {
        "jax/a_fails.py": "raise RuntimeError('not\\nhere')",
        "jax/b_exits.py": "import sys; sys.exit(3)",
        "jax/c_dies.py": "import os; os._exit(7)",
        "jax/d_hangs.py": "import signal; signal.pause()",
        "jax/e_prints.py": "import os; os.write(1, b'hello')\ndef said(): ...",
        "jax/f_says.py": "import os\nos.write(2, b'{}' * 100_000)",
    }
    header, *entries = lines(tmp_path, FILES | bad, monkeypatch, silence_s=5.0)
    assert header["failed"] == {
        "jax.a_fails": "RuntimeError: not here",
        "jax.b_exits": "SystemExit: 3",
        "jax.c_dies": "ended with exit code 7",
        "jax.d_hangs": "sent nothing for 5 s",
    }
    assert header["printed"] == ["jax.e_prints", "jax.f_says"]
    assert "jax.e_prints.said" in {entry["name"] for entry in entries}


def test_two_walks_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(tmp_path, FILES, monkeypatch) == lines(tmp_path, FILES, monkeypatch)


def test_a_framework_that_cannot_be_imported_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FrameworkBrokenError, match=r"cannot be imported in .* \(ValueError: no\): repair"):
        lines(tmp_path, {"jax/__init__.py": "raise ValueError('no')"}, monkeypatch)
    assert os.environ["PYTHONPATH"] == str(tmp_path)
