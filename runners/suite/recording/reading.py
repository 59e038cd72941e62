"""Reads a recording as the functions of a suite. A recording is data: it only calls functions by their public names.

The framework's interpreter reads it, so this module cannot use the models of ``protocol/recording.py``. The fields have
the same names as there.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from protocol.recording_format import FORMAT, GRADIENT_SUFFIX, TYPE
from runners.errors import SuiteError
from runners.suite.cases import Case, Function, Inputs
from runners.suite.recording.arrays import RecordedArray, slot_dtype

_MAKE = "portolan-runner record"


@dataclass(frozen=True)
class RecordedArguments:
    """Makes the input arrays of a recorded call."""

    arrays: tuple[RecordedArray, ...]

    def __call__(self, inputs: Inputs) -> Sequence[Any]:
        return [array.made(inputs) for array in self.arrays]


@dataclass(frozen=True)
class RecordedCall:
    """A recorded call from which one case is made: the call alone, or with its backward pass (``is_gradient``)."""

    function: str
    name: str
    dtype: str
    written: str
    """The call in the JSON form of frozen cases (``frozen.py``)."""
    arrays: tuple[RecordedArray, ...]
    changes: tuple[int, ...]
    is_random: bool
    is_gradient: bool = False

    @property
    def id(self) -> str:
        return f"{self.function}/{self.name}"

    @property
    def is_drawn(self) -> bool:
        """Whether any array gets random values from its range."""
        return any(array.values is None for array in self.arrays)


def functions_of(file: Path, framework: str, case_of: Callable[[RecordedCall], Case]) -> list[Function]:
    """Read the functions of a recording with their cases. Raises ``SuiteError`` with a one-line message."""
    recording = _read(file)
    if recording["framework"] != framework:
        raise SuiteError(f"{file} is a recording of {recording['framework']}: serve it with a runner of that framework")
    functions: dict[str, list[Case]] = defaultdict(list)
    try:
        for call_facts in recording["calls"]:
            for call in _calls(call_facts):
                functions[call.function].append(case_of(call))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise SuiteError(
            f"{file} is not a valid recording ({type(error).__name__}: {error}): it was changed; record it again with "
            f"{_MAKE}"
        ) from error
    return [Function(name, cases=cases) for name, cases in functions.items()]


def _read(file: Path) -> Mapping[str, Any]:
    try:
        recording = json.loads(file.read_bytes())
        is_one = recording["type"] == TYPE and isinstance(recording["format"], int)
    except OSError as error:
        raise SuiteError(f"{file} cannot be read ({error.strerror}): correct its permissions") from error
    except (ValueError, TypeError, KeyError, RecursionError):
        is_one = False
    if not is_one:
        raise SuiteError(f"{file} is not a recording of Portolan: create one with {_MAKE}")
    if recording["format"] > FORMAT:
        raise SuiteError(
            f"{file} has format {recording['format']} (made by portolan {recording.get('portolan')}), and this "
            f"portolan reads formats up to {FORMAT}: upgrade portolan"
        )
    return {"framework": None, "calls": None, **recording}


def _calls(call_facts: Mapping[str, Any]) -> list[RecordedCall]:
    if list(call_facts["call"]) != ["tuple"]:
        # Other keys would say what else to do with the function. A recording may not decide that.
        raise ValueError("a call has more than its arguments")
    call = RecordedCall(
        function=str(call_facts["function"]),
        name=str(call_facts["name"]),
        dtype=str(call_facts["dtype"]),
        written=json.dumps(call_facts["call"], separators=(",", ":")),
        arrays=tuple(map(RecordedArray.read, call_facts["arrays"])),
        changes=tuple(map(int, call_facts["changes"])),
        is_random=bool(call_facts["is_random"]),
    )
    if call_facts["gradient"] is None:
        return [call]
    return [call, _gradient(call, call_facts["call"]["tuple"], call_facts["gradient"])]


def _gradient(call: RecordedCall, parts: Sequence[Any], gradient: Mapping[str, Any]) -> RecordedCall:
    """Add a backward pass to a call: the arrays to differentiate by, and a weight for each result."""
    arrays = list(call.arrays)
    weights: list[Any] = []
    for result in gradient["results"]:
        weights.append(None)
        if result is not None:
            weight = RecordedArray.read(result)
            own = slot_dtype(weight.dtype, call.dtype)
            weights[-1] = {"array": len(arrays), **({} if own is None else {"dtype": own})}
            arrays.append(weight)
    gradient_call = {"tuple": [*parts, list(map(int, gradient["wanted"])), weights], "way": "gradient"}
    return replace(
        call,
        name=f"{call.name}{GRADIENT_SUFFIX}",
        written=json.dumps(gradient_call, separators=(",", ":")),
        arrays=tuple(arrays),
        is_gradient=True,
    )
