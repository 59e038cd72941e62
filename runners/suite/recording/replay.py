"""Replay: makes a case from a recorded call and judges it by the same call on the CPU in float64.

The CPU computes each call twice, in the call's own dtype and in float64. The difference between the two results is the
error of the dtype for these values. A sum over thousands of products may have a larger error than any fixed tolerance
allows, and a device that adds in another order is not wrong.

Each framework has a class that makes the calls, which implements ``ReplayableCall``.
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
"""A device may make this many times the error that the CPU makes in the call's own dtype."""
_WITH_VALUES = "record with --with-values"
RECORDED = "recorded"
"""The tag of these cases."""
WAY, CHANGES = "way", "changes"
"""``WAY`` is the key of a written call that does more than call the function. Its value ``CHANGES`` means that the
result also has the arrays that the call changed."""


class ReplayableCall(Protocol):
    """A recorded call that a framework can make."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        """Prepare the call on the device."""

    def on_host(self, function: str, dtype: str, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        """Make the call on the CPU (with ``is_wide`` in float64) and return a host copy of the result.

        Raises the call's own errors.
        """


@dataclass(frozen=True)
class Openness:
    """The part of a function's result that the inputs do not determine."""

    form_only: bool = False
    """Whether the values are not determined: they are random, or also right with other signs."""
    first_of_equals: bool = False
    """Whether the result has the index of any one of several equal elements."""


def case_of(
    call: RecordedCall, prepare: ReplayableCall, openness: Openness, *, framework: str, recordable: Collection[str]
) -> Case:
    """Make a case from a recorded call. ``recordable`` are the functions of this release that the rule allows."""
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
        # If the function may not be called, even its module must not be imported.
        given=None if refusal is None else _nothing,
        not_applicable=None if refusal is None else _Refused(refusal),
        in_place=call.changes or False,
        unrepeatable="it changes its input" if call.changes else None,
        tags=("value", call.dtype, *tags),
    )


def _nothing(*_: Any, **__: Any) -> None:
    """Take the place of a function that must not be looked up."""


@dataclass(frozen=True)
class _Refused:
    """Returns the reason why a call must not be made."""

    reason: str

    def __call__(self, context: Context) -> str:
        return f"a recording may not make this call: {self.reason}"


def arrays_in(tree: Any, kinds: Any) -> Iterator[Any]:
    """Yield every array of a tree of lists, tuples and mappings, in the order of the recording."""
    if isinstance(tree, kinds):
        yield tree
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from arrays_in(member, kinds)
    elif isinstance(tree, (list, tuple)):
        for member in tree:
            yield from arrays_in(member, kinds)


def changed(tree: Any, change: Callable[[Any], Any], kinds: Any) -> Any:
    """Copy a tree and apply ``change`` to each member of these types. Named tuples stay: they hold no arrays."""
    if isinstance(tree, kinds):
        return change(tree)
    if isinstance(tree, Mapping):
        return {key: changed(member, change, kinds) for key, member in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(changed(member, change, kinds) for member in tree)
    return tree


def with_changes(call: RecordedCall) -> str:
    """Return the written call. If it changes arrays, it also returns them."""
    if not call.changes or call.is_gradient:
        return call.written
    written = json.loads(call.written)
    return json.dumps({"tuple": [*written["tuple"], list(call.changes)], WAY: CHANGES}, separators=(",", ":"))


@dataclass(frozen=True)
class AgainstHost:
    """Compares a result with the result of the same call on the CPU."""

    function: str
    dtype: str
    call: ReplayableCall
    openness: Openness
    is_drawn: bool
    """Whether arrays have random values, which may be invalid for the call."""

    def __call__(self, observed: Any, *arrays: Any, **options: Any) -> None:
        near = self._on_host(arrays, is_wide=False)
        if form(observed) != form(near):
            raise Mismatch(f"expected the form {as_text(form(near))}, got {as_text(form(observed))}")
        if self.openness.form_only:
            return
        if self.is_drawn and _is_refused(near):
            raise UntestedError(f"with values drawn from the recorded range, the CPU returns no number; {_WITH_VALUES}")
        try:
            exact = self._on_host(arrays, is_wide=True)
        except UntestedError:
            # Some functions of quantized or 16-bit numbers do not support float64.
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
        """Return the result on the CPU. Raises ``UntestedError`` if the call raises there."""
        try:
            return self.call.on_host(self.function, self.dtype, arrays, is_wide=is_wide)
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            raise UntestedError(
                "the call also raises on the CPU, with values drawn from the recorded range "
                f"({type(error).__name__}: {text[:200]}); {_WITH_VALUES}"
            ) from error


def _is_refused(result: Any) -> bool:
    """Whether a result means that the input is invalid: it has NaN or infinity, and no finite number except zero.

    Some frameworks return this instead of an error. For example, the decomposition of a matrix that cannot be
    decomposed has NaNs, and zeros where the decomposition of any matrix has zeros.
    """
    numbers = [leaf.values for leaf in leaves(result) if leaf.values.dtype.kind in "fc"]
    is_finite = [np.isfinite(values) for values in numbers]
    return not all(map(np.all, is_finite)) and not any(
        (values[finite] != 0).any() for values, finite in aligned(numbers, is_finite)
    )


def _is_determined(own: Leaf, wide: Leaf, *, has_equals: bool) -> bool:
    """Whether no other values are right. Whole numbers may depend on rounding or on a choice among equal elements."""
    if own.values.dtype.kind in "fc":
        return True
    return not has_equals and bool(np.array_equal(own.values, wide.values))


def _expected(own: Leaf, wide: Leaf) -> tuple[Any, Tolerance]:
    """Return the values in float64 and the tolerance. Where a value is not finite, take the CPU's in its own dtype."""
    base = TOLERANCES.get(own.dtype, EXACT)
    if own.values.dtype.kind not in "fc":
        return own.values, base
    is_finite = np.isfinite(own.values) & np.isfinite(wide.values)
    error = np.abs(np.where(is_finite, own.values, 0) - np.where(is_finite, wide.values, 0))
    expected = np.where(is_finite, wide.values, own.values)
    return expected, Tolerance(base.relative, base.absolute + MARGIN * float(error.max(initial=0.0)))
