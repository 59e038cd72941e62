"""Places that a program reached, from real data of coverage.py 7.17: lines, branches and a JSON report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from coordinator.assess.reached import ExecutedLines, with_reached
from coordinator.assess.sources import read_sources
from coordinator.errors import AssessmentError

COVERED = Path(__file__).parent / "covered"
REACHED = {"torch.cumsum": True, "torch.cumprod": True, "torch.unbind": True, "torch.flip": False, "torch.topk": False}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project, outside of this checkout. The coverage data name its files relative to their own folder."""
    return Path(shutil.copytree(COVERED, tmp_path / "project"))


@pytest.mark.parametrize("data", ["lines.coverage", "branches.coverage", "report.json"])
def test_a_place_is_reached_if_a_line_of_its_statement_ran(project: Path, data: str) -> None:
    source = read_sources(project, frameworks=["torch"])
    marked_source = with_reached(source, ExecutedLines.read(project / data), project)
    assert {site.function: site.reached for site in marked_source.sites} == REACHED


def test_a_file_that_was_not_measured_is_neither(project: Path) -> None:
    (project / "other.py").write_text("import torch\n\ntorch.sort(torch.ones(3))\n")
    marked_source = with_reached(
        read_sources(project, frameworks=["torch"]), ExecutedLines.read(project / "lines.coverage"), project
    )
    assert {site.reached for site in marked_source.sites if site.path == "other.py"} == {None}


def test_data_of_another_project_are_refused(project: Path) -> None:
    report = json.loads((project / "report.json").read_text())
    (project / "report.json").write_text(json.dumps({**report, "files": {"elsewhere.py": report["files"]["train.py"]}}))
    source = read_sources(project, frameworks=["torch"])
    with pytest.raises(AssessmentError, match="contain none of the files"):
        with_reached(source, ExecutedLines.read(project / "report.json"), project)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"files": {"a.py": 3}}', b"SQLite format 3\x00 and no more"])
def test_what_is_no_data_of_coverage_is_said_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "report"
    file.write_bytes(content)
    with pytest.raises(AssessmentError, match=r"is not a data file of coverage\.py: pass the file \.coverage"):
        ExecutedLines.read(file)
