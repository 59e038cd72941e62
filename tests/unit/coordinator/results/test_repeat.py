"""The command that repeats a case is that of its runner, and never that of another program."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from pydantic import ValidationError

from coordinator.results.outcomes.repeat import repeat_command
from protocol.runner import Fingerprint

NODE: dict[str, Any] = {"host": "gpu-box", "python": None, "repeat": "node main.js run {case}[ --run {run}]"}
HERE = {"hardware": "h", "environment": "e", "host": "gpu-box", "system": "s"}


def test_the_runners_own_command_is_filled_in() -> None:
    assert repeat_command("node", "cpu", "Math.imul/edges", 1, NODE) == "node main.js run Math.imul/edges"
    assert repeat_command("node", "cpu", "Math.imul/edges", 3, NODE) == "node main.js run Math.imul/edges --run 3"


def test_a_case_is_one_word_of_the_shell_whatever_is_in_it() -> None:
    case = "a b; rm -rf {run} [x] '\"$HOME"
    assert shlex.split(repeat_command("node", "cpu", case, 2, NODE)) == ["node", "main.js", "run", case, "--run", "2"]


def test_a_runner_that_says_nothing_gets_no_command_of_ours() -> None:
    command = repeat_command("node", "cpu", "Math.imul/edges", 1, {"host": "gpu-box", "python": None})
    assert command == "the runner on gpu-box does not report how to repeat a case: ask its operator"
    assert "portolan-runner" not in repeat_command("torch", "npu", "x/y", 1, {"host": "gpu-box", "python": None})
    assert "the runner does not report how" in repeat_command("node", "cpu", "x/y", 1, None)


def test_outcomes_that_are_older_than_the_word_are_repeated_as_before() -> None:
    older = {"host": "gpu-box", "python": "3.11.7"}
    assert repeat_command("torch", "xla", "torch.sum/one two", 1, older) == (
        "portolan-runner run torch xla 'torch.sum/one two'"
    )
    assert repeat_command("jax", "cpu", "jax.jit/x", 2, older) == "portolan-runner run jax cpu jax.jit/x --run 2"


@pytest.mark.parametrize(
    "repeat", ["node main.js", "run {case}\nrm -rf /", "run {case}\x1b[2J", "x" * 1_000 + "{case}"]
)
def test_what_names_no_case_or_is_more_than_a_line_is_refused(repeat: str) -> None:
    with pytest.raises(ValidationError):
        Fingerprint.model_validate(HERE | {"repeat": repeat})
