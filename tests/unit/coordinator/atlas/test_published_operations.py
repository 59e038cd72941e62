"""Operations of a published site have links to their functions, and functions have links to their operations."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from coordinator.assess.evidence import CaseEvidence
from coordinator.atlas.operations import MetOperation, operations_by_name, operations_met, target_operations
from coordinator.atlas.overview import column_of
from coordinator.atlas.portability import ADDED_SPARSELY
from coordinator.atlas.publication import publish, published_before
from coordinator.atlas.site import site_files
from coordinator.results.conditions import End
from coordinator.results.involvement import Met
from protocol.enums import Cause, Ending
from tests.unit.coordinator.assess.cases import case, target
from tests.unit.coordinator.atlas.evidence import atlas


def met(
    name: str, end: End, *operations: str, cause: Cause = Cause.type, ending: Ending = Ending.raised
) -> CaseEvidence:
    return replace(case(name, end, cause=cause, ending=ending), operations=operations)


ISIN = [met("0", "fell_back", "aten::isin"), met("1", "fell_back", "aten::isin", "aten::sort"), met("2", "passed")]
UNIQUE = [
    met("0", "failed", "aten::sort"),
    met("1", "failed"),
    met("2", "failed", "aten::sort", ending=Ending.mismatched),
]
OF_HOST = [met("0", "failed", "aten::isin", cause=Cause.host_work)]
ON_XLA = target({"torch.isin": ISIN, "torch.unique": UNIQUE, "torch.load": OF_HOST})
ON_CUDA = target({"torch.unique": [met("0", "failed", "aten::Sort")]}, device="cuda")


def test_the_operations_of_a_function_are_those_of_most_cases_first() -> None:
    assert operations_met(ISIN) == (
        MetOperation("aten::isin", Met.fell_back, 2, 0),
        MetOperation("aten::sort", Met.fell_back, 1, 0),
    )
    assert operations_met(OF_HOST) == ()


def test_a_target_has_its_operations_with_their_functions_and_says_how_many_cases_name_one() -> None:
    on_xla = target_operations(column_of(ON_XLA, frozenset()))
    assert [(one.operation, list(one.functions)) for one in on_xla.operations] == [
        ("aten::sort", ["torch.isin", "torch.unique"]),
        ("aten::isin", ["torch.isin"]),
    ]
    sort, _ = on_xla.operations
    assert {met: sort.cases(met) for met in Met} == {
        Met.fell_back: 1,
        Met.failed: 1,
        Met.diverged: 1,
        Met.not_lowered: 0,
    }
    assert sort.functions_that_met(Met.diverged) == [("torch.unique", 1)]
    assert (on_xla.cases, on_xla.named) == (5, 4)
    assert on_xla.ways == [Met.fell_back, Met.failed, Met.diverged]


def test_functions_of_the_host_are_in_no_operation() -> None:
    assert target_operations(column_of(ON_XLA, frozenset({"torch.isin", "torch.unique"}))).operations == []


def test_an_operation_has_all_targets_on_which_cases_met_it() -> None:
    (framework,) = atlas(ON_XLA, ON_CUDA).frameworks
    by_name = operations_by_name(framework)
    assert {name: [column.evidence.device for column, _ in rows] for name, rows in by_name.items()} == {
        "aten::Sort": ["cuda"],
        "aten::isin": ["xla"],
        "aten::sort": ["xla"],
    }


class Links(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.folder = page.parent
        self.paths: set[Path] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.paths |= {(self.folder / value).resolve() for name, value in attributes if name == "href" and value}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published").resolve() / "site"
    publish(site_files(atlas(ON_XLA, ON_CUDA), []), folder)
    return folder


def test_a_reader_gets_from_a_target_by_an_operation_to_its_functions_and_back(site: Path) -> None:
    (of_target,) = [path for path in (site / "targets").iterdir() if "xla" in path.name]
    (of_operation,) = [path for path in Links(of_target).paths if path.name.endswith("aten=3a==3a=isin.html")]
    of_function = site / "functions" / "torch.isin.html"
    assert of_function in Links(of_operation).paths
    assert of_operation in Links(of_function).paths
    assert "Ran on the host in 2 cases:" in of_operation.read_text()
    assert "evidence of 4 of 5 such cases names an operation" in of_target.read_text()
    assert "differed from the host" in of_target.read_text()
    assert "has no lowering" not in of_target.read_text()


def test_names_that_differ_in_case_have_pages_of_their_own(site: Path) -> None:
    names = [path.name.lower() for path in (site / "operations").iterdir()]
    assert len(names) == len(set(names)) == 3


def test_the_data_has_the_operations_of_each_cell(site: Path) -> None:
    document = json.loads((site / "data" / "portability-torch.json").read_text())
    (cell,) = document["functions"]["torch.isin"]["cells"]
    assert cell["operations"] == [
        {"operation": "aten::isin", "met": "fell_back", "cases": 2},
        {"operation": "aten::sort", "met": "fell_back", "cases": 1},
    ]
    rows = pq.read_table(site / "data" / "portability-torch.parquet").to_pylist()
    assert [row["operations"] for row in rows if row["function"] == "torch.isin"] == [cell["operations"]]


def test_a_site_of_evidence_that_names_no_operation_has_neither_page_nor_member_of_one(tmp_path: Path) -> None:
    publish(site_files(atlas(target({"torch.isin": [case("0", "fell_back")]})), []), tmp_path / "site")
    assert not (tmp_path / "site" / "operations").exists()
    document = json.loads((tmp_path / "site" / "data" / "portability-torch.json").read_text())
    (cell,) = document["functions"]["torch.isin"]["cells"]
    assert cell["fell_back"] == 1
    assert cell.keys().isdisjoint(ADDED_SPARSELY)
    (before,) = published_before(tmp_path / "site")
    assert before.functions["torch.isin"].cells[0].operations == []
    (row,) = pq.read_table(tmp_path / "site" / "data" / "portability-torch.parquet").to_pylist()
    assert (row["operations"], row["second_shape_ms"]) == ([], None)
