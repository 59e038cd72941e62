"""``--suite ./my_suite``: users' own suites on the command line, and the one-line message for a suite that cannot be
served."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.bundle import BundleHeader
from tests.fork_server import RUNNER_SERVER, call
from tests.interpreters import bare_environment
from tests.own_suite import BOTH, MODULE, install, write_module, write_package
from tests.runner_process import PATHS, environment
from tests.waiting import LIMIT_S


def _call(*arguments: str | Path, python_path: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = [*PATHS, *([str(python_path)] if python_path else [])]
    command = [sys.executable, "-m", "runners", *map(str, arguments)]
    return call(RUNNER_SERVER, command, environment(PYTHONPATH=os.pathsep.join(paths)), "", LIMIT_S)


def _complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a command that failed."""
    assert (answer.returncode, answer.stdout) == (2, ""), (answer.stdout, answer.stderr)
    (line,) = answer.stderr.splitlines()
    return line.removeprefix("portolan-runner: ")


def _header(bundle: Path) -> BundleHeader:
    return BundleHeader.model_validate_json(bundle.read_text().splitlines()[0])


def test_a_module_is_a_suite_by_its_path(tmp_path: Path) -> None:
    file = write_module(tmp_path)
    listing = _call("cases", "hazards", "--suite", file)
    assert listing.stdout.splitlines() == [f"mine\t{case}" for case in BOTH], listing.stderr
    answer = _call("run", "hazards", "cpu", BOTH[0], "--suite", file)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "on_device on cpu" in answer.stdout


def test_a_package_is_a_suite_with_the_modules_that_it_imports_by_either_name(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    bundle = tmp_path / "mine.bundle"
    answer = _call("run", "hazards", "cpu", "--suite", package, "--out", bundle, "--runs", "1", "--timing", "steady")
    assert answer.returncode == 0, answer.stderr
    header = _header(bundle)
    assert header.suite.name == "mine"
    assert [case.id for case in header.suite.cases] == [*BOTH, "mine.total/long"]
    outcomes = [json.loads(line)["outcome"] for line in bundle.read_text().splitlines()[1:-1]]
    assert [(outcome["verdict"], outcome["placement"]) for outcome in outcomes] == [("passed", "on_device")] * 3
    assert all(outcome["timing"]["samples_ms"] for outcome in outcomes)


def test_the_folder_that_one_stands_in_is_a_suite(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "runners", "cases", "hazards", "--suite", "."],
        cwd=package,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert answer.stdout.startswith("mine\tmine.total/row\n"), answer.stderr


def test_a_path_leaves_out_no_other_suite_of_a_single_case(tmp_path: Path) -> None:
    """So the command that repeats a case works for all cases of a runner with users' own suites."""
    file = write_module(tmp_path)
    assert _call("run", "hazards", "cpu", "hazards.add/0", "--suite", file).returncode == 0
    source = MODULE.replace("mine.total", "hazards.add").replace('"row"', '"wrong"')
    alike = write_module(tmp_path, source, "alike")
    # The case of this id in the suite of the hazards fails; one's own comes first.
    assert _call("run", "hazards", "cpu", "hazards.add/wrong", "--suite", alike).returncode == 0
    assert _call("run", "hazards", "cpu", "hazards.add/wrong", "--suite", "hazards").returncode == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package' ({file}, line 1)"),
        ("\n\n1 / 0\n", "ZeroDivisionError: division by zero ({file}, line 3)"),
        ("def (:\n", "SyntaxError: "),
        ("raise SystemExit(0)\n", "SystemExit: 0 ({file}, line 1)"),
        ("import os\nos._exit(0)\n", "cannot be imported ("),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "cannot be imported ("),
        ("CASES = []\n", "has no cases: define FUNCTIONS, a list"),
        ("FUNCTIONS = [print]\n", "FUNCTIONS contains a builtin_function_or_method"),
        (MODULE.replace("[total]", "[total, total]"), "two cases 'mine.total/row'; rename one"),
        (MODULE.replace('"empty"', '"row"'), "mine.total/row: a case of this name exists already"),
        (
            MODULE.replace("mine.total", "torch.sum"),
            "has a case of torch (torch.sum/row), but this runner serves hazards",
        ),
        (MODULE.replace("mine.total", "tf.sum"), "has a case of tensorflow (tf.sum/row)"),
        (MODULE.replace("inputs.normal(4)", "inputs.normal(STEP)") + "STEP = open('/gone').read()\n", "/gone"),
    ],
)
def test_a_module_that_is_no_suite_is_refused_in_one_line_with_its_own_words(
    tmp_path: Path, source: str, words: str
) -> None:
    file = write_module(tmp_path, source)
    line = _complaint(_call("cases", "hazards", "--suite", file))
    assert f"suite 'mine' ({file})" in line
    assert words.format(file=file) in line
    assert "Traceback" not in line


