"""The cases in which an operation failed or fell back are equal on the page, on the command line and over REST."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from tests import bundles
from tests.acceptance.web.visitor import Visitor, text
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan

MOVED, WRONG = "toy::moved<b>", "toy::wrong"


@pytest.fixture(scope="module")
def charted_campaign(coordinator: CoordinatorProcess, tmp_path_factory: pytest.TempPathFactory) -> int:
    """A bundle in which one case fell back at ``MOVED``, and another case failed at ``WRONG``."""
    bundle = bundles.make(tmp_path_factory.mktemp("island") / "bundle", functions=("hazards.add",), runs=1)
    lines = bundles.lines_of(bundle.read_bytes())
    for line in lines[1:]:
        outcome = line["outcome"]
        if outcome["verdict"] == "failed":
            outcome["evidence"] |= {"operation": WRONG, "dtypes": ["float64"], "kernels": "this_dtype"}
        elif line["case"] == "hazards.add/0":
            outcome |= {"placement": "fell_back"}
            outcome["proof"]["fallbacks"] = {MOVED: 2}
    answer = coordinator.http.post(bundles.UPLOAD, content=bundles.sealed(lines), headers=bundles.HEADERS)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def test_operations_and_their_cases_are_on_a_page(visitor: Visitor, charted_campaign: int) -> None:
    html = visitor.read(f"/campaigns/{charted_campaign}/operations")
    columns = re.findall('<th scope="col"[^>]*>([^<]+)', html)
    assert columns == ["Operation", "Target", "Fell back", "Diverged", "Functions"]
    page = text(html)
    assert WRONG in page
    assert MOVED in page
    assert "hazards.add" in page
    cases = text(visitor.read(f"/campaigns/{charted_campaign}/operations?operation={quote(MOVED)}"))
    assert "hazards.add/0" in cases
    assert "fell back" in cases


def test_an_operation_that_no_case_met_is_said_to_be_unrecorded(visitor: Visitor, charted_campaign: int) -> None:
    page = text(visitor.read(f"/campaigns/{charted_campaign}/operations?operation=toy::other", status=404))
    assert "are not recorded" in page


def test_results_are_filtered_by_falling_back_and_by_wrong_values(
    coordinator: CoordinatorProcess, charted_campaign: int, tmp_path: Path
) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_URL=coordinator.url)
    fallbacks = portolan.ask("results", str(charted_campaign), "--falls-back")
    assert f"fell back:\nhazards@1.0/cpu  hazards.add/0\n  passed: {MOVED} ran on the host\n" in fallbacks
    assert "hazards.add/wrong" not in fallbacks
    wrong = portolan.ask("results", str(charted_campaign), "--wrong", "--format", "csv")
    assert "hazards.add/wrong" in wrong
    assert "hazards.add/0" not in wrong
    assert portolan.ask("results", str(charted_campaign), "--wrong", "--falls-back").endswith(
        "fell back, mismatched: none\n"
    )


def test_the_command_line_says_the_same(coordinator: CoordinatorProcess, charted_campaign: int, tmp_path: Path) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_URL=coordinator.url)
    output = portolan.ask("operations", str(charted_campaign))
    assert MOVED in output
    assert WRONG in output
    assert "diverged" in portolan.ask("operations", str(charted_campaign), WRONG)
    assert "2 times on the host" in portolan.ask("operations", str(charted_campaign), MOVED)
    assert MOVED not in portolan.ask("operations", str(charted_campaign), "--name", "WRONG")
    assert "are not recorded" in portolan.refused("operations", str(charted_campaign), "toy::other")
