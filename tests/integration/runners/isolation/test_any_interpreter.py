"""``--python``: cases run in an interpreter in which nothing of the project is installed, or one line says why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runners.isolation import processes
from tests import fork_server
from tests.interpreters import bare_environment, of_version
from tests.runner_process import RunnerProcess, environment
from tests.waiting import LIMIT_S

OURS = ("pydantic", "fastapi", "psutil", "uvicorn", "scipy")
LIMITED = (
    "import sys; from runners.isolation import fork_server; from runners.cli import main; "
    "fork_server.START_LIMIT_S = fork_server.IMPORT_LIMIT_S = 1.0; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture(scope="module", params=["ours", "3.9"])
def bare(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds NumPy alone."""
    interpreter = sys.executable if request.param == "ours" else of_version(request.param)
    python = bare_environment(interpreter, tmp_path_factory.mktemp("bare"))
    find = f"import importlib.util as u; print([name for name in {OURS} if u.find_spec(name)])"
    assert subprocess.check_output([python, "-I", "-c", find], text=True) == "[]\n"
    return python


def script(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def call(*arguments: str | Path, is_limited: bool = False) -> subprocess.CompletedProcess[str]:
    program = ["-c", LIMITED] if is_limited else ["-m", "runners"]
    command = [sys.executable, *program, *arguments]
    return fork_server.call(None if is_limited else fork_server.RUNNER_SERVER, command, environment(), "", LIMIT_S)


def complaint(python: Path | str, framework: str = "hazards", *, is_limited: bool = False) -> str:
    """The one line on stderr of a case that cannot be run in this interpreter."""
    answer = call("run", framework, "cpu", "hazards.add/0", "--python", python, is_limited=is_limited)
    assert (answer.returncode, answer.stdout) == (2, ""), (answer.stdout, answer.stderr)
    (line,) = answer.stderr.splitlines()
    assert str(python) in line
    return line


def test_a_case_runs_where_nothing_of_ours_is_installed(bare: Path) -> None:
    answer = call("run", "hazards", "cpu", "hazards.add/0", "--python", bare)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("passed (returned)")
    assert "steady" in answer.stdout
    assert "hazards.add/0" in call("cases", "hazards", "--python", bare).stdout


def test_a_runner_tells_the_installation_of_that_interpreter(bare: Path) -> None:
    plain, other_runner = RunnerProcess(), RunnerProcess("--python", str(bare))
    try:
        assert other_runner.run("add/0").verdict == "passed"
        own, other = plain.info.fingerprint, other_runner.info.fingerprint
        version = subprocess.check_output([bare, "-c", "import platform; print(platform.python_version())"], text=True)
        assert other.python == version.strip()
        assert other.environment != own.environment
        assert other.repeat == f"portolan-runner run hazards cpu {{case}} --python {bare}[ --run {{run}}]"
    finally:
        plain.stop()
        other_runner.stop()


def test_an_interpreter_may_print_while_it_starts_and_while_it_imports(bare: Path, tmp_path: Path) -> None:
    """The runner reads its answers from a channel of their own, so a greeting of a cluster disturbs nothing."""
    (tmp_path / "sitecustomize.py").write_text("import sys; print('{}'); print('to the cluster', file=sys.stderr)\n")
    export_path = f'export PYTHONPATH="{tmp_path}:$PYTHONPATH"'
    wrapper = script(tmp_path / "greeter", "echo Welcome; echo to the cluster >&2", export_path, f'exec {bare} "$@"')
    answer = call("run", "hazards", "cpu", "hazards.add/0", "--python", wrapper)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("passed (returned)")


def importing(folder: Path, statement: str) -> Path:
    """An interpreter in which NumPy does this before it is imported."""
    (folder / "numpy.py").write_text(
        f"import os, sys\n{statement}\nsys.path.remove({str(folder)!r})\ndel sys.modules['numpy']\nimport numpy\n"
    )
    return script(folder / "python", f'export PYTHONPATH="{folder}:$PYTHONPATH"', f'exec {sys.executable} "$@"')


def starting(folder: Path, statement: str) -> Path:
    """An interpreter that does this when it starts."""
    (folder / "sitecustomize.py").write_text(f"import os, sys\n{statement}\n")
    return script(folder / "python", f'export PYTHONPATH="{folder}:$PYTHONPATH"', f'exec {sys.executable} "$@"')


@pytest.mark.drawn(3)
@pytest.mark.parametrize("noise", ["Welcome", "[]", "{}", '{"type": "nonsense"}', '{"type": "forked"}', "{"])
@pytest.mark.parametrize("where", ["starts", "imports"])
def test_an_interpreter_that_prints_into_its_answer_is_refused_in_one_line(
    tmp_path: Path, noise: str, where: str
) -> None:
    """As one does that prints to every descriptor that is open."""
    noise_bytes = f"{noise}\n".encode()
    statement = f"os.write(int(sys.argv[2]), {noise_bytes!r})"
    python = (starting if where == "starts" else importing)(tmp_path, statement)
    assert "its messages to the runner cannot be read (" in complaint(python)


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["echo I am no snake"], "no Python starts (I am no snake)"),
        (["exit 0"], "no Python starts"),
        (["kill -9 $$"], "no Python starts"),
        (['echo \'{"type": "nonsense"}\' >&$3', "exit 0"], "no Python starts"),
        ([f'{sys.executable} "$@"'], "name the interpreter itself or a script that execs it"),
        ([f'{sys.executable} "$@" &', "wait"], "name the interpreter itself or a script that execs it"),
        ([f"exec {sys.executable} -c \"raise SystemExit('libpython is broken')\""], "libpython is broken"),
    ],
)
def test_what_is_no_interpreter_is_said_in_one_line(tmp_path: Path, lines: list[str], words: str) -> None:
    assert words in complaint(script(tmp_path / "python", *lines))