def test_a_path_without_a_suite_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").touch()
    complaints = {
        name: _complaint(_call("serve", "hazards", "cpu", "--port", "0", "--suite", tmp_path / name))
        for name in ("gone", "folder", "notes.txt")
    }
    assert "there is no such file or folder" in complaints["gone"]
    assert "has no __init__.py" in complaints["folder"]
    assert "neither a Python file nor a recording" in complaints["notes.txt"]


@pytest.mark.parametrize("name", ["hazards", "conformance"])
def test_the_name_of_a_suite_that_ships_is_refused(tmp_path: Path, name: str) -> None:
    file = write_module(tmp_path, name=name)
    line = _complaint(_call("cases", "hazards", "--suite", file))
    assert line == f"suite {name!r} ({file}) has the same name as a suite that comes with Portolan: rename your suite"


@pytest.mark.parametrize("name", ["numpy", "json", "runners", "my-suite"])
def test_a_name_that_would_hide_a_module_is_refused(tmp_path: Path, name: str) -> None:
    line = _complaint(_call("cases", "hazards", "--suite", write_module(tmp_path, name=name)))
    assert "has the same name" in line or "Python cannot import a module of this name" in line
    assert "rename" in line


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    one, other = write_module(tmp_path / "one"), write_module(tmp_path / "other")
    line = _complaint(_call("cases", "hazards", "--suite", one, "--suite", other))
    assert line == f"suite 'mine' ({other}) has the same name as suite 'mine' ({one}): rename your suite"


def test_a_name_is_no_path_and_the_answer_says_how_a_path_is_written(tmp_path: Path) -> None:
    bundle = ("--out", tmp_path / "bundle")
    assert "as ./mine" in _complaint(_call("run", "hazards", "cpu", "--suite", "mine", *bundle))
    assert "by its path, ./mine" in _complaint(_call("serve", "hazards", "cpu", "--suite", "mine"))
    both = ("--suite", write_module(tmp_path), "--suite", "hazards")
    assert "--out runs one suite" in _complaint(_call("run", "hazards", "cpu", *both, *bundle))


def test_what_lies_beside_a_suite_hides_no_module_of_the_interpreter(tmp_path: Path) -> None:
    """Neither a folder ``torch`` or ``numpy`` next to the suite, nor the folder ``runners`` around it, is on the import
    path."""
    for name in ("torch", "jax", "docker", "numpy", "string"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('the wrong one')\n")
    source = (
        "import importlib.util, string, sys\n"
        "assert not [path for path in sys.path if path in (@, '')], sys.path\n"
        "for name in ('torch', 'jax', 'docker', 'numpy', 'string'):\n"
        "    spec = importlib.util.find_spec(name)\n"
        "    assert spec is None or not spec.origin.startswith(@), spec\n"
    )
    file = write_module(tmp_path, source.replace("@", repr(str(tmp_path))) + MODULE)
    assert _call("cases", "hazards", "--suite", file).returncode == 0


def test_it_runs_where_nothing_of_ours_is_installed(tmp_path: Path) -> None:
    python = bare_environment(sys.executable, tmp_path / "bare")
    package = write_package(tmp_path)
    answer = _call("run", "hazards", "cpu", "mine.total/long", "--suite", package, "--python", python)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    (package / "sums.py").write_text("import pydantic\n")
    line = _complaint(_call("cases", "hazards", "--suite", package, "--python", python))
    assert line.startswith(
        f"{python}: suite 'mine' ({package}) cannot be imported (ModuleNotFoundError: No module named"
    )


def test_an_installed_package_offers_a_suite_to_the_runner_of_its_framework(tmp_path: Path) -> None:
    """The suite is the same as when its path is given: same cases, same revision."""
    install(tmp_path, "hazards.offered = mine", "torch.other = gone")
    package = write_package(tmp_path)
    assert "offered\tmine.total/long" in _call("cases", "hazards", python_path=tmp_path).stdout
    by_entry, by_path = tmp_path / "entry.bundle", tmp_path / "path.bundle"
    common = ("--runs", "1", "--timing", "off")
    answer = _call("run", "hazards", "cpu", "--suite", "offered", "--out", by_entry, *common, python_path=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert _call("run", "hazards", "cpu", "--suite", package, "--out", by_path, *common).returncode == 0
    assert _header(by_entry).suite.revision == _header(by_path).suite.revision
    assert _header(by_entry).suite.cases == _header(by_path).suite.cases


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["hazards.mine = gone"], "cannot be imported (ModuleNotFoundError: No module named 'gone')"),
        (["hazards.hazards = mine"], "has the same name as a suite that comes with Portolan"),
        (["hazards.one = mine", "hazards.one = mine.sums"], "has the same name as suite 'one'"),
    ],
)
def test_a_package_whose_suite_cannot_be_served_is_named(tmp_path: Path, entries: list[str], words: str) -> None:
    write_package(install(tmp_path, *entries))
    line = _complaint(_call("cases", "hazards", python_path=tmp_path))
    assert f"(entry point {entries[-1]} of an installed package)" in line
    assert words in line
