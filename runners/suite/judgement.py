"""Judges a case: its first result, a later result, and whether the call changed its inputs.

All code here decides results, so it is part of the digest of every case (``revision.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from runners.errors import OtherLineError
from runners.suite.cases import Case, TakenApart
from runners.suite.checks import Leaf, Mismatch, compare
from runners.suite.precision import NARROWER
from runners.suite.rounding import rounded

Fresh = Callable[[], Sequence[Any]]
"""Makes new host arguments of a case, because their last user may have changed them."""
LATER = "right at first, wrong at a later call"
"""The beginning of the evidence if the first result was right."""
_PLAIN = (bool, int, float, complex, str, bytes)


def judge(case: Case, observed: Any, expected: Any, fresh: Fresh) -> None:
    """Raise ``Mismatch`` unless the host copy of a result is right.

    Raises ``OtherLineError`` if the function's own values in an example are right, but those of another line are not.
    """
    take_apart: Callable[[Case, Any, Any], TakenApart] | None = getattr(case.prepare, "take_apart", None)
    if take_apart is None:
        _judge(case, observed, expected, fresh)
        return
    apart = take_apart(case, observed, expected)
    _judge(*apart.own, fresh)
    if apart.ended is not None:
        raise OtherLineError(apart.ended)
    try:
        _judge(*apart.others, fresh)
    except Mismatch as wrong:
        raise OtherLineError(
            f"a line of the example that does not use the function gave a wrong value: {wrong}"
        ) from wrong


def _judge(case: Case, observed: Any, expected: Any, fresh: Fresh) -> None:
    if case.check is None:
        _compare(case, observed, expected, fresh())
        return
    try:
        case.check(observed, *fresh(), **case.options)
    except Mismatch:
        raise
    except AssertionError as error:
        raise Mismatch(str(error) or "an assertion of the check does not hold") from error


def _compare(case: Case, observed: Any, expected: Any, inputs: Sequence[Any]) -> None:
    try:
        compare(observed, expected, case.dtype, case.tolerance, inputs)
    except Mismatch as wrong:
        if wrong.right_at is None and _is_right_of_rounded(case, observed, inputs):
            raise Mismatch(str(wrong), NARROWER[case.dtype]) from None
        raise


def _is_right_of_rounded(case: Case, observed: Any, inputs: Sequence[Any]) -> bool:
    """Whether the result is right for inputs that are rounded to the next narrower type, at the case's own tolerance.

    The matrix units of some accelerators round their inputs, multiply, and add in the type that the caller requested.
    """
    narrower, reference = NARROWER.get(case.dtype), case.reference
    if narrower is None or reference is None:
        return False
    try:
        expected = reference(*rounded(list(inputs), narrower), **case.options)
        compare(observed, expected, case.dtype, case.tolerance)
    except Exception:  # wrong there as well, or a reference that takes no such values
        return False
    return True


def judge_later(case: Case, observed: Any, expected: Any, fresh: Fresh) -> None:
    """Raise ``Mismatch`` unless the result of a later call is right, too."""
    try:
        judge(case, observed, expected, fresh)
    except Mismatch as error:
        raise Mismatch(f"{LATER}: {error}", error.right_at) from error


def judge_inputs(case: Case, after: Sequence[Any], given: Sequence[Any]) -> None:
    """Raise ``Mismatch`` if the call changed an argument that it may not change.

    ``given`` and ``after`` are host copies of the arguments before and after the call.
    """
    found = [
        difference
        for position, (one, other) in enumerate(zip(after, given))
        if not case.may_change(position)
        for difference in _differences(one, other, f"argument {position}")
    ]
    if found:
        raise Mismatch(f"the call changed its input: {'; '.join(found[:4])}")


def _differences(after: Any, given: Any, path: str) -> Iterator[str]:
    """Describe each difference between two trees. Only arrays, numbers and texts are compared."""
    if isinstance(given, Leaf):
        yield from _changed_values(after, given, path)
    elif isinstance(given, Mapping):
        if set(after) != set(given):
            yield f"{path}: its keys were {sorted(given)} and are {sorted(after)}"
            return
        for key in given:
            yield from _differences(after[key], given[key], f"{path}[{key!r}]")
    elif isinstance(given, (list, tuple)):
        if len(after) != len(given):
            yield f"{path}: it had {len(given)} members and has {len(after)}"
            return
        for index, (one, other) in enumerate(zip(after, given)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif isinstance(given, _PLAIN) and given == given and after != given:
        yield f"{path}: it was {given!r} and is {after!r}"


def _changed_values(after: Any, given: Leaf, path: str) -> Iterator[str]:
    if not isinstance(after, Leaf):
        yield f"{path}: it is no array any more"
    elif (after.values.shape, after.dtype) != (given.values.shape, given.dtype):
        was, now = (f"{leaf.dtype} {leaf.values.shape}" for leaf in (given, after))
        yield f"{path}: it was {was} and is {now}"
    else:
        one, other = after.values, given.values
        changed = ~((one == other) | ((one != one) & (other != other)))
        if changed.any():
            yield f"{path}: {int(changed.sum())} of {changed.size} values are not as they were given"
