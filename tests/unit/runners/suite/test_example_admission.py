"""Admission: bad examples, each run in processes of its own, are left out with their reason; good ones become cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from freezing.common import admission
from freezing.common.admission import ExampleDecision, LeftOpen, admit
from freezing.common.docstrings import read
from freezing.common.observation import Conditions, ObservationFile, Unit, observe
from freezing.common.parts import ENDED, NEVER_ENDS, drawn_apart
from runners.suite.frozen import Pack, PackWriter
from tests.unit.runners.suite.toy_examples import ToyDialect, device

LEFT_OPEN = LeftOpen(frozenset({"eig"}))


def admit_docstring(folder: Path, text: str, *names: str, limit_s: int = 30) -> ExampleDecision:
    """What becomes of a docstring by two runs, each in a process of its own."""
    unit = Unit(names or ("toy.double",), read(text))
    observations: list[ObservationFile] = []
    for number, seeds in enumerate(((0,), (1, 2, 3))):
        without = frozenset(observations[0].dropped) if observations and not observations[0].ended else frozenset[int]()
        conditions = Conditions(seeds, without)
        path, room = folder / f"{number}.npz", folder / f"room-{number}"
        room.mkdir()
        draw = partial(observe, unit, device(), ToyDialect(), conditions, str(room))
        drawn_apart(unit.names[0], path, draw, limit_s=limit_s)
        observations.append(ObservationFile(Pack(path)))
    return admit(unit, observations[0], observations[1], LEFT_OPEN, PackWriter())


def reasons(decision: ExampleDecision) -> set[str]:
    return {reason for _, _, reason, _ in decision.left_out}


def labels(case: dict[str, Any] | None) -> list[str]:
    assert case is not None
    wanted_labels: list[str] = json.loads(case["call"])["wanted"]
    return wanted_labels


def test_a_value_that_is_the_same_twice_is_compared(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> a = toy.double(2)\n>>> a\n4.0\n")
    assert decision.case is not None
    assert decision.case["kind"] == "value"
    assert decision.case["result"] == '{"mapping":[["2",4.0],["a",4.0]]}'
    assert decision.case["tags"] == ["judged-by-itself", admission.AS_DOCUMENTED]
    assert decision.left_out == []


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("import time; t = time.time_ns()", "a value that differs from run to run"),
        ("toy.draw()", "a value that differs from run to run"),
        ("import random; r = random.random()", "a value that differs from run to run"),
        ("object()", "a value without a written form"),
        ("toy.eig(1.0)", "a value that is not the only right one"),
        ("toy.double(3)\n7.5", "a value that is not what the docstring prints"),
        ("undefined", "a statement that raises on the CPU"),
        ("open('/tmp/portolan-toy', 'w')", "a statement that opens files"),
        ("import socket; socket.socket()", "a statement that opens sockets"),
        ("import os; os.fork()", "a statement that starts or signals processes"),
        ("import subprocess; subprocess.run(['true'])", "a statement that starts or signals processes"),
        ("import matplotlib", "a statement that plots"),
        ("exit()", "a statement that exits"),
        ("input()", "a statement that asks for input"),
        ("python train.py --fast", "a statement that is not Python"),
    ],
)
def test_a_bad_statement_costs_itself(tmp_path: Path, statement: str, reason: str) -> None:
    decision = admit_docstring(tmp_path, f">>> {statement}\n\n>>> a = toy.double(2)\n")
    assert decision.case is not None
    assert decision.case["kind"] == "value"
    assert "a" in labels(decision.case)
    assert reasons(decision) == {reason}


def test_an_address_differs_from_interpreter_to_interpreter(tmp_path: Path) -> None:
    """As does the order of a set of texts: two forked processes have both in common."""
    text = ">>> id(toy)\n>>> list({'a', 'b', 'c', 'd'}).index('a') + hash('a')\n>>> toy.double(2)\n"
    unit = Unit(("toy.double",), read(text))
    observations = []
    for number in (1, 2):
        path, room = tmp_path / f"{number}.npz", tmp_path / f"room-{number}"
        room.mkdir()
        program = (
            "from pathlib import Path; from freezing.common.docstrings import read; "
            "from freezing.common.observation import Conditions, Unit, observe; "
            "from tests.unit.runners.suite.toy_examples import ToyDialect, device; "
            f"unit = Unit(('toy.double',), read({text!r})); "
            f"observe(unit, device(), ToyDialect(), Conditions(({number},)), {str(room)!r}, Path({str(path)!r}))"
        )
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        observations.append(ObservationFile(Pack(path)))
    case = admit(unit, observations[0], observations[1], LEFT_OPEN, PackWriter()).case
    assert labels(case) == ["3"]


def test_a_seed_that_the_example_gives_makes_no_value_comparable(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> toy.manual_seed(3)\n>>> toy.draw()\n0.2\n", "toy.draw")
    assert decision.case is not None
    assert (decision.case["kind"], decision.case["tags"]) == ("behaviour", ["form-only", admission.RANDOM])
    assert decision.case["result"] == '{"mapping":[["2","float"]]}'


def test_what_gives_nothing_to_compare_merely_runs(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> a = 1\n>>> f = lambda: toy.double(1)\n>>> s = str(toy.double(2))\n")
    assert decision.case is not None
    assert decision.case["kind"] == "behaviour"


def test_what_is_the_same_by_chance_is_not_compared_but_for_sizes(tmp_path: Path) -> None:
    text = ">>> a = [toy.draw(), toy.draw()]\n>>> a[0] < 2\nTrue\n>>> len(a)\n2\n"
    decision = admit_docstring(tmp_path, text, "toy.draw")
    assert labels(decision.case) == ["3"]
    assert "a value that may be the same by chance" in reasons(decision)


def test_constants_beside_a_call_make_no_value_case(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> a = 1\n>>> toy.manual_seed(1)\n>>> toy.draw()\n", "toy.draw")
    assert decision.case is not None
    assert (decision.case["kind"], labels(decision.case)) == ("behaviour", ["3", "a"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (">>> toy.double(1)\n>>> while True: pass\n", NEVER_ENDS),
        (">>> toy.double(1)\n>>> import os; os._exit(0)\n", ENDED),
        (">>> toy.double(1)\n>>> import faulthandler, os; faulthandler.disable(); os.abort()\n", ENDED),
        (">>> toy.double(1)\n>>> toy.break_scale()\n", "leaves settings of the process changed"),
        (">>> undefined\n", admission.NOTHING_RUNS),
        (">>> 1 + 1\n2\n", admission.NOT_USED),
    ],
)
def test_a_bad_example_is_left_out_as_a_whole(tmp_path: Path, text: str, reason: str) -> None:
    decision = admit_docstring(tmp_path, text, limit_s=2)
    assert decision.case is None
    assert reason in reasons(decision)


def test_a_file_of_compiled_code_in_the_folder_for_temporary_ones_is_found(tmp_path: Path) -> None:
    """Also where Python has looked up that folder before the example's process was forked."""
    tempfile.gettempdir()
    text = ">>> toy.double(1)\n>>> toy.write_unheard()\n"
    assert "opens files" in reasons(admit_docstring(tmp_path, text))


def test_an_example_that_turns_a_setting_which_is_put_back_is_a_case(tmp_path: Path) -> None:
    decision = admit_docstring(
        tmp_path, ">>> toy.set_scale(2.0)\n>>> toy.double(1)\n4.0\n", "toy.set_scale", "toy.double"
    )
    assert decision.case is not None
    assert decision.left_out == [("toy.double", "", admission.SAME_EXAMPLE, "toy.set_scale")]


def test_an_example_is_charted_for_the_first_function_that_it_uses(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> toy.double(1)\n2.0\n", "toy.gone", "toy.double")
    assert decision.case is not None
    assert decision.case["function"] == "toy.double"
    assert decision.left_out == [("toy.gone", "", admission.SAME_EXAMPLE, "toy.double")]


def test_an_example_that_asks_for_the_cpu_is_left_out(tmp_path: Path) -> None:
    decision = admit_docstring(tmp_path, ">>> a = toy.double(2)\n>>> str('cpu')\n>>> a\n4.0\n")
    assert decision.case is None
    assert reasons(decision) == {admission.ASKS_FOR_CPU}
