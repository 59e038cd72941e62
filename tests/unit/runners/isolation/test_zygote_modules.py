"""The modules that run in a framework's own interpreter can be read by Python 3.9, the oldest that is served."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.each import check_each

ROOT = Path(__file__).parents[4]
CONTRACT = "a framework's interpreter needs nothing of ours"


def modules() -> list[Path]:
    """The sources that the linter holds to the same line."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    (contract,) = (candidate for candidate in settings["importlinter"]["contracts"] if candidate["name"] == CONTRACT)
    sources: list[Path] = [ROOT / "runners" / "launch.py"]
    for name in contract["source_modules"]:
        place = ROOT.joinpath(*name.split("."))
        sources += place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    return sources


def test_python_3_9_can_read_it() -> None:
    check_each(modules(), check_python_3_9_can_read_it, name=lambda path: str(path.relative_to(ROOT)))


def check_python_3_9_can_read_it(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    later = {"zip": "strict", "dataclass": "slots"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    for call in calls:
        assert later.get(ast.unparse(call.func)) not in {keyword.arg for keyword in call.keywords} - {None}


def test_an_older_python_can_read_the_file_that_refuses_it() -> None:
    text = (ROOT / "runners" / "launch.py").read_text()
    tree = ast.parse(text, feature_version=(3, 4))
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.JoinedStr, ast.AnnAssign, ast.FunctionDef))]
