"""Folders, files, notebooks and archives are read. An unreadable source is named, and the other sources are still
read."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator.assess import linking, sources
from coordinator.assess.knowledge import read_shipped
from coordinator.assess.mentions import FileReading
from coordinator.assess.sites import AssessedSource
from coordinator.assess.sources import (
    OLD_NOTEBOOK,
    SourceReader,
    link_readings,
    locate,
    module_of,
    read_one,
    read_sources,
)
from coordinator.catalogue.surfaces import CHARTABLE, ROOTS, read_shipped_surface, shipped_releases
from coordinator.catalogue.usage import sources as files
from coordinator.catalogue.usage.resolver import OTHER
from coordinator.errors import AssessmentError
from coordinator.results.conditions import UNKNOWN_VALUE

IMPORT = "import torch\n"
ADD = f"{IMPORT}torch.add(1, 2)\n"
KNOWLEDGE, PUBLIC = read_shipped()


def places(source: AssessedSource) -> list[tuple[str, int]]:
    return [(site.path, site.line) for site in source.sites]


def reasons(source: AssessedSource) -> dict[str, str]:
    return {unread.path: unread.reason for unread in source.unread}


def notebook(*cells: str | list[str]) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


def test_the_frameworks_that_code_imports_are_named_beside_the_one_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\nimport tensorflow as tf\ntorch.add(1, 2)\ntf.add(1, 2)")
    source = read_sources(tmp_path, frameworks=["torch"])
    assert ({site.function for site in source.sites}, source.frameworks) == ({"torch.add"}, {"torch", "tensorflow"})


@pytest.mark.parametrize(
    "line", ["files = !ls", "first, *rest = !ls", "seconds = %timeit -o f()", "options['a'] = %env A", "await f()"]
)
def test_a_notebook_cell_may_assign_the_result_of_a_magic(tmp_path: Path, line: str) -> None:
    (tmp_path / "explore.ipynb").write_text(notebook("import torch", [f"{line}\n", "torch.add(1, 2)"]))
    source = read_sources(tmp_path)
    assert (places(source), source.unread) == ([("explore.ipynb#2", 2)], ())


def test_a_folder_is_read_without_what_is_not_the_users(tmp_path: Path) -> None:
    for name in ("train.py", "src/package/layers.py", ".venv/a.py", "env/lib/b.py", "__pycache__/c.py", "data.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ADD)
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "explore.ipynb").write_text(notebook("import torch", ["%matplotlib inline\n", "torch.add(1, 2)"]))
    source = read_sources(tmp_path)
    assert places(source) == [("explore.ipynb#2", 2), ("src/package/layers.py", 2), ("train.py", 2)]
    assert (source.files, source.unread) == (3, ())


def test_a_reading_from_another_process_is_the_same_and_small() -> None:
    code = IMPORT + "".join(f"def f{number}(x):\n    y = g(x.abs(), 1)\n    return y + x\n" for number in range(200))
    reading = read_one(files.SourceFile("main.py", "", code.encode()), "", KNOWLEDGE)
    copied: FileReading = pickle.loads(pickle.dumps(reading))
    for own, other in ((reading.mentions, copied.mentions), (reading.facts.passed, copied.facts.passed)):
        assert list(own) == list(other)
        assert len(list(other)) >= 200, "and every time"
    assert len(pickle.dumps(reading.mentions)) < len(pickle.dumps(list(reading.mentions))) / 4
    assert pickle.loads(pickle.dumps(OTHER)) is OTHER


def test_names_are_those_of_the_newest_surface_that_has_them() -> None:
    surfaces = [read_shipped_surface(release) for release in reversed(shipped_releases())]
    names = [name for surface in surfaces for name in list(surface.by_name)[::97]]
    assert PUBLIC.canonical("torch.amp.GradScaler.scale") == "torch.GradScaler.scale"
    inherited = [
        "torch.optim.AdamW.add_param_group",
        "torch.amp.GradScaler.unscale_",
        "tf.compat.v2.abs",
        "torch.nothing",
        "numpy.add",
        "",
    ]
    for name in [*names, *inherited]:
        entries = (surface.resolve(name) for surface in surfaces if name.startswith(ROOTS[surface.header.framework]))
        entry = next((entry for entry in entries if entry is not None), None)
        assert PUBLIC.canonical(name) == (entry.name if entry is not None and entry.kind in CHARTABLE else None), name


def test_a_single_file_and_a_part_of_a_package_are_read(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import torch\nadd = torch.add\n")
    (package / "train.py").write_text("from . import add\nimport package.train\nadd(1, 2)\n")
    assert places(read_sources(package)) == [("train.py", 3)]
    assert read_sources(package).modules["train.py"] == "package.train"
    (tmp_path / "alone.py").write_text(ADD)
    assert places(read_sources(tmp_path / "alone.py")) == [("alone.py", 2)]


def test_a_value_that_is_not_known_stays_so_from_process_to_process(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.sum(1, dim=n)\n")
    (site,) = read_sources(tmp_path).sites
    assert site.call is not None
    assert site.call.keywords["dim"] is UNKNOWN_VALUE


def test_wheels_and_sdists_are_read_without_unpacking_them(tmp_path: Path) -> None:
    wheel = tmp_path / "some_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some_package/__init__.py", ADD)
    assert places(read_sources(wheel)) == [("some_package/__init__.py", 2)]
    sdist = tmp_path / "some_package-1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive_of_source:
        info = tarfile.TarInfo("some_package-1.0/src/some_package/a.py")
        info.size = len(ADD)
        archive_of_source.addfile(info, io.BytesIO(ADD.encode()))
    source = read_sources(sdist)
    assert places(source) == [("some_package-1.0/src/some_package/a.py", 2)]


def test_only_the_frameworks_that_are_asked_for_have_sites(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch, jax.numpy as jnp, tensorflow as tf\ntorch.add\ntf.add(jnp.add(1, 2), 2)"
    )
    assert {site.function for site in read_sources(tmp_path).sites} >= {"jax.numpy.add", "tf.add"}
    assert {site.function for site in read_sources(tmp_path, frameworks=["jax"]).sites} == {"jax.numpy.add"}


def test_a_source_is_the_same_if_values_of_symbols_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {
        "package/layers.py": "import torch\nclass Block(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x.abs()\nclass Net(Block):\n    def __init__(self):\n        self.block = Block()\n",
        "package/main.py": "from package.layers import Net\ndef step(x):\n    y = Net().block(x)\n"
        "    return loss(y) + y\n"
        "def loss(x=None):\n    return step(x).unique() if x is None else x.sum()\n",
    }
    readings = [
        read_one(files.SourceFile(name, "", program.encode()), "", KNOWLEDGE) for name, program in programs.items()
    ]
    remembering = link_readings(readings, KNOWLEDGE, PUBLIC, {"torch"})
    monkeypatch.setattr(linking, "MOST_REMEMBERED", 0)
    assert link_readings(readings, KNOWLEDGE, PUBLIC, {"torch"}) == remembering
    assert {"torch.Tensor.sum", "torch.add"} <= {site.function for site in remembering.sites}


def test_what_cannot_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(ADD)
    (tmp_path / "python2.py").write_text("print 'torch'")
    (tmp_path / "broken.py").write_text("import torch\ntorch.add(")
    (tmp_path / "latin.py").write_bytes(b"import torch\nx = '\xe9'\n")
    (tmp_path / "zero.py").write_bytes(b"import torch\0")
    (tmp_path / "deep.py").write_text("x = " + "-" * 100_000 + "1")
    (tmp_path / "tall.py").write_text("x = " + " + ".join(["1"] * 20_000))
    (tmp_path / "large.py").write_bytes(b"#" * (files.LARGEST_FILE + 1))
    (tmp_path / "outside.py").symlink_to("/etc/hostname")
    (tmp_path / "circle").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "itself").symlink_to("itself")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "list.ipynb").write_text("[]")
    (tmp_path / "cut.ipynb").write_text('{"cells": [')
    (tmp_path / "old.ipynb").write_text('{"nbformat": 3, "worksheets": [{"cells": []}]}')
    (tmp_path / "half.ipynb").write_text(notebook("import torch", "torch.add(", "torch.add(1, 2)"))
    source = read_sources(tmp_path)
    assert places(source) == [("good.py", 2), ("half.ipynb#3", 1)]
    assert reasons(source) == {
        "python2.py": "Python 2",
        "broken.py": "no Python 3",
        "latin.py": "NUL or bad encoding",
        "zero.py": "NUL or bad encoding",
        "deep.py": "nested too deep",
        "tall.py": "nested too deep",
        "large.py": "too large",
        "outside.py": "a link",
        "circle": "a link",
        "pipe.py": "no plain file",
        "list.ipynb": "no notebook",
        "cut.ipynb": "no notebook",
        "old.ipynb": OLD_NOTEBOOK,
        "half.ipynb#2": "no Python 3",
    }


def test_an_archive_that_expands_too_far_or_is_damaged_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ALWAYS_EXPANDED", 10_000)
    bomb = tmp_path / "bomb-1.0.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", ADD)
        archive.writestr("b.py", b" " * 3_000_000)
    source = read_sources(bomb)
    assert places(source) == [("a.py", 2)]
    assert "archive expands too far" in reasons(source).values()
    damaged_wheel = tmp_path / "damaged-1.0.whl"
    damaged_wheel.write_bytes(b"no zip")
    assert reasons(read_sources(damaged_wheel)) == {"damaged-1.0.whl": "damaged archive (BadZipFile)"}


def test_a_file_that_ends_its_process_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.py").write_text(ADD)
    (tmp_path / "killer.py").write_text("# end this process")
    monkeypatch.setattr(sources, "parse_files", _parse_or_end)
    source = read_sources(tmp_path)
    assert places(source) == [("good.py", 2)]
    assert reasons(source) == {"killer.py": "ended the process that read it"}


def test_the_workers_of_a_reader_end_with_an_error_of_its_caller(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(ADD)
    with pytest.raises(AssessmentError):
        _fail_while_workers_read(tmp_path)
    assert not multiprocessing.active_children()


def _fail_while_workers_read(path: Path) -> None:
    with SourceReader(path):
        assert multiprocessing.active_children()
        raise AssessmentError("no evidence")


def _parse_or_end(batch: list[files.SourceFile]) -> object:
    if any(source.name == "killer.py" for source in batch):
        os._exit(1)
    return sources.parse_files(batch)


@pytest.mark.parametrize("name", ["missing", "missing.py", "notes.txt", "corpus.jsonl", "pipe.py"])
def test_a_path_that_cannot_be_assessed_is_said(tmp_path: Path, name: str) -> None:
    if name == "pipe.py":
        os.mkfifo(tmp_path / name)
    elif not name.startswith("missing"):
        (tmp_path / name).write_text(ADD)
    with pytest.raises(AssessmentError, match=name):
        read_sources(tmp_path / name)


def test_an_installed_package_is_located_by_its_name(tmp_path: Path) -> None:
    import hypothesis

    assert locate("hypothesis") == Path(hypothesis.__file__).parent
    assert locate("hypothesis.strategies").name == "strategies"
    assert locate("typing_extensions").name == "typing_extensions.py"
    assert locate(str(tmp_path)) == tmp_path
    for name in ("no_such_package", "hypothesis.missing", "a/b", "", "\0", "x" * 5_000):
        with pytest.raises(AssessmentError):
            locate(name)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("train.py", ("train", False)),
        ("package/__init__.py", ("package", True)),
        ("some-1.0/src/package/a.py", ("some-1_0.src.package.a", False)),
        ("__init__.py", ("", True)),
    ],
)
def test_a_path_has_a_module_name(path: str, module: tuple[str, bool]) -> None:
    assert module_of(path) == module


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_content_makes_a_reading_raise(content: bytes) -> None:
    for name in ("a.py", "a.ipynb"):
        reading = read_one(files.SourceFile(name, "", content), "", KNOWLEDGE)
        sources.link_readings([reading], KNOWLEDGE, PUBLIC, {"torch"})


_NAMES = st.sampled_from(["x", "y", "self", "torch", "nn", "F", "f", "C", "forward"])
_EXPRESSIONS = st.recursive(
    _NAMES | st.sampled_from(["1", "'a'", "None", "...", "()", "[]", "{}"]),
    lambda inner: st.one_of(
        st.tuples(inner, _NAMES).map("{0[0]}.{0[1]}".format),
        st.tuples(inner, inner).map("({0[0]})({0[1]})".format),
        st.tuples(inner, inner).map("({0[0]})[{0[1]}]".format),
        st.tuples(inner, inner).map("({0[0]} + {0[1]})".format),
        st.tuples(inner, inner).map("[{0[0]} for x in {0[1]}]".format),
        st.tuples(inner, inner).map("(lambda x={0[0]}: {0[1]})".format),
        st.tuples(inner, inner).map("({0[0]} if x.is_cuda else {0[1]})".format),
        inner.map("super().{0}(*{0}, **{0})".format),
    ),
    max_leaves=6,
)
_STATEMENTS = st.recursive(
    st.one_of(
        st.tuples(_NAMES, _EXPRESSIONS).map("{0[0]} = {0[1]}".format),
        st.tuples(_NAMES, _EXPRESSIONS).map("self.{0[0]} = {0[1]}".format),
        st.tuples(_NAMES, _EXPRESSIONS).map("{0[0]} += {0[1]}".format),
        st.tuples(_NAMES, _EXPRESSIONS).map("{0[0]}[{0[1]}] = 1".format),
        _EXPRESSIONS.map("return {}".format),
        st.just("from . import *"),
        st.just("from .a import f as x, C"),
        st.just("import torch, torch.nn as nn, torch.nn.functional as F"),
    ),
    lambda inner: st.one_of(
        st.tuples(_NAMES, _EXPRESSIONS, inner).map(
            lambda part: f"def {part[0]}(self, x={part[1]}, *y):\n{_indent(part[2])}"
        ),
        st.tuples(_NAMES, _EXPRESSIONS, inner).map(lambda part: f"class {part[0]}({part[1]}):\n{_indent(part[2])}"),
        st.tuples(_EXPRESSIONS, inner).map(lambda part: f"if {part[0]}:\n{_indent(part[1])}"),
        st.tuples(_NAMES, _EXPRESSIONS, inner).map(lambda part: f"for {part[0]} in {part[1]}:\n{_indent(part[2])}"),
        st.lists(inner, min_size=1, max_size=4).map("\n".join),
    ),
    max_leaves=8,
)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(one=_STATEMENTS, other=_STATEMENTS)
def test_no_program_makes_a_reading_raise(one: str, other: str) -> None:
    readings = [
        read_one(files.SourceFile(name, "", text.encode()), "", KNOWLEDGE)
        for name, text in (("p/a.py", one), ("p/__init__.py", other))
    ]
    sources.link_readings(readings, KNOWLEDGE, PUBLIC, {"torch"})
