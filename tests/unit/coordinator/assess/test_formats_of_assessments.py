"""All formats of a report have the same content, each in the form that its readers need."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from coordinator.assess.code import Code
from coordinator.assess.findings import Assessment
from coordinator.assess.formats.as_json import json_of
from coordinator.assess.formats.html import html_of
from coordinator.assess.formats.junit import junit_of
from coordinator.assess.formats.sarif import RULES, sarif_of
from coordinator.assess.formats.terminal import WIDTH, text_of
from coordinator.assess.report import AssessmentReport
from coordinator.assess.sites import DeviceQuestion, Guard, GuardKind, UnreadFile
from coordinator.catalogue.usage.sources import LINK
from protocol.enums import Cause, Ending
from tests.unit.coordinator.assess.cases import FUNCTION, assessment_of, case, report, several, site, source, target

GUARD = Guard(GuardKind.device, 3, 'x.device.type == "cuda"')
SITES = [
    site(line=2),
    site(line=5, guards=[GUARD]),
    site(line=6, positional=3),
    site("torch.wrong", line=3),
    site("torch.some", line=4),
    site("torch.fine", line=4),
    site("torch.unknown", line=7),
    site("torch.guarded", line=8, guards=[GUARD], path="sub/a b.py"),
]
CASES = {
    FUNCTION: [*several(3, "one", "failed"), *several(3, "three", "failed", positional=3)],
    "torch.wrong": several(4, "usual", "failed", ending=Ending.mismatched, cause=Cause.assertion),
    "torch.some": [
        *several(3, "some", "fell_back", keywords={"mode": "a"}),
        *several(3, "fine", keywords={"mode": "b"}),
    ],
    "torch.fine": [*several(3, "usual"), case("odd", "failed", "empty")],
    "torch.guarded": several(3, "usual", "failed"),
}
CODE = "\n".join(f"line_{number} = 1 < 2" for number in range(1, 20))


@pytest.fixture
def assessment() -> Assessment:
    sites = [*SITES[:4], site("torch.some", line=4, positional=None), *SITES[5:]]
    return assessment_of(CASES, *sites)


@pytest.fixture
def assessment_report(assessment: Assessment) -> AssessmentReport:
    code = source(
        *SITES,
        site("torch.Tensor.item", line=9),
        device_questions=(DeviceQuestion("train.py", 4, "x.device.type"),),
        unread=(UnreadFile("broken.py", "does not parse"),),
        star_imports=1,
        dynamic_names=2,
    )
    charted_target = target(CASES, notes=("XLA on the host CPU, not a TPU",))
    return report(assessment, source=code, target=charted_target, installed="2.8.0+cpu", ignored=1, known=2)


def test_the_first_line_of_the_terminal_is_what_to_act_on(assessment_report: AssessmentReport) -> None:
    text = text_of(assessment_report)
    assert " ".join(text.split()).startswith(
        "On torch/xla (charted for 2.9.0, while 2.8.0+cpu is installed) this code calls 1 function that gives wrong "
        "values without an error (torch.wrong at src/train.py:3) and 1 function that fails (torch.foo at "
        "src/train.py:2). Evidence (ships with Portolan): torch 2.9.0 on xla (AMD EPYC), charted on 2026-11-28, suite "
        "library. torch 2.8.0+cpu is installed here, but the evidence is for 2.9.0: results may differ."
    )


def test_the_terminal_is_80_columns_wide_but_for_what_is_copied(assessment_report: AssessmentReport) -> None:
    for text in (text_of(assessment_report), text_of(assessment_report, whole=True)):
        for line in text.splitlines():
            assert len(line) <= WIDTH or line.lstrip().startswith("$ "), line


def test_the_terminal_says_all_that_stands_around_the_findings(assessment_report: AssessmentReport) -> None:
    text = " ".join(text_of(assessment_report).split())
    assert "WRONG torch.wrong (1 place)" in text
    assert 'FAILS torch.guarded (1 place, only under `x.device.type == "cuda"`)' in text
    assert f"$ portolan-runner run torch xla {FUNCTION}/one-0" in text
    assert "HOST torch.some (1 place) runs on the host in 3 of 6 usual cases: with mode='a' (3 of 3)" in text
    assert "1 note at 1 place (--all lists them): 1: only cases unlike this call do so." in text
    assert "Unknown, because nobody charted them: torch.unknown." in text
    assert "portolan submit --suite library --targets torch/xla --functions torch.unknown" in text
    assert "src/train.py:4: x.device.type" in text
    assert "Values are read on the host at 1 place, where the program waits for the device:" in text
    assert "src/train.py:9: torch.Tensor.item" in text
    assert "Not read: 1 file (1 does not parse: broken.py)." in text
    assert "2 names made at run time (getattr, eval) may hide uses." in text
    assert "Silenced: 1 place by comments, 2 by the baseline." in text
    assert "only cases unlike this call" in " ".join(text_of(assessment_report, whole=True).split())


@pytest.mark.parametrize(
    ("sites", "first_line"),
    [
        ([], "On torch/xla nothing can go wrong: this code uses no function of torch."),
        (
            ["torch.unknown"],
            "On torch/xla nothing is known: none of the functions that this code uses is charted.",
        ),
        (
            ["torch.fine", "torch.unknown"],
            "On torch/xla nothing that this code calls is known to go wrong: 1 of its 2 functions is charted.",
        ),
        (
            ["torch.fine", "torch.some"],
            "On torch/xla this code may go wrong, depending on what its source does not show: it calls 1 function that "
            "silently runs on the host (torch.some at src/train.py:1).",
        ),
    ],
)
def test_without_a_finding_the_first_line_does_not_say_more_than_is_known(sites: list[str], first_line: str) -> None:
    used_sites = [site(name, positional=None if name == "torch.some" else 9) for name in sites]
    assessment = assessment_of(CASES, *used_sites) if used_sites else Assessment((), {}, {})
    assert report(assessment, *used_sites).first_line == first_line


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frameworks": frozenset({"jax"})}, ", but imports jax (name its target with --on)."),
        ({"frameworks": frozenset({"torch"})}, "."),
        (
            {"frameworks": frozenset({"torch"}), "dynamic_names": 2},
            " by a plain name, but has 2 names that may hide uses.",
        ),
    ],
)
def test_a_first_line_that_finds_no_use_says_what_may_be_the_reason(changes: dict[str, Any], words: str) -> None:
    line = report(Assessment((), {}, {}), source=source(**changes)).first_line
    verb = "can go wrong" if words == "." else "is known"
    assert line == f"On torch/xla nothing {verb}: this code uses no function of torch{words}"


def test_a_first_line_that_finds_nothing_says_that_files_were_not_read() -> None:
    unread = (UnreadFile("a.py", "no Python 3"), UnreadFile("b.py", "too large"), UnreadFile("c.py", LINK))
    nothing_used = report(Assessment((), {}, {}), source=source(unread=unread))
    assert nothing_used.first_line.endswith("this code uses no function of torch; 2 files were not read.")
    nothing_wrong = report(
        assessment_of(CASES, site("torch.fine")), source=source(site("torch.fine"), unread=unread[1:])
    )
    assert nothing_wrong.first_line.endswith("1 of its 1 function is charted; 1 file was not read.")


def test_the_terminal_names_the_first_files_that_were_not_read() -> None:
    unread = [UnreadFile(f"{name}.py", "too large") for name in "abcdef"]
    own_report = report(Assessment((), {}, {}), source=source(unread=(UnreadFile("z.py", "Python 2"), *unread)))
    text, whole_text = (" ".join(text_of(own_report, whole=whole).split()) for whole in (False, True))
    assert "Not read: 7 files (6 too large: a.py, b.py, c.py and 3 more; 1 Python 2: z.py)." in text
    assert "6 too large: a.py, b.py, c.py, d.py, e.py and f.py;" in whole_text


def test_json_has_every_finding_with_its_places(assessment_report: AssessmentReport) -> None:
    document = json.loads(json_of(assessment_report))
    assert (document["type"], document["format"], document["summary"]) == (
        "portolan-assessment",
        1,
        assessment_report.first_line,
    )
    assert document["target"]["version"] == "2.9.0"
    assert document["origin"] == "ships with Portolan"
    kinds = {(finding["function"], finding["kind"], finding["weight"]) for finding in document["findings"]}
    assert kinds >= {("torch.wrong", "wrong", "finding"), ("torch.some", "falls-back", "condition")}
    places = [place for finding in document["findings"] for place in finding["places"]]
    assert len(places) == len(SITES) - 1
    assert {"path", "line", "column", "within", "certainty", "use", "reached", "guards"} == places[0].keys()
    assert document["unknown"] == {"torch.unknown": 1}
    assert document["host_reads"] == [{"path": "train.py", "line": 9, "function": "torch.Tensor.item"}]


def test_sarif_has_one_result_a_function_and_kind(assessment_report: AssessmentReport) -> None:
    document = json.loads(sarif_of(assessment_report))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
    results = {result["message"]["text"].split()[2]: result for result in run["results"]}
    assert results.keys() == {FUNCTION, "torch.wrong", "torch.guarded"}
    assert len(results) == len(run["results"])
    assert {name: result["level"] for name, result in results.items()} == {
        FUNCTION: "error",
        "torch.wrong": "error",
        "torch.guarded": "note",
    }
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["partialFingerprints"]["function/v1"]
        for location in [*result["locations"], *result["relatedLocations"]]:
            physical = location["physicalLocation"]
            assert physical["artifactLocation"]["uri"].startswith("src/")
            assert physical["region"]["startLine"] >= 1
            assert physical["region"]["startColumn"] == 4
    lines = [
        location["physicalLocation"]["region"]["startLine"]
        for location in [*results[FUNCTION]["locations"], *results[FUNCTION]["relatedLocations"]]
    ]
    assert lines == [2, 5, 6]
    (location,) = results["torch.guarded"]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "src/sub/a%20b.py"


def test_sarif_has_no_column_for_recorded_calls() -> None:
    place = replace(site(), column=0)
    (run,) = json.loads(sarif_of(report(assessment_of(several(3, "usual", "failed"), place), place)))["runs"]
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"]["region"] == {"startLine": 1}


def test_sarif_names_a_file_in_a_folder_with_the_mark_of_cells() -> None:
    place = site(path="C#/train.py")
    (run,) = json.loads(sarif_of(report(assessment_of(several(3, "usual", "failed"), place), place)))["runs"]
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "src/C%23/train.py"


def test_sarif_names_the_notebook_and_no_line_of_it() -> None:
    cell = site(path="train.ipynb#3")
    (run,) = json.loads(sarif_of(report(assessment_of(several(3, "usual", "failed"), cell), cell)))["runs"]
    assert run["results"][0]["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "src/train.ipynb"}}}]


def test_junit_counts_what_it_lists(assessment_report: AssessmentReport) -> None:
    root = ET.fromstring(junit_of(assessment_report))
    (suite,) = root
    cases = list(suite)
    assert int(suite.attrib["tests"]) == len(cases)
    assert int(suite.attrib["failures"]) == sum(one.find("failure") is not None for one in cases) == 3
    assert int(suite.attrib["skipped"]) == sum(one.find("skipped") is not None for one in cases) == 2
    passing = {one.attrib["name"] for one in cases if not len(one)}
    assert passing == {"torch.fine", "torch.some"}
    failure = next(one for one in cases if one.attrib["name"] == "torch.wrong wrong")
    assert failure.attrib["file"] == "src/train.py"
    assert "src/train.py:3" in (failure.findtext("failure") or "")


def test_html_shows_the_code_and_asks_nothing_of_others(assessment_report: AssessmentReport, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    page = html_of(assessment_report, Code(tmp_path))
    assert "line_2 = 1 &lt; 2" in page
    assert "line_4 = 1 &lt; 2" in page
    assert "1 < 2" not in page
    tags = _Tags()
    tags.feed(page)
    assert not tags.outside
    assert "portolan-runner run torch xla" in page


def test_html_shows_hostile_text_as_text(tmp_path: Path) -> None:
    hostile = site(path="<script>alert(1)</script>.py", within="\u202eevil")
    page = html_of(report(assessment_of(several(3, "usual", "failed"), hostile), hostile), Code(tmp_path))
    assert "<script>" not in page
    assert "\u202e" not in page


def test_code_of_a_notebook_is_that_of_its_cell(tmp_path: Path) -> None:
    cells = [{"cell_type": "markdown", "source": ["a"]}, {"cell_type": "code", "source": ["b = 1\n", "c = 2"]}]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    code = Code(tmp_path)
    assert (code.line("n.ipynb#2", 2), code.line("n.ipynb#2", 3), code.line("gone.py", 1)) == ("c = 2", "", "")
    assert Code(tmp_path / "n.ipynb").line("n.ipynb#2", 1) == "b = 1"


def test_lines_are_counted_as_python_counts_them(tmp_path: Path) -> None:
    (tmp_path / "C#").mkdir()
    (tmp_path / "C#" / "a.py").write_bytes("a = 1\n\f\nb = '\u2028'\rc = 3\r\nd = 4".encode())
    assert [Code(tmp_path).line("C#/a.py", number) for number in (3, 4, 5)] == ["b = '\u2028'", "c = 3", "d = 4"]


@pytest.mark.parametrize(
    ("code", "line", "is_accepted"),
    [
        ("y = f(\n    x,\n)  # accept", 1, True),
        ("y = [\n    f(x),\n    g(x),\n]  # accept", 3, True),
        ("if f(\n    x\n):  # accept\n    pass", 1, True),
        ("if f(x):\n    pass  # accept", 1, False),
        ("f(x)\ng(x)  # accept", 1, False),
        ("f(", 1, False),
    ],
)
def test_a_comment_behind_the_closing_bracket_is_of_the_whole_statement(
    tmp_path: Path, code: str, line: int, is_accepted: bool
) -> None:
    (tmp_path / "a.py").write_text(code)
    assert ("# accept" in Code(tmp_path).line_with_end("a.py", line)) is is_accepted


def test_only_files_with_a_text_have_lines_if_code_is_limited_to_it(tmp_path: Path) -> None:
    files = {"with.py": "a = 1\nb = 2  # portolan: x", "without.py": "c = 3"}
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for name, content in files.items():
            (tmp_path / name).write_text(content)
            archive.writestr(name, content)
    for root in (tmp_path, tmp_path / "code.zip"):
        code = Code(root, containing="portolan:")
        assert (code.line("with.py", 1), code.line("without.py", 1)) == ("a = 1", ""), root
        assert Code(root).line("without.py", 1) == "c = 3", root


class _Tags(HTMLParser):
    """Collects a page's scripts, and everything that it would load from other addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        if tag in ("script", "link", "iframe", "img") or names & {"src", "href"}:
            self.outside.append(tag)


def test_the_first_line_says_that_another_version_was_charted() -> None:
    assessment = assessment_of(several(3, "usual", "failed"))
    first_line = report(assessment, installed="2.8.0+cpu").first_line
    assert first_line.startswith("On torch/xla (charted for 2.9.0, while 2.8.0+cpu is installed) this code calls 1 ")
    assert report(assessment, installed="2.9.0+cpu").first_line.startswith("On torch/xla this code calls 1 ")
