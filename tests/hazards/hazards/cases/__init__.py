"""One function for each hazard. ``add`` and ``subtract`` work correctly."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Function

NOTE = os.environ.get("HAZARDS_NOTE", "/dev/null")
"""The file to which functions that leave processes behind write the process ids."""
FILES = f"{NOTE}.files"
"""The file to which functions that leave temporary files behind write the paths."""

FUNCTIONS: list[Function] = []


def _function(name: str, *arguments: Any, count: int = 1) -> None:
    function = Function(f"hazards.{name}")
    for number in range(count):
        function.behaviour(f"{number}", lambda inputs: list(arguments), _returns)
    FUNCTIONS.append(function)


def _returns(observed: Any, *arguments: Any) -> None:
    """A check that accepts every returned value."""


add = Function("hazards.add", reference=np.add)
for number in range(3):
    add.value(f"{number}", lambda inputs: [inputs.normal(4), inputs.normal(4)], dtype="float64")
add.value("wrong", lambda inputs: [inputs.normal(4), inputs.normal(4)], dtype="float64", reference=np.subtract)
FUNCTIONS.append(add)

subtract = Function("hazards.subtract", reference=np.subtract)
subtract.value("0", lambda inputs: [inputs.normal(4), inputs.normal(4)], dtype="float64")
FUNCTIONS.append(subtract)

not_a_number = Function("hazards.not_a_number", reference=lambda: np.zeros(3))
not_a_number.value("0", lambda inputs: [], dtype="float64")
FUNCTIONS.append(not_a_number)

missing = Function("hazards.gone", reference=np.add)
missing.value("0", lambda inputs: [])
FUNCTIONS.append(missing)

_function("process_id", NOTE, count=4)
_function("nap", 0.2)
_function("fail", "on purpose")
fail_then = Function("hazards.fail_then")
for worse in ("kill_itself", "hang", "close_descriptors"):
    fail_then.behaviour(worse, partial(lambda worse, inputs: [worse], worse), _returns)
FUNCTIONS.append(fail_then)
_function("fail_with_odd_text")
_function("fail_with_base_exception")
_function("leave_by_sys_exit")
_function("leave_by_os_exit", 0)
_function("hang", count=3)
_function("hang_holding_the_gil")
_function("hang_ignoring_signals")
_function("stop_itself")
_function("segfault")
_function("kill_itself")
_function("kill_parent")
_function("eat_memory")
_function("leave_files", FILES)
_function("leave_files_and_die", FILES)
_function("fill_disk")
_function("leave_children", NOTE)
_function("leave_children_and_hang", NOTE)
_function("fork_many", NOTE)
_function("print_everywhere")
_function("close_descriptors")
_function("replace_descriptors", "/dev/null")

one_of = Function("hazards.one_of")
for name, arguments in {
    "one": ["say", "one"],
    "two": ["say", "two"],
    "three": ["say", "three"],
    "process": ["process_id", NOTE],
    "nap": ["nap", 0.2],
    "segfault": ["segfault"],
    "hang": ["hang"],
    "children": ["leave_children", NOTE],
    "channel": ["close_descriptors"],
    "memory": ["eat_memory"],
    "fail": ["fail", "on purpose"],
    "leave": ["leave_behind"],
    "stumble": ["stumble"],
    "stumble-and-die": ["stumble_and_die"],
    "stumble-or-fail": ["stumble_or_fail"],
    "stumble-late": ["stumble_late", NOTE],
    "measure-nan": ["measure", [1.0, float("nan")], 1.0],
    "measure-infinite": ["measure", [1.0], float("inf")],
    "measure-negative": ["measure", [-1.0], 1.0],
    "measure-huge": ["measure", [1e300], 1.0],
    "end-infinite": ["end_at", float("inf")],
    "freeze-nan": ["freeze", float("nan")],
    "freeze-past": ["freeze", -1e300],
    "freeze-future": ["freeze", 1e300],
}.items():
    one_of.behaviour(name, lambda inputs, arguments=arguments: list(arguments), _returns)
FUNCTIONS.append(one_of)

other_of = Function("hazards.other_of")
for name, arguments in {
    "one": ["say", "one"],
    "process": ["process_id", NOTE],
    "hang": ["hang"],
    "fail": ["fail", "on purpose"],
    "stumble": ["stumble"],
    "stumble-and-die": ["stumble_and_die"],
    "stumble-and-hang": ["stumble_and_hang"],
}.items():
    other_of.behaviour(name, lambda inputs, arguments=arguments: list(arguments), _returns)
FUNCTIONS.append(other_of)

hold_memory = Function("hazards.hold_memory")
hold_memory.behaviour("400MB", lambda inputs: [400 << 20], _returns)
FUNCTIONS.append(hold_memory)

print_much = Function("hazards.print_much")
print_much.behaviour("10MB", lambda inputs: [10 << 20], _returns)
print_much.behaviour("1GB", lambda inputs: [1 << 30], _returns)
FUNCTIONS.append(print_much)

report = Function("hazards.report")
REPORT = '{"type": "finished", "at": 1.0, "outcome": {"verdict": "passed", "ending": "returned", %s}}'
for name, line in {
    "nan": REPORT % '"duration_s": NaN',
    "infinite": REPORT % '"duration_s": 1e999',
    "negative": REPORT % '"duration_s": -1',
    "nul": REPORT % '"duration_s": 0, "log_tail": "a\\u0000b"',
    "nothing": '{"type": "finished"}',
    "tomorrow": '{"type": "begun", "at": 1e300}',
}.items():
    report.behaviour(name, lambda inputs, line=line: [line], _returns)
FUNCTIONS.append(report)
