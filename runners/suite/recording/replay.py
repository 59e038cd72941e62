"""Replay: a recorded call as a case, judged by the same call on the CPU in float64.

The CPU computes each call twice, in its own dtype and in float64. What these two differ by is the error that the dtype
itself makes on just these values: a sum over thousands of products has more of it than any fixed tolerance allows, and
a device that adds up in another order is not wrong for that.

How a call is made is the framework's own part: a class that implements ``ReplayableCall``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from protocol.enums import FORM_ONLY, GRADIENT, JUDGED_BY, WITH_RECORDED_VALUES, Judge
from protocol.host_only import load_host_only
from runners.errors import UntestedError
from runners.suite.cases import Case, Context
from runners.suite.checks import EXACT, TOLERANCES, Expected, Leaf, Mismatch, Tolerance, compare, leaves
from runners.suite.frozen import as_text, form
from runners.suite.recording import rule
from runners.suite.recording.reading import RecordedArguments, RecordedCall
from runners.suite.sequences import aligned

MARGIN = 10.0
"""How many times the error that the CPU makes in the call's own dtype a device may make."""
_WITH_VALUES = "record with --with-values"
RECORDED = "recorded"
"""The tag of these cases."""
WAY, CHANGES = "way", "changes"
"""The key of a written call that says what is done with the function, where that is not the call itself; and the way
that returns with the result the arrays that the call has changed."""


class ReplayableCall(Protocol):
    """A recorded call that a framework can make."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        """Prepare the call on the device."""

    def on_host(self, function: str, dtype: str, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        """The host copy of what the call returns on the CPU; ``is_wide``: in float64. Raises whatever it raises."""


@dataclass(frozen=True)
class Openness:
    """The part of a function's result that nothing determines."""

    form_only: bool = False
    """Its values: they are random, or right with other signs."""
    first_of_equals: bool = False
    """The place of which of several equal elements it returns."""


def case_of(
    call: RecordedCall, prepare: ReplayableCall, openness: Openness, *, framework: str, recordable: Collection[str]
) -> Case:
    """The case that makes a recorded call. ``recordable``: the functions of this release that the rule lets through."""
    refusal = rule.call_refusal(framework, call.function, json.loads(call.written))
    if refusal is None and call.function not in recordable:
        refusal = f"this release of {framework} has no such function"
    judge = Judge.form if openness.form_only else Judge.float64
    tags = [
        RECORDED,
        f"{JUDGED_BY}{judge}",
        *([FORM_ONLY] if openness.form_only else []),
        *([GRADIENT] if call.is_gradient else []),
        *([] if call.is_drawn else [WITH_RECORDED_VALUES]),
    ]
    return Case(
        id=call.id,
        function=call.function,
        kind="value",
        dtype=call.dtype,
        arguments=RecordedArguments(call.arrays),
        prepare=prepare,
        options={},
        tolerance=TOLERANCES[call.dtype],
        check=AgainstHost(call.function, call.dtype, prepare, openness, call.is_drawn),
        host_only=load_host_only().reason(call.function),
        looked_up=call.function,
        # Of a function that may not be called not even its module is imported.
        given=None if refusal is None else _nothing,
        not_applicable=None if refusal is None else _Refused(refusal),
        in_place=call.changes or False,
        unrepeatable="it changes its input" if call.changes else None,
        tags=("value", call.dtype, *tags),
    )


def _nothing(*_: Any, **__: Any) -> None:
    """Stands for a function that is not looked up."""


@dataclass(frozen=True)
class _Refused:
    """Says why a function is not called."""

    reason: str

    def __call__(self, context: Context) -> str:
        return f"a recording may not make this call: {self.reason}"


def arrays_in(tree: Any, kinds: Any) -> Iterator[Any]:
    """Every array of a tree of lists, tuples and mappings, in the order in which they are recorded."""
    if isinstance(tree, kinds):
        yield tree
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from arrays_in(member, kinds)
    elif isinstance(tree, (list, tuple)):
        for member in tree:
            yield from arrays_in(member, kinds)


