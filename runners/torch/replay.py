"""Replay on torch: a recorded call as a case, judged by the same call on the CPU in float64.

The CPU computes each call twice, in its own dtype and in float64. What these two differ by is the error that the dtype
itself makes on just these values: a sum over thousands of products has more of it than any fixed tolerance allows, and
a device that adds up in another order is not wrong for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol.enums import FORM_ONLY, GRADIENT, JUDGED_BY, Judge
from protocol.host_only import declared
from runners.errors import UntestedError
from runners.suite.cases import Case, Context
from runners.suite.checks import EXACT, TOLERANCES, Expected, Leaf, Mismatch, Tolerance, compare, leaves
from runners.suite.frozen import Named, as_text, decode, form
from runners.suite.recording.reading import RecordedArguments, RecordedCall
from runners.suite.sequences import aligned
from runners.torch.devices import Cpu
from runners.torch.frozen import WAY, FrozenCall, resolved
from runners.torch.layouts import laid_out
from runners.torch.left_open import FIRST_OF_EQUALS, NOT_UNIQUE, UNINITIALISED
from runners.torch.recordable import recordable_names
from runners.torch.ways import WAYS, Way, tensors_in
from runners.torch.widening import widened

MARGIN = 10.0
"""How many times the error that the CPU makes in the call's own dtype a device may make."""
RECORDED = "recorded"
"""The tag of these cases."""
CHANGES = "changes"


def case_of(call: RecordedCall) -> Case:
    """The case that makes a recorded call."""
    last = call.function.rpartition(".")[2].rstrip("_")
    is_open = call.is_random or last in NOT_UNIQUE | UNINITIALISED
    judge = Judge.form if is_open else Judge.float64
    tags = [
        RECORDED,
        f"{JUDGED_BY}{judge}",
        *([FORM_ONLY] if is_open else []),
        *([GRADIENT] if call.is_gradient else []),
    ]
    prepare = ReplayedCall(_with_changes(call))
    is_known = call.function in recordable_names()
    return Case(
        id=call.id,
        function=call.function,
        kind="value",
        dtype=call.dtype,
        arguments=RecordedArguments(call.arrays),
        prepare=prepare,
        options={},
        tolerance=TOLERANCES[call.dtype],
        check=AgainstHost(call.function, call.dtype, prepare, is_open, last in FIRST_OF_EQUALS),
        host_only=declared().reason(call.function),
        looked_up=call.function,
        # Of another name not even its module is imported.
        given=None if is_known else _nothing,
        not_applicable=None if is_known else _unknown,
        in_place=call.changes or False,
        unrepeatable="it changes its input" if call.changes else None,
        tags=("value", call.dtype, *tags),
    )


def _nothing(*_: Any, **__: Any) -> None:
    """Stands for a function that is not looked up."""


def _unknown(context: Context) -> str:
    return "this release of torch has no such function that a recording may call"


def changes(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], places: Sequence[int]
) -> Callable[[], Any]:
    """The call, which returns with its result the arrays that it has changed, by their numbers among all arrays."""
    given = list({id(tensor): tensor for tensor in tensors_in((arguments, options))}.values())

    def call() -> Any:
        return [function(*arguments, **options), [given[place] for place in places]]

    return call


@dataclass(frozen=True)
class ReplayedCall(FrozenCall):
    """Prepares a recorded call. An array that the program gave twice is one here too."""

    @property
    def way(self) -> Way:
        return {**WAYS, CHANGES: changes}[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any], device: Any) -> Any:
        made: dict[int, Any] = {}

        def leaf(slot: Any) -> Any:
            if slot.number not in made:
                made[slot.number] = laid_out(arrays[slot.number], slot.dtype, slot.strides)
            return made[slot.number]

        def named(value: Named) -> Any:
            found = resolved(value, device)
            if callable(found):
                raise UntestedError(f"a recording names no function among arguments, as this one does: {value.name}")
            return found

        return decode(json.loads(self.written), leaf, named)


@dataclass(frozen=True)
class AgainstHost:
    """Checks a result by the same call on the CPU."""

    function: str
    dtype: str
    call: ReplayedCall
    is_open: bool
    """Whether nothing determines the values."""
    first_of_equals: bool
    """Whether it may return the place of any of several equal elements."""

    def __call__(self, observed: Any, *arrays: Any, **options: Any) -> None:
        near = self._on_host(arrays, lambda parts: parts)
        if form(observed) != form(near):
            raise Mismatch(f"expected the form {as_text(form(near))}, got {as_text(form(observed))}")
        if self.is_open:
            return
        try:
            exact = self._on_host(arrays, widened)
        except UntestedError:
            # It has no float64, as some functions of quantized or half numbers have none.
            exact = near
        if [leaf.values.shape for leaf in leaves(exact)] != [leaf.values.shape for leaf in leaves(near)]:
            exact = near
        has_equals = self.first_of_equals and any(np.unique(array).size < array.size for array in arrays)
        pairs = aligned(leaves(near), leaves(exact))
        for leaf, (own, wide) in aligned(leaves(observed), pairs):
            if _is_determined(own, wide, has_equals=has_equals):
                expected, tolerance = _expected(own, wide)
                compare(leaf, Expected(expected, own.dtype), own.dtype, tolerance, arrays)

    def _on_host(self, arrays: Sequence[Any], change: Callable[[Any], Any]) -> Any:
        """The result on the CPU. Raises ``UntestedError`` if the call raises there."""
        host = Cpu()
        try:
            parts = change(self.call.parts(host.to_device(list(arrays), self.dtype), host.handle))
            return host.to_host(self.call.way(host.lookup(self.function), *parts)())
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            raise UntestedError(
                f"with values drawn from their range it raises on the CPU too ({type(error).__name__}: {text[:200]}); "
                "record with --with-values"
            ) from error


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


def _with_changes(call: RecordedCall) -> str:
    """The written call, which returns what it changes if it changes anything."""
    if not call.changes or call.is_gradient:
        return call.written
    written = json.loads(call.written)
    return json.dumps({"tuple": [*written["tuple"], list(call.changes)], WAY: CHANGES}, separators=(",", ":"))
