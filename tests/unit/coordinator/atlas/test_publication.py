"""Publishing replaces a folder completely or not at all. Files of other programs in the folder stay."""

from __future__ import annotations

import json
import os
import re
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from coordinator.assess.evidence import Chart
from coordinator.assess.merging import Charted, merge_charts
from coordinator.atlas.publication import MANIFEST, publish, published_before
from coordinator.atlas.site import SiteFile, site_files
from coordinator.errors import PublicationError
from tests.unit.coordinator.assess.cases import CHARTED_AT
from tests.unit.coordinator.atlas.evidence import atlas, charted_target

BOUNDS = ("since", "since_after", "until", "until_before")
FRONT = SiteFile("index.html", b"front")


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def failing() -> Iterator[SiteFile]:
    yield SiteFile("index.html", b"half")
    raise OSError("no space left on device")


@pytest.mark.parametrize("is_made", [False, True])
def test_a_site_is_written_to_a_folder_that_is_missing_or_empty(tmp_path: Path, is_made: bool) -> None:
    folder = tmp_path / "public" / "site"
    if is_made:
        folder.mkdir(parents=True)
    assert publish([FRONT, SiteFile("functions/a.html", b"a")], folder) == 2
    assert content(folder) == {"index.html": "front", "functions/a.html": "a"}
    assert [path.name for path in folder.parent.iterdir()] == ["site"]