def changed(tree: Any, change: Callable[[Any], Any], kinds: Any) -> Any:
    """The tree with a change of each member of these kinds. Named tuples, which hold no arrays, stay as they are."""
    if isinstance(tree, kinds):
        return change(tree)
    if isinstance(tree, Mapping):
        return {key: changed(member, change, kinds) for key, member in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(changed(member, change, kinds) for member in tree)
    return tree


def with_changes(call: RecordedCall) -> str:
    """The written call, which returns what it changes if it changes anything."""
    if not call.changes or call.is_gradient:
        return call.written
    written = json.loads(call.written)
    return json.dumps({"tuple": [*written["tuple"], list(call.changes)], WAY: CHANGES}, separators=(",", ":"))


@dataclass(frozen=True)
class AgainstHost:
    """Checks a result by the same call on the CPU."""

    function: str
    dtype: str
    call: ReplayableCall
    openness: Openness
    is_drawn: bool
    """Whether values are drawn, which may not be fit for the call."""

    def __call__(self, observed: Any, *arrays: Any, **options: Any) -> None:
        near = self._on_host(arrays, is_wide=False)
        if form(observed) != form(near):
            raise Mismatch(f"expected the form {as_text(form(near))}, got {as_text(form(observed))}")
        if self.openness.form_only:
            return
        if self.is_drawn and _is_refused(near):
            raise UntestedError(f"with values drawn from their range the CPU gives no number; {_WITH_VALUES}")
        try:
            exact = self._on_host(arrays, is_wide=True)
        except UntestedError:
            # It has no float64, as some functions of quantized or half numbers have none.
            exact = near
        if [leaf.values.shape for leaf in leaves(exact)] != [leaf.values.shape for leaf in leaves(near)]:
            exact = near
        has_equals = self.openness.first_of_equals and any(np.unique(array).size < array.size for array in arrays)
        pairs = aligned(leaves(near), leaves(exact))
        for leaf, (own, wide) in aligned(leaves(observed), pairs):
            if _is_determined(own, wide, has_equals=has_equals):
                expected, tolerance = _expected(own, wide)
                compare(leaf, Expected(expected, own.dtype), own.dtype, tolerance, arrays)

    def _on_host(self, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        """The result on the CPU. Raises ``UntestedError`` if the call raises there."""
        try:
            return self.call.on_host(self.function, self.dtype, arrays, is_wide=is_wide)
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            raise UntestedError(
                f"with values drawn from their range it raises on the CPU too ({type(error).__name__}: {text[:200]}); "
                f"{_WITH_VALUES}"
            ) from error


def _is_refused(result: Any) -> bool:
    """Whether a result says that its input is none, as some frameworks do in place of an error: a decomposition of a
    matrix that has none is of NaNs, and of zeros where it is zero for any matrix."""
    numbers = [leaf.values for leaf in leaves(result) if leaf.values.dtype.kind in "fc"]
    is_finite = [np.isfinite(values) for values in numbers]
    return not all(map(np.all, is_finite)) and not any(
        (values[finite] != 0).any() for values, finite in aligned(numbers, is_finite)
    )


def _is_determined(own: Leaf, wide: Leaf, *, has_equals: bool) -> bool:
    """Whether these values alone are right: not whole numbers that rounding or the choice among equals decides."""
    if own.values.dtype.kind in "fc":
        return True
    return not has_equals and bool(np.array_equal(own.values, wide.values))


def _expected(own: Leaf, wide: Leaf) -> tuple[Any, Tolerance]:
    """The values in float64, and how far off a device may be. What the dtype cannot hold is as the CPU has it."""
    base = TOLERANCES.get(own.dtype, EXACT)
    if own.values.dtype.kind not in "fc":
        return own.values, base
    is_finite = np.isfinite(own.values) & np.isfinite(wide.values)
    error = np.abs(np.where(is_finite, own.values, 0) - np.where(is_finite, wide.values, 0))
    expected = np.where(is_finite, wide.values, own.values)
    return expected, Tolerance(base.relative, base.absolute + MARGIN * float(error.max(initial=0.0)))
