"""``portolan publish``: a site of the evidence that ships, for any web server, and its data."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import jsonschema
import pyarrow.parquet as pq
import pytest

from coordinator.assess import evidence_file
from coordinator.atlas.marks import cell_of
from coordinator.cli import INTERRUPTED
from coordinator.cli.output import writing
from protocol.host_only import load_host_only
from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import COMMAND, Portolan
from tests.waiting import LIMIT_S, until

MOST_OF_FRONT = 150_000
MOST_OF_FUNCTION = 60_000
MOST_OF_SITE = 60_000_000
"""In bytes."""


class Links(HTMLParser):
    """Collects the links of a page and the files that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found |= {value for name, value in attributes if name in ("href", "src", "action") and value}


@pytest.fixture
def portolan(tmp_path: Path) -> Portolan:
    return Portolan(tmp_path / "data")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "site"
    output = Portolan(folder.parent / "data").ask("publish", str(folder))
    assert f"open {folder}/index.html" in output
    return folder


def pages(site: Path) -> Iterator[tuple[str, set[str]]]:
    for path in sorted(site.rglob("*.html")):
        parser = Links()
        parser.feed(path.read_text())
        yield path.relative_to(site).as_posix(), parser.found


def test_the_site_is_as_small_as_a_visitor_and_a_server_want_it(site: Path) -> None:
    assert (site / "index.html").stat().st_size < MOST_OF_FRONT
    assert max(path.stat().st_size for path in (site / "functions").iterdir()) < MOST_OF_FUNCTION
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < MOST_OF_SITE


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    broken = {
        (page, link)
        for page, links in pages(site)
        for link in links
        if unquote(urlsplit(urljoin(page, link)).path) not in files
    }
    assert broken == set()


def test_every_function_that_touches_a_device_has_its_page_and_its_data(site: Path) -> None:
    host_only = load_host_only()
    for target in evidence_file.load_shipped().targets:
        data = json.loads((site / "data" / f"portability-{target.framework}.json").read_text())
        names = {name for name in target.functions if name not in host_only}
        assert set(data["functions"]) == names
        (place,) = [number for number, one in enumerate(data["targets"]) if one["target"] == target.target]
        working = functions_of_mark(site, target.framework, "w")
        for name in names:
            expected_cell = cell_of(target.functions[name])
            assert expected_cell is not None
            (cell,) = [one for one in data["functions"][name]["cells"] if one["target"] == place]
            assert (cell["mark"], cell["cases"], cell["failed"]) == (
                expected_cell.mark,
                expected_cell.total,
                expected_cell.failed,
            ), name
            assert (cell["mark"] == "works") == (name in working)


def functions_of_mark(site: Path, framework: str, letter: str) -> set[str]:
    """The functions with this letter on the front page."""
    text = (site / "index.html").read_text()
    index = json.loads(text.partition("<script type=application/json id=atlas>")[2].partition("</script>")[0])
    own = index[framework]
    words = own["names"].split(" ")
    names = [f"{own['modules'][int(module)]}.{last}" for last, module in zip(*[iter(words)] * 2, strict=True)]
    (column,) = own["columns"]
    return {name for name, mark in zip(names, column["letters"], strict=True) if mark == letter}


def test_the_data_is_as_its_schema_says(site: Path) -> None:
    schema = json.loads((site / "data" / "portability.schema.json").read_text())
    for path in (site / "data").glob("portability-*.json"):
        jsonschema.validate(json.loads(path.read_text()), schema)


def test_the_parquet_file_has_a_row_for_each_cell_of_the_document(site: Path) -> None:
    for path in (site / "data").glob("portability-*.json"):
        document = json.loads(path.read_text())
        rows = pq.read_table(path.with_suffix(".parquet")).to_pylist()
        assert rows == [row for name in document["functions"] for row in expected_rows(document, name)]
        metadata = pq.read_metadata(path.with_suffix(".parquet")).metadata
        assert metadata[b"portability_version"].decode() == document["version"]


