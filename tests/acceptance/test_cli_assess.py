"""``portolan assess`` as a process: from a project to findings, exit codes and files, also with a coordinator."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from coordinator.assess import evidence_file
from coordinator.errors import UnknownNameError
from portolan import can_i
from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import COMMAND, Portolan

ROOT = Path(__file__).parents[2]
FAILING, GUARDED, FINE = "torch.cumsum", "torch.cumprod", "torch.add"
CODE = f"""\
import torch


def step(x):
    y = {FAILING}(x, 0)
    if x.device.type == "cuda":
        y = {GUARDED}(y, 0)
    return {FINE}(x, y)


def main(x):
    return step(x)
"""


@pytest.fixture
def portolan(tmp_path: Path) -> Portolan:
    return Portolan(tmp_path / "data")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(CODE)
    return tmp_path / "project"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outcomes of the hazards under the names of three functions of torch, each of four cases, on torch/xla."""
    file = tmp_path_factory.mktemp("bundle") / "torch-xla.bundle"
    return bundles.as_torch(file, {FAILING: "hazards.fail", GUARDED: "hazards.fail", FINE: "hazards.add"})


@pytest.fixture(scope="module")
def data(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("evidence") / "evidence.json.gz"
    output = Portolan(file.parent / "data").ask("evidence", str(file), str(bundle))
    assert re.fullmatch(
        r"torch@2\.9\.0/xla on .+: 3 functions, 12 cases\nsignatures of bundles were not checked\n", output
    )
    return file


def test_evidence_of_bundles_keeps_what_an_older_file_has_of_other_targets(
    portolan: Portolan, bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "evidence.json"
    output = portolan.ask("evidence", str(out), str(bundle), "--data", str(evidence_file.SHIPPED))
    assert "jax@0.10.2/tpu-lowered" in output
    suites = {chart.suite for target in evidence_file.read(out.read_bytes(), "", "").targets for chart in target.charts}
    assert suites == {"hazards", "library", "paper"}
    assert "--data needs bundles" in portolan.refused("evidence", str(out), "--data", str(evidence_file.SHIPPED))
    assert "is not an evidence file" in portolan.refused("evidence", str(out), str(bundle), "--data", str(bundle))
    assert "there is no file" in portolan.refused("evidence", str(out), str(bundle), "--data", str(tmp_path / "absent"))


def test_without_anything_the_evidence_that_ships_answers(portolan: Portolan, project: Path) -> None:
    first, *_ = portolan.ask("assess", str(project), "--on", "torch/xla").splitlines()
    assert first.startswith("On torch/xla ")
    assert "ships with Portolan" in portolan.ask("assess", str(project / "train.py"), "--on", "torch/xla")


def test_findings_are_told_with_their_place_and_what_calls_them(portolan: Portolan, project: Path, data: Path) -> None:
    text = portolan.ask("assess", str(project), "--on", "torch/xla", "--data", str(data))
    assert text.startswith("On torch/xla this code calls 1 function that fails (torch.cumsum at train.py:5).\n")
    flat_text = " ".join(text.split())
    assert f"Evidence (from {data}, unsigned): torch 2.9.0 on xla" in flat_text
    assert "FAILS torch.cumsum (1 place) fails in 4 of 4 usual cases" in flat_text
    # The target takes another branch.
    assert "torch.cumprod" not in flat_text
    assert "train.main > train.step: torch.cumsum" in flat_text
    assert "$ portolan-runner run " in flat_text
    assert "train.py:6: x.device.type" in flat_text


@pytest.mark.parametrize(
    ("kinds", "code"), [("fails", 1), ("wrong,falls-back,slow:3", 0), ("wrong,fails,falls-back,slow:10", 1)]
)
def test_the_exit_code_is_that_of_the_kinds_that_were_asked_for(
    portolan: Portolan, project: Path, data: Path, kinds: str, code: int
) -> None:
    process = portolan.call("assess", str(project), "--on", "torch/xla", "--data", str(data), "--fail-on", kinds)
    assert (process.returncode, process.stderr) == (code, "")


def test_comments_and_a_baseline_silence_what_was_looked_at(
    portolan: Portolan, project: Path, data: Path, tmp_path: Path
) -> None:
    arguments = ("assess", str(project), "--on", "torch/xla", "--data", str(data), "--fail-on", "fails")
    baseline = str(tmp_path / "baseline.json")
    assert portolan.call(*arguments, "--write-baseline", baseline).returncode == 1
    process = portolan.call(*arguments, "--baseline", baseline)
    assert process.returncode == 0
    assert "Silenced: 0 places by comments, 1 by the baseline." in process.stdout
    (project / "train.py").write_text(
        CODE.replace("(x, 0)\n", "(x, 0)  # portolan: ignore[torch.cumsum] on the host\n")
    )
    process = portolan.call(*arguments)
    assert process.returncode == 0
    assert "Silenced: 1 place by comments, 0 by the baseline." in process.stdout


def test_every_format_is_written(portolan: Portolan, project: Path, data: Path, tmp_path: Path) -> None:
    reports = {}
    for format in ("text", "json", "html", "junit", "sarif"):
        out = tmp_path / f"report.{format}"
        arguments = ("--data", str(data), "--format", format, "--output", str(out))
        assert portolan.ask("assess", str(project), "--on", "torch/xla", *arguments) == ""
        reports[format] = out.read_text()
    assert json.loads(reports["json"])["summary"] in " ".join(reports["text"].split())
    assert len(json.loads(reports["sarif"])["runs"][0]["results"]) == 1
    assert ET.fromstring(reports["junit"])[0].attrib["failures"] == "1"
    assert "y = torch.cumsum(x, 0)" in reports["html"]


def test_another_version_that_is_installed_is_said_at_once(portolan: Portolan, project: Path, data: Path) -> None:
    site_packages = project / ".venv" / "lib" / "python3.11" / "site-packages" / "torch-2.8.1+cpu.dist-info"
    site_packages.mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (site_packages / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.8.1+cpu\n")
    text = " ".join(portolan.ask("assess", str(project), "--on", "torch/xla", "--data", str(data)).split())
    assert text.startswith("On torch/xla (charted for 2.9.0, while 2.8.1+cpu is installed) this code calls 1 ")
    assert "torch 2.8.1+cpu is installed here, but the evidence is for 2.9.0" in text


def test_a_coordinator_answers_with_what_its_campaigns_found(
    new_database: Callable[..., str], project: Path, bundle: Path, data: Path, tmp_path: Path
) -> None:
    coordinator = CoordinatorProcess(new_database())
    try:
        portolan = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
        # It has nothing yet, and leaves it to what ships.
        assert "ships with Portolan" in portolan.ask("assess", str(project), "--on", "torch/xla")
        portolan.ask("import", "--unsigned", str(bundle))
        process = portolan.call("assess", str(project), "--on", "torch/xla", "--fail-on", "fails")
        assert process.returncode == 1
        assert f"from {coordinator.url}" in process.stdout
        out = tmp_path / "from-coordinator.json"
        portolan.ask("evidence", str(out))
        of_bundle, of_coordinator = (
            evidence_file.read(file.read_bytes(), str(file), "").targets[0].functions for file in (data, out)
        )
        assert of_coordinator == of_bundle
    finally:
        coordinator.stop()


def test_the_evidence_of_a_coordinator_that_nobody_named_is_said_to_be_its(
    directory: Path, project: Path, bundle: Path
) -> None:
    portolan = Portolan(directory.parent)
    instance = portolan.up("--targets", "", "--port", "0")
    try:
        portolan.ask("import", "--unsigned", str(bundle))
        url = json.loads((portolan.directory / "coordinator.json").read_text())["url"]
        text = " ".join(portolan.ask("assess", str(project), "--on", "torch/xla").split())
    finally:
        instance.stop()
    assert re.search(
        rf"\(torch\.cumsum at train\.py:5\)\. Evidence \(3 functions from {url}, the coordinator that runs here, and "
        r"[\d,]+ that ship with Portolan \(charted by [\d-]+\)\): torch 2\.9\.0 on xla \(.+?\), charted on 20",
        text,
    ), text


def test_the_evidence_that_ships_can_be_named_beside_a_coordinator(tmp_path: Path, project: Path) -> None:
    portolan = Portolan(tmp_path / "data", PORTOLAN_URL="http://127.0.0.1:9")
    arguments = ("--on", "torch/xla", "--data", "shipped")
    assert "(evidence ships with Portolan)" in portolan.call("can-i", FINE, *arguments).stdout
    assert "ships with Portolan" in portolan.ask("assess", str(project), *arguments)
    assert "no coordinator answers" in portolan.refused("can-i", FINE, *arguments[:2])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--on", "torch/xlaa"), "did you mean torch/xla?"),
        (("--on", "tourch/xla"), "did you mean torch/xla?"),
        (("--on", "torch/*"), "--on torch/* is not one target: name one, such as torch/xla"),
        (("--on", "torch/cpu"), "torch/cpu is the host, to which other targets are compared"),
        (("--on", "torch/xla", "--output", "/no/such/report"), "there is no folder /no/such: make it, or name another"),
        (("--on", "torch/xla", "--write-baseline", "/no/such/baseline"), "there is no folder /no/such"),
        (("--on", "torch/xla", "--baseline", "/none"), "there is no file /none: check its name"),
        (("--on", "torch/xla", "--fail-on", "wron"), "did you mean wrong?"),
        (("--on", "torch/xla", "--fail-on", ""), "names no kind"),
        (("--run", "", "--on", "torch/xla"), "--run is empty: give a command"),
        (
            ("--run", "bash a.sh", "--on", "torch/xla"),
            "portolan: --run: 'bash' is not Python: begin the command to record",
        ),
        (("--on", "torch/xla", "--coverage", "/none"), "--coverage and --chart need source code"),
    ],
)
def test_a_mistake_is_told_before_the_command_runs(
    portolan: Portolan, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    mark = tmp_path / "mark"
    assert complaint in portolan.refused("assess", "--run", f"python -c 'open({str(mark)!r}, \"w\")'", *arguments)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--on", "torch/xlaa"), "nobody charted torch/xlaa"),
        (("--on", "tourch/xla"), "did you mean torch/xla"),
        (("--on", "torch"), "is not a target selector"),
        (("--on", "torch/xla", "--with-values"), "--with-values needs a command: give it with --run"),
        (("--on", "torch/cpu"), "torch/cpu is the host, to which other targets are compared"),
        (("--on", "*/xla"), "name one framework"),
        (("--on", "torch/xla", "--fail-on", "wron"), "did you mean wrong?"),
        (("--on", "torch/xla", "--data", "/none"), "there is no file /none: check its name"),
        (("--on", "torch/xla", "--data", "/dev/null"), "is not an evidence file of Portolan"),
        (("--on", "torch/xla", "--baseline", "/none"), "there is no file /none: check its name"),
        (("--on", "torch/xla", "--baseline", "/dev/null"), "is not a baseline"),
        ((), "Missing option '--on'"),
    ],
)
def test_what_cannot_be_assessed_is_one_line_and_exit_code_2(
    portolan: Portolan, project: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    assert complaint in portolan.refused("assess", str(project), *arguments)


def test_nothing_to_read_is_exit_code_2(portolan: Portolan, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.py").write_text("def (:\n")
    assert "has no Python file that can be read" in portolan.refused(
        "assess", str(tmp_path / "empty"), "--on", "torch/xla"
    )
    assert "has no Python file that can be read (a.py: no Python 3): correct a file" in portolan.refused(
        "assess", str(tmp_path / "broken"), "--on", "torch/xla"
    )
    assert "the PATH is empty" in portolan.refused("assess", "", "--on", "torch/xla")
    assert "no package of that name" in portolan.refused("assess", "nosuchpackage", "--on", "torch/xla")


def test_data_of_a_newer_schema_is_refused(portolan: Portolan, project: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.json"
    newer.write_text('{"type": "portolan-evidence", "format": 7, "portolan": "9.0", "targets": "otherwise"}')
    message = portolan.refused("assess", str(project), "--on", "torch/xla", "--data", str(newer))
    assert "has format 7 (made by portolan 9.0), and this portolan reads formats up to 3: upgrade portolan" in message


def test_data_of_coverage_say_which_places_a_program_reached(
    portolan: Portolan, project: Path, data: Path, tmp_path: Path
) -> None:
    coverage_file = tmp_path / "coverage.json"
    coverage_file.write_text(json.dumps({"files": {str(project / "train.py"): {"executed_lines": [1, 4, 11]}}}))
    arguments = ("assess", str(project), "--on", "torch/xla", "--data", str(data))
    output = portolan.ask(*arguments, "--coverage", str(coverage_file))
    assert re.search(r"FAILS +torch\.cumsum \(1 place, not reached\)", output), output
    report = json.loads(portolan.ask(*arguments, "--coverage", str(coverage_file), "--format", "json"))
    assert {place["reached"] for finding in report["findings"] for place in finding["places"]} == {False}
    assert "is not a data file of coverage.py" in portolan.refused(*arguments, "--coverage", str(data))


def test_a_program_asks_by_function(data: Path) -> None:
    answer = can_i(FAILING, on="torch/xla", data=data)
    assert (answer.works, answer.failing, answer.of) == (False, 4, 4)
    assert answer.sentences[0] == "torch.cumsum fails in 4 of 4 usual cases"
    assert can_i(FINE, on="torch/xla", data=data).works is True
    unknown = can_i("torch.linalg.svd", on="torch/xla", data=data)
    assert (unknown.works, unknown.sentences) == (None, ("nobody charted torch.linalg.svd on torch@2.9.0/xla",))
    with pytest.raises(
        UnknownNameError, match=r"^torch@2\.9\.0 has no function torch\.cumsm; did you mean torch\.cumsum"
    ):
        can_i("torch.cumsm", on="torch/xla", data=data)


def test_a_dtype_in_which_no_case_is_has_no_answer() -> None:
    answer = can_i("torch.multinomial", on="torch/xla", dtype="complex128")
    assert (answer.works, answer.word) == (None, "unknown")
    assert answer.sentences[0].startswith(
        "no case of torch.multinomial on torch@2.9.0/xla is in complex128: its cases are in "
    )
    with pytest.raises(UnknownNameError, match=r"^there is no dtype flaot16; did you mean float16"):
        can_i("torch.multinomial", on="torch/xla", dtype="flaot16")
    assert can_i("torch.multinomial", on="torch/xla", dtype="float32").of > 1


def test_the_command_answers_in_a_word_and_an_exit_code(portolan: Portolan, data: Path) -> None:
    arguments = ("--on", "torch/xla", "--data", str(data))
    yes, no = portolan.call("can-i", FINE, *arguments), portolan.call("can-i", FAILING, *arguments)
    unknown = portolan.call("can-i", "torch.linalg.svd", *arguments)
    assert (yes.returncode, no.returncode, unknown.returncode) == (0, 1, 3)
    assert yes.stdout.startswith(f"yes: {FINE} on torch@2.9.0/xla, by 4 cases (evidence from ")
    assert no.stdout.splitlines()[1] == f"  {FAILING} fails in 4 of 4 usual cases"
    assert unknown.stdout.startswith("unknown: torch.linalg.svd")
    assert json.loads(portolan.call("can-i", FAILING, *arguments, "--json").stdout)["works"] is False
    assert "did you mean torch.cumsum" in portolan.refused("can-i", "torch.cumsm", *arguments)


def test_the_commands_of_the_how_to_are_carried_out(project: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "check-your-code-in-ci.md").read_text()
    commands = re.findall(r"^\s*(?:- )?(?:run: |entry: )?(portolan assess .+)$", page, re.MULTILINE)
    assert len(commands) == 7
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "portolan").write_text(f'#!/bin/sh\nexec {COMMAND[0]} -m coordinator "$@"\n')
    (bin_folder / "portolan").chmod(0o755)
    (project / "src").mkdir()
    (project / "train.py").rename(project / "src" / "train.py")
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for command in commands:
        process = subprocess.run(
            command, shell=True, cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        assert process.returncode in (0, 1), (command, process.stderr)
        assert process.stderr == "", command
    assert json.loads((project / "portolan.sarif").read_text())["version"] == "2.1.0"
    assert ET.fromstring((project / "portolan.xml").read_bytes()).tag == "testsuites"
    assert json.loads((project / "portolan-baseline.json").read_text())["type"] == "portolan-baseline"