def test_a_program_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    assert "is not a program here" in complaint(tmp_path / "python")
    (tmp_path / "text").write_text("print()")
    assert "is not a program here" in complaint(tmp_path / "text")
    (tmp_path / "noise").write_bytes(b"\x7fELF")
    (tmp_path / "noise").chmod(0o755)
    assert "cannot be run" in complaint(tmp_path / "noise")


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("raise OSError('libcudart is broken')", "hazards cannot be imported (OSError: libcudart is broken)"),
        ("raise SystemExit(0)", "hazards cannot be imported (SystemExit: 0)"),
        ("os.abort()", "hazards cannot be imported"),
        ("os._exit(0)", "hazards cannot be imported"),
    ],
)
def test_what_breaks_while_it_imports_is_said_in_one_line(tmp_path: Path, statement: str, words: str) -> None:
    assert words in complaint(importing(tmp_path, statement))


def test_an_interpreter_that_forks_as_it_starts_is_refused(tmp_path: Path) -> None:
    assert "do not fork during its start" in complaint(starting(tmp_path, "os.fork()"))


def test_a_copy_that_is_forked_while_importing_answers_nothing(tmp_path: Path) -> None:
    """Modules may fork to probe a device; of two processes that go on, the one that was started answers."""
    python = importing(tmp_path, "os.fork()")
    answer = call("run", "hazards", "cpu", "hazards.add/0", "--python", python)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("passed (returned)")


@pytest.mark.parametrize("version", ["2.7", "3.8"])
def test_a_python_that_is_too_old_says_so(version: str) -> None:
    assert f"it is Python {version}." in complaint(of_version(version))


def test_an_interpreter_without_the_framework_names_the_missing_module(bare: Path) -> None:
    assert "torch cannot be imported (ModuleNotFoundError: No module named 'torch'): " in complaint(bare, "torch")
    assert "no framework 'hazard'; did you mean 'hazards'?" in complaint(bare, "hazard")


@pytest.mark.parametrize("where", ["before Python", "while importing"])
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, where: str) -> None:
    note = tmp_path / "pid"
    hanging = f"sleep 1000 & echo $! >{note}; exec sleep 1000"
    if where == "while importing":
        sleeping = "import os, subprocess; os.write(int('$3'), b'{\\\"type\\\": \\\"greeting\\\"}\\n'); "
        hanging = (
            f"sleep 1000 & echo $! >{note}; exec {sys.executable} -c \"{sleeping} subprocess.call(['sleep', '1000'])\""
        )
    words = "was not imported within 1 s" if where == "while importing" else "no Python interpreter started within 1 s"
    assert words in complaint(script(tmp_path / "python", hanging), is_limited=True)
    left = processes.look(int(note.read_text()))
    assert left is None or not left.alive
