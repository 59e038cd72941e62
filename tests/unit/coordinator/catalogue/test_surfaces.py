"""Surfaces as files, and the comparison of two releases."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from coordinator.catalogue.surfaces import (
    Move,
    Surface,
    array_methods,
    compare_surfaces,
    open_surface,
    shipped_entries,
    shipped_releases,
)
from coordinator.errors import CatalogueError
from coordinator.reference.reader import read
from protocol.host_only import load_host_only
from protocol.surface import SurfaceEntry, SurfaceHeader


def entry(name: str, **fields: Any) -> SurfaceEntry:
    plain = {"aliases": [], "kind": "function", "bases": [], "module": "m", "signature": None, "documented": True}
    return SurfaceEntry.model_validate({"name": name, "deprecated": False, **plain, **fields})


def surface(*entries: SurfaceEntry, version: str = "1.0", framework: str = "torch") -> Surface:
    header = SurfaceHeader(
        format=1,
        framework=framework,
        version=version,
        python="3.11.7",
        modules=1,
        entries=len(entries),
        excluded={},
        failed={},
        printed=[],
    )
    return Surface(header, entries)


SMALL = surface(
    entry("torch.add", aliases=["torch.math.add"]),
    entry("torch.no_grad", kind="class"),
    entry("torch.mul"),
    entry("torch.Module", kind="class"),
    entry("torch.Module.train", kind="method"),
    entry("torch.Linear", kind="class", bases=["torch.Module"], aliases=["torch.nn.Linear"]),
    entry("torch.Fault", kind="exception"),
)


def test_entries_read_one_by_one_are_those_of_the_surface() -> None:
    release = shipped_releases()[0]
    assert tuple(shipped_entries(release)) == open_surface(release).entries


def test_a_name_is_resolved_by_aliases_and_by_the_bases_of_its_class() -> None:
    names = ("torch.math.add", "torch.nn.Linear.train", "torch.nn.Linear.gone", "torch.gone")
    entries = [SMALL.resolve(name) for name in names]
    assert [None if row is None else row.name for row in entries] == ["torch.add", "torch.Module.train", None, None]


def test_names_that_a_module_holds_once_more_are_those_of_the_first() -> None:
    cast_entry = surface(entry("tf.cast"), framework="tensorflow").resolve("tf.compat.v2.cast")
    assert cast_entry is not None
    assert cast_entry.name == "tf.cast"


def test_two_releases_are_compared_by_name() -> None:
    later = surface(
        entry("torch.mul", deprecated=True),
        entry("torch.new"),
        entry("torch.sum", aliases=["torch.add"]),
        entry("torch.no_grad", kind="class", module="elsewhere"),
        entry("torch.Module", kind="class"),
        entry("torch.Module.train", kind="method"),
        entry("torch.Linear", kind="class"),
        version="2.0",
    )
    comparison = compare_surfaces(SMALL, later)
    assert (comparison.a, comparison.b) == ("torch@1.0", "torch@2.0")
    assert (comparison.added, comparison.removed, comparison.deprecated) == (
        ["torch.new"],
        ["torch.Fault"],
        ["torch.mul"],
    )
    assert comparison.moved == [
        Move("torch.add", "torch.add", "torch.sum"),
        Move("torch.no_grad", "m", "elsewhere"),
    ]
    with pytest.raises(CatalogueError, match="two frameworks"):
        compare_surfaces(SMALL, surface(framework="jax"))


def test_every_shipped_surface_can_be_read_and_knows_its_arrays() -> None:
    assert {name.partition("@")[0] for name in shipped_releases()} == {"torch", "tensorflow", "jax"}
    methods = array_methods()
    assert "view" in methods["torch"]
    assert "get_shape" in methods["tf"]
    assert "reshape" in methods["jax"]


def test_a_declaration_of_the_host_names_what_a_shipped_release_or_the_study_has() -> None:
    releases = [open_surface(name) for name in shipped_releases()]
    of_the_study = {function.function for function in read().functions}
    unknown = [
        name
        for name in load_host_only().reasons
        # A surface has public names alone.
        if name not in of_the_study
        and "._" not in name
        and not any(
            release.resolve(name) or (name.endswith("*") and any(key.startswith(name[:-1]) for key in release.by_name))
            for release in releases
        )
    ]
    assert unknown == []


@pytest.mark.parametrize("content", [b"", b"{}", b"\x1f\x8bnothing", gzip.compress(b"{}", mtime=0)[:-4], b"\xff\xfe"])
def test_a_file_that_is_no_surface_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(CatalogueError, match="is not a surface file"):
        open_surface(str(tmp_path / "s"))
    with pytest.raises(CatalogueError, match="no such file"):
        open_surface(str(tmp_path / "none"))