def test_the_next_publication_replaces_what_the_one_before_wrote_and_nothing_else(tmp_path: Path) -> None:
    publish([FRONT, SiteFile("functions/gone.html", b"gone")], tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("atlas.example")
    (tmp_path / "site" / "functions" / "own.html").write_text("own")
    publish([SiteFile("index.html", b"new")], tmp_path / "site")
    assert content(tmp_path / "site") == {"index.html": "new", "CNAME": "atlas.example", "functions/own.html": "own"}


def test_a_folder_of_others_stays_when_it_is_empty(tmp_path: Path) -> None:
    publish([FRONT, SiteFile("functions/gone.html", b"gone")], tmp_path / "site")
    (tmp_path / "site" / ".git" / "refs" / "heads").mkdir(parents=True)
    publish([FRONT], tmp_path / "site")
    assert (tmp_path / "site" / ".git" / "refs" / "heads").is_dir(), "git takes a folder without refs for no repository"
    assert not (tmp_path / "site" / "functions").exists()


@pytest.mark.parametrize(
    ("own_path", "site_path", "named_path"),
    [
        ("about.html", "about.html", "about.html"),
        ("about/own.html", "about", "about"),
        ("about/of/me/own.html", "about/of", "about/of"),
        ("about", "about/index.html", "about"),
    ],
)
def test_a_file_of_others_where_the_site_has_one_stays_and_is_named(
    tmp_path: Path, own_path: str, site_path: str, named_path: str
) -> None:
    folder = tmp_path / "site"
    publish([FRONT], folder)
    (folder / own_path).parent.mkdir(parents=True, exist_ok=True)
    (folder / own_path).write_text("own")
    message = f"{folder / named_path} was not written by Portolan"
    with pytest.raises(
        PublicationError, match=f"^{re.escape(message)}, and the new site has a file or folder of this name: move "
    ):
        publish([FRONT, SiteFile(site_path, b"ours")], folder)
    assert content(folder) == {"index.html": "front", own_path: "own"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_cannot_be_kept_is_named_and_nothing_is_replaced(tmp_path: Path) -> None:
    publish([FRONT], tmp_path / "site")
    os.mkfifo(tmp_path / "site" / "pipe")
    with pytest.raises(PublicationError, match="pipe is neither a file nor a folder: move it to another folder"):
        publish([SiteFile("index.html", b"new")], tmp_path / "site")
    assert content(tmp_path / "site") == {"index.html": "front"}


def test_a_folder_that_cannot_be_replaced_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="a disk is mounted at /: name a folder on it, such as /atlas"):
        publish([FRONT], Path("/"))
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        publish([FRONT], tmp_path / "circle")
    (tmp_path / "file").write_text("own")
    with pytest.raises(NotADirectoryError):
        publish([FRONT], tmp_path / "file" / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "file"]


def test_a_publication_that_fails_leaves_nothing_half_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space"):
        publish(failing(), tmp_path / "site")
    assert list(tmp_path.iterdir()) == []
    publish([FRONT], tmp_path / "site")
    with pytest.raises(OSError, match="no space"):
        publish(failing(), tmp_path / "site")
    assert content(tmp_path / "site") == {"index.html": "front"}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("is_published", [True, False])
def test_a_write_that_fails_half_way_names_the_folder_and_leaves_it_as_it_was(
    tmp_path: Path, is_published: bool
) -> None:
    if is_published:
        publish([FRONT], tmp_path / "site")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as failure:
            publish([FRONT, SiteFile("large.html", b"a" * 2_000)], tmp_path / "site")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert failure.value.filename == str(tmp_path / "site")
    assert content(tmp_path / "site") == ({"index.html": "front"} if is_published else {})
    assert [path.name for path in tmp_path.iterdir()] == (["site"] if is_published else [])


def test_a_file_that_cannot_be_made_is_named_by_the_folder_of_the_site(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long") as failure:
        publish([FRONT, SiteFile("a" * 300, b"")], tmp_path / "site")
    assert failure.value.filename == str(tmp_path / "site")
    with pytest.raises(OSError, match="File name too long") as failure:
        publish([FRONT], tmp_path / ("a" * 250))
    assert failure.value.filename == str(tmp_path / ("a" * 250))
    # Nobody makes a folder there, not even root.
    with pytest.raises(OSError, match=r"not permitted|Permission denied|Read-only") as failure:
        publish([FRONT], Path("/sys/atlas"))
    assert failure.value.filename == "/sys"


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(PublicationError, match="has files that Portolan did not publish"):
        publish([FRONT], tmp_path)
    with pytest.raises(PublicationError, match="is a file: name a folder"):
        publish([FRONT], tmp_path / "thesis.tex")
    assert content(tmp_path) == {"thesis.tex": "years of work"}


def test_a_publication_says_what_changed_since_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    before = atlas(charted_target({"torch.a": ["failed"], "torch.b": ["passed"], "torch.gone": ["passed"]}))
    after = atlas(
        charted_target({"torch.a": ["passed"], "torch.b": ["passed"], "torch.new": ["passed"]}),
        charted_target({"torch.a": ["passed"]}, device="cuda"),
    )
    publish(site_files(before, published_before(folder)), folder)
    assert json.loads((folder / "data" / "changes.json").read_text()) == []
    publish(site_files(after, published_before(folder)), folder)
    (changes,) = json.loads((folder / "data" / "changes.json").read_text())
    assert changes == {
        "framework": "torch",
        "targets_added": ["torch@2.9.0/cuda on AMD EPYC"],
        "targets_removed": [],
        "functions_added": ["torch.new"],
        "functions_removed": ["torch.gone"],
        "marks": [
            {
                "function": "torch.a",
                "target": "torch@2.9.0/xla",
                "hardware": "AMD EPYC",
                "before": "fails",
                "after": "works",
            }
        ],
    }
    assert "torch.a</a> on torch@2.9.0/xla: fails before, now works." in (folder / "data" / "index.html").read_text()


def test_data_of_another_form_is_no_publication_to_compare_with(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "portability-torch.json").write_text('{"version": "2.0.0"}')
    assert published_before(tmp_path) == []


def test_data_of_an_older_form_is_a_publication_to_compare_with(tmp_path: Path) -> None:
    publish(site_files(atlas(charted_target({"torch.a": ["failed"]})), []), tmp_path / "site")
    file = tmp_path / "site" / "data" / "portability-torch.json"
    document = json.loads(file.read_text())
    document["version"] = "1.0.0"
    for target in document["targets"]:
        for chart in target["charts"]:
            del chart["signed_by"]
    for function in document["functions"].values():
        for cell in function["cells"]:
            for name in ("since", "since_after", "until", "until_before", "disagreements"):
                del cell[name]
    file.write_text(json.dumps(document))
    (before,) = published_before(tmp_path / "site")
    assert before.version == "1.0.0"
    assert before.targets[0].charts[0].signed_by is None


def test_a_cell_has_the_bounds_of_its_mark_also_as_a_row(tmp_path: Path) -> None:
    versions = {"2.6.0": "passed", "2.8.0": "failed", "2.9.0": "failed"}
    publish(
        site_files(atlas(*(charted_target({"torch.a": [end]}, one) for one, end in versions.items())), []), tmp_path
    )
    document = json.loads((tmp_path / "data" / "portability-torch.json").read_text())
    cells = {
        document["targets"][cell["target"]]["version"]: [cell[name] for name in BOUNDS]
        for cell in document["functions"]["torch.a"]["cells"]
    }
    assert cells == {
        "2.6.0": ["2.6.0", None, "2.6.0", "2.8.0"],
        "2.8.0": ["2.8.0", "2.6.0", "2.9.0", None],
        "2.9.0": ["2.8.0", "2.6.0", "2.9.0", None],
    }
    rows = pq.read_table(tmp_path / "data" / "portability-torch.parquet").to_pylist()
    assert {row["version"]: [row[name] for name in BOUNDS] for row in rows} == cells


def test_what_laboratories_disagree_on_is_in_the_page_and_in_the_data(tmp_path: Path) -> None:
    newest = charted_target({"torch.a": ["passed", "failed"]})
    other = replace(
        charted_target({"torch.a": ["failed", "failed"]}),
        charts=(Chart("library", "rev", CHARTED_AT.replace(day=1), signed_by="lab-b"),),
    )
    (target,) = merge_charts([Charted(newest, {}), Charted(other, {})])
    publish(site_files(atlas(target), []), tmp_path)
    document = json.loads((tmp_path / "data" / "portability-torch.json").read_text())
    (cell,) = document["functions"]["torch.a"]["cells"]
    (disagreement,) = cell["disagreements"]
    assert document["targets"][0]["charts"][disagreement["chart"]]["signed_by"] == "lab-b"
    assert disagreement["cases"] == 1
    (row,) = pq.read_table(tmp_path / "data" / "portability-torch.parquet").to_pylist()
    assert [(one["chart"]["signed_by"], one["cases"]) for one in row["disagreements"]] == [("lab-b", 1)]
    page = " ".join((tmp_path / "functions" / "torch.a.html").read_text().split())
    assert "1 of 2 cases has another result in the chart of 2026-11-01, signed by lab-b" in page


def test_of_many_charts_that_disagree_the_page_lists_the_newest_and_counts_the_others(tmp_path: Path) -> None:
    newest = charted_target({"torch.a": ["passed"]})
    older = charted_target({"torch.a": ["failed"]})
    charts = [Chart("library", "rev", CHARTED_AT.replace(day=day)) for day in range(1, 6)]
    (target,) = merge_charts([Charted(newest, {}), *(Charted(replace(older, charts=(one,)), {}) for one in charts)])
    publish(site_files(atlas(target), []), tmp_path)
    page = " ".join((tmp_path / "functions" / "torch.a.html").read_text().split())
    assert re.findall(r"another result in the chart of ([\d-]+)", page) == ["2026-11-05", "2026-11-04", "2026-11-03"]
    assert "2 older charts disagree as well." in page


HOSTILE = "../../<script>owned()</script>\u202e"


def test_names_that_attack_whoever_shows_them_stay_in_the_folder_and_are_text(tmp_path: Path) -> None:
    long = f"torch.{'endless' * 60}"
    names = [HOSTILE, f"torch.{HOSTILE}", "torch.nn.Softmax", "torch.nn.softmax", long, ".", "con"]
    target = replace(charted_target({name: ["failed"] for name in names}), framework=f"x{HOSTILE}", hardware=HOSTILE)
    publish(site_files(atlas(target), []), tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert len(list((tmp_path / "site" / "functions").iterdir())) == len(names)
    assert len({path.name.lower() for path in (tmp_path / "site" / "functions").iterdir()}) == len(names)
    for page in (tmp_path / "site").rglob("*.html"):
        assert "<script>owned" not in page.read_text(), page
        assert "\u202e" not in page.read_text(), page
