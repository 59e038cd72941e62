"""A name is looked up as those who call it get it, whatever else the package has of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.suite.lookup import lookup

RELEASE = "lookup_toy 1.0"
FILES = {
    "__init__.py": "from lookup_toy.norm import norm",
    "norm.py": "def norm(): 'the function'\ndef beside(): 'in the module of that name'",
    "extra/__init__.py": "from lookup_toy.extra.fuse import fuse",
    "extra/fuse.py": "def fuse(): 'not imported by the first word'",
    "wants.py": "import lookup_toy_that_is_not_there",
    "folder/inner.py": "value = 1",
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, source in FILES.items():
        path = tmp_path / "lookup_toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("name", "docstring"),
    [
        ("lookup_toy.norm", "the function"),
        ("lookup_toy.norm.beside", "in the module of that name"),
        ("lookup_toy.extra.fuse", "not imported by the first word"),
        ("lookup_toy.extra.fuse.fuse", "not imported by the first word"),
    ],
)
def test_a_function_may_bear_the_name_of_its_module(name: str, docstring: str) -> None:
    assert lookup(name, RELEASE).__doc__ == docstring


def test_a_module_is_found_as_well() -> None:
    assert lookup("lookup_toy.folder.inner", RELEASE).value == 1


@pytest.mark.parametrize("name", ["lookup_toy.gone", "lookup_toy.norm.gone", "lookup_toy.extra.gone.more", "gone.norm"])
def test_what_is_gone_is_named(name: str) -> None:
    with pytest.raises(LookupError, match=rf"^lookup_toy 1\.0 has no {name}$"):
        lookup(name, RELEASE)


def test_a_module_that_wants_another_is_not_gone() -> None:
    """It is there: what is missing is a package, and no version is blamed for it."""
    with pytest.raises(ModuleNotFoundError, match="lookup_toy_that_is_not_there"):
        lookup("lookup_toy.wants.anything", RELEASE)
