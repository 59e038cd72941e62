"""Output is quoted for its destination: a shell, a terminal, or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex

import pytest
from rich.table import Table
from rich.text import Text

from coordinator.cli.terminal_console import console
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.text.csv_text import csv_text, plain_cell
from protocol.terminal import TerminalStream, terminal_text

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\r[bold]x[/bold]"
RUN_A_SHELL = "$(touch owned); `touch owned` | sh > f & x"


@pytest.mark.parametrize(
    "template",
    [
        "node main.js run '{case}'",
        'node main.js run "{case}"',
        "node main.js run {case}; touch owned",
        "node main.js run {case} $(touch owned)",
        "node main.js run {case} > /etc/owned",
    ],
)
def test_a_template_is_one_command_whatever_is_in_it(template: str) -> None:
    command = repeat_command("node", "cpu", "x'; touch owned; '", 1, {"host": "h", "repeat": template})
    words = shlex.split(command)
    assert words[:3] == ["node", "main.js", "run"]
    assert shlex.join(words) == command
    assert list(shlex.shlex(command, posix=True, punctuation_chars=True)) == words


def test_a_device_of_that_name_runs_no_shell() -> None:
    command = repeat_command("torch", RUN_A_SHELL, "torch.add/x", 2, None)
    assert shlex.split(command) == ["portolan-runner", "run", "torch", RUN_A_SHELL, "torch.add/x", "--run", "2"]


@pytest.mark.parametrize("case", ["--python=/tmp/owned", "x\x1b[2J", "x\ny", "x\u202ey"])
def test_a_case_that_is_no_word_is_not_typed(case: str) -> None:
    command = repeat_command("node", "cpu", case, 1, {"host": "gpu-box", "repeat": "node main.js run {case}"})
    assert command == "the name of this case cannot be passed to a shell: ask the operator of the runner on gpu-box"


def test_a_template_without_an_end_is_none() -> None:
    assert "is not a valid shell command" in repeat_command(
        "node", "cpu", "x", 1, {"host": "h", "repeat": "node '{case}"}
    )


def test_nothing_that_is_printed_moves_a_terminal() -> None:
    output = io.StringIO()
    stream = TerminalStream(output)
    print(HOSTILE, "plain \t é ✓", file=stream)
    assert output.getvalue() == (
        "a\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202egnp\\u000d[bold]x[/bold] plain \t é ✓\n"
    )


def test_json_means_the_same_to_a_program() -> None:
    text = json.dumps({"case": HOSTILE}, ensure_ascii=False)
    assert terminal_text(text).isprintable()
    assert json.loads(terminal_text(text)) == {"case": HOSTILE}


def test_tables_and_lines_of_the_console_are_shown_too() -> None:
    output = io.StringIO()
    out = console(output)
    table = Table(HOSTILE)
    table.add_row(HOSTILE)
    for part in (HOSTILE, Text(HOSTILE), table):
        out.print(part, soft_wrap=True)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\r"} & set(output.getvalue())
    assert "[bold]x[/bold]" in output.getvalue()


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''@x"]
)
def test_no_text_is_a_formula_and_none_is_lost(text: str) -> None:
    ((cell, *_),) = csv.reader(io.StringIO(csv_text([[text, 1]]), newline=""))
    assert cell == f"'{text}"
    assert plain_cell(cell) == text


@pytest.mark.parametrize(
    "value", [-1, -1.5, 1e-12, True, None, "-1.5", "+3", "-1e-9", "torch.add/x", "it's", "'quoted'", ""]
)
def test_numbers_and_other_texts_stay(value: object) -> None:
    ((cell, *_),) = csv.reader(io.StringIO(csv_text([[value, 1]]), newline=""))
    assert cell == ("" if value is None else str(value))
    assert plain_cell(cell) == cell


@pytest.mark.parametrize("value", [{"a": [1, "ü"]}, ["x", None], ("=1",)])
def test_a_value_that_has_parts_is_json(value: object) -> None:
    ((cell, *_),) = csv.reader(io.StringIO(csv_text([[value, 1]]), newline=""))
    assert json.loads(cell) == json.loads(json.dumps(value))


def test_an_argument_that_is_no_text_is_one_line(tmp_path: object, capfd: pytest.CaptureFixture[str]) -> None:
    from coordinator.cli import main

    assert main(["submit", "--url", "http://127.0.0.1:1", "--name", os.fsdecode(b"\xff")]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "is not valid text" in line
