"""A command imports only the libraries that it needs. Modules are counted, because times depend on the machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import COMMAND, Portolan
from tests.runner_process import environment

IMPORT_LINE = re.compile(r"^import time:[^|]*\|[^|]*\| +([\w.]+)$", re.MULTILINE)
HEAVY = {
    *("fastapi", "starlette", "uvicorn", "jinja2", "sqlalchemy", "alembic", "asyncpg", "re2", "prometheus_client"),
    *("altair", "vl_convert", "pyarrow", "numpy", "docker", "psutil", "structlog", "asyncio", "filelock", "click"),
}
MODELS_AND_HTTP = {"pydantic", "httpx", "rich"}
RUNNER = [sys.executable, "-c", "import sys; from runners.cli import main; sys.exit(main())"]
COMPLETION = {"_PORTOLAN_COMPLETE": "complete_bash", "COMP_WORDS": "portolan sta", "COMP_CWORD": "1"}
SCRIPTS = Path(sys.executable).parent


def modules_imported_by(command: list[str], *arguments: str, **variables: str) -> set[str]:
    """The modules that a command imports, including those of Python's own start."""
    program, *rest = command
    process = subprocess.run(
        [program, "-X", "importtime", *rest, *arguments],
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return set(IMPORT_LINE.findall(process.stderr))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_neither_models_nor_http(option: str) -> None:
    modules = modules_imported_by(COMMAND, option)
    assert packages(modules) & (HEAVY | MODELS_AND_HTTP) == set()
    assert len(modules) < 230


def test_the_runners_help_imports_neither_models_nor_the_web() -> None:
    modules = modules_imported_by(RUNNER, "--help")
    assert packages(modules) & (HEAVY | MODELS_AND_HTTP) == set()
    assert len(modules) < 110


def test_status_imports_its_own_models_and_no_web_framework(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    portolan = Portolan(tmp_path, PORTOLAN_URL=coordinator.url)
    modules = modules_imported_by(COMMAND, "status", **portolan.variables)
    assert packages(modules) & HEAVY == set()
    models = {name for name in modules if name.startswith("coordinator.") and name.endswith(".models")}
    assert models == {"coordinator.campaigns.models"}
    assert len(modules) < 430


def test_completion_imports_no_command() -> None:
    modules = modules_imported_by(COMMAND, **COMPLETION)
    assert packages(modules) & (HEAVY | {"httpx", "rich"}) == set()
    assert {name for name in modules if re.match(r"coordinator\.cli\.\w+_commands?$", name)} <= {
        "coordinator.cli.lazy_command"
    }


def test_bash_completes_what_install_completion_has_installed(tmp_path: Path) -> None:
    variables = {**environment(), "HOME": str(tmp_path), "PATH": f"{SCRIPTS}{os.pathsep}{os.defpath}"}

    def bash(script: str) -> str:
        return subprocess.run(
            ["bash", "--norc", "-c", script], env=variables, capture_output=True, text=True, check=True
        ).stdout

    # A shell that has another command to run does not become the program, which looks for the shell that called it.
    assert "bash completion installed" in bash("portolan --install-completion; true")
    assert (tmp_path / ".bash_completions" / "portolan.sh").is_file()
    ask = (
        'source ~/.bashrc; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _portolan_completion portolan; echo "${COMPREPLY[*]}"'
    )
    assert bash(f"COMP_WORDS=(portolan sta); {ask}").split() == ["status"]
    assert bash(f'COMP_WORDS=(portolan token ""); {ask}').split() == ["create", "list", "revoke"]
    assert "--verdicts-first" in bash(f"COMP_WORDS=(portolan submit --v); {ask}")


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert re.fullmatch(r"portolan \d+\.\d+\.\d+\n", Portolan(tmp_path).ask("--version"))


def test_a_program_that_asks_imports_models_and_nothing_of_the_web() -> None:
    modules = modules_imported_by([sys.executable, "-c", "import portolan; portolan.can_i"])
    assert packages(modules) & (HEAVY | {"httpx", "rich", "typer"}) == set()