def expected_rows(document: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The expected rows of a function, from the JSON document."""
    function = document["functions"][name]
    for cell in function["cells"]:
        target = document["targets"][cell["target"]]
        charts = [
            {**target["charts"][place], "at": datetime.fromisoformat(target["charts"][place]["at"])}
            for place in cell["charts"]
        ]
        sparse = {"second_shape_ms": None, "first_call_ms": None, "operations": []}
        row = {**sparse, **target, **cell, "target": target["target"], "charts": charts}
        yield {**row, "framework": document["framework"], "function": name, "uses": function["uses"]}


def test_a_file_of_evidence_is_published_for_the_targets_that_were_asked_for(
    portolan: Portolan, tmp_path: Path
) -> None:
    file = tmp_path / "evidence.json"
    shipped = evidence_file.load_shipped()
    with writing(file) as sink:
        sink.write(evidence_file.document_of(shipped.targets, shipped.targets[0].charted_at))
    output = portolan.ask("publish", str(tmp_path / "site"), "--data", str(file), "--on", "torch/*", "--unsigned")
    assert " on torch@2.9.0/xla\n" in output
    assert f"the evidence is from {file}, unsigned\n" in output
    assert f"This evidence is from {file}, unsigned;" in (tmp_path / "site" / "index.html").read_text()
    names = sorted(path.name for path in (tmp_path / "site" / "data").glob("portability-*"))
    assert names == ["portability-torch.json", "portability-torch.parquet"]


def test_what_cannot_be_published_is_said_in_one_line_and_nothing_is_written(
    portolan: Portolan, tmp_path: Path
) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years of work")
    assert "has files that Portolan did not publish" in portolan.refused("publish", str(tmp_path / "thesis"))
    assert "there is no evidence of torch/xlaa to publish; did you mean torch/xla? chart" in portolan.refused(
        "publish", str(tmp_path / "site"), "--on", "torch/xlaa"
    )
    assert "thesis.tex: the file is not a bundle" in portolan.refused(
        "publish", str(tmp_path / "site"), str(tmp_path / "thesis" / "thesis.tex"), "--unsigned"
    )
    assert not (tmp_path / "site").exists()


def test_the_cpu_is_in_a_published_atlas_as_in_that_of_a_coordinator(
    portolan: Portolan, coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    bundle = bundles.make(tmp_path / "cpu.bundle", runs=1)
    output = portolan.ask("publish", str(tmp_path / "alone"), str(bundle), "--unsigned")
    assert " on hazards@1.0/cpu\n" in output
    assert "as long as on the CPU" not in (tmp_path / "alone" / "functions" / "hazards.add.html").read_text()
    other = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
    other.ask("import", str(bundle), "--unsigned")
    output = other.ask("publish", str(tmp_path / "site"), "--on", "hazards/cpu")
    assert " on hazards@1.0/cpu\n" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_publication_leaves_nothing_behind(
    portolan: Portolan, tmp_path: Path, number: signal.Signals
) -> None:
    place = tmp_path / "published"
    publishing = subprocess.Popen([*COMMAND, "publish", str(place / "site")], env=portolan.variables)
    try:
        until(lambda: any(place.glob("*.part/index.html")), "the first files of the site")
        publishing.send_signal(number)
        assert publishing.wait(LIMIT_S) == INTERRUPTED
    finally:
        publishing.kill()
        publishing.wait()
    assert list(place.iterdir()) == []


def test_of_a_coordinator_without_a_campaign_it_is_said_that_the_evidence_ships(
    coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    portolan = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
    output = portolan.ask("publish", str(tmp_path / "site"), "--on", "torch/xla")
    assert "the evidence ships with Portolan\n" in output


def test_a_bundle_of_a_newer_format_is_refused_and_an_earlier_site_stays(portolan: Portolan, tmp_path: Path) -> None:
    lines = bundles.lines_of(bundles.make(tmp_path / "made.bundle", runs=1).read_bytes())
    lines[0]["runner"]["device"] = "xla"
    bundle, site = tmp_path / "lab.bundle", tmp_path / "site"
    bundle.write_bytes(bundles.sealed(lines))
    output = portolan.ask("publish", str(site), str(bundle), "--unsigned")
    assert "the evidence is from a bundle, unsigned\n" in output
    files = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    lines[0].update(format=2, portolan="9.0")
    bundle.write_bytes(bundles.sealed(lines))
    assert portolan.refused("publish", str(site), str(bundle), "--unsigned") == (
        f"portolan: {bundle}: the bundle has format 2 (made by portolan 9.0), and this portolan reads formats up to 1: "
        "upgrade portolan"
    )
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == files
