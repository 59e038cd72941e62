"""Advice: names a dtype, or another value of one keyword, with which a function's cases pass. Advice is based only on
outcomes. This module does no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from coordinator.assess.evidence import CaseEvidence
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite, calls_of, given_keywords, matching
from protocol.enums import GRADIENT

FEWEST_PASSING = 2
"""The minimum number of passing cases on which advice is based. A finding needs the same number of failing cases."""
MOST_ADVICE = 2


def advice(
    call: CallSite | None,
    cases: Sequence[CaseEvidence],
    usual: Sequence[CaseEvidence],
    is_failing: Callable[[CaseEvidence], bool],
) -> tuple[str, ...]:
    """Clauses about changes with which the call passes, such as ``passes with mode='nearest' (4 of 4 cases)``. Empty if
    there is no such change.

    ``usual`` are the cases with which the call is compared. ``cases`` are all cases of its function.
    """
    sentences = [*(_keywords(call, usual, is_failing) if call else ()), *_dtypes(call, cases, usual, is_failing)]
    return tuple(sentences[:MOST_ADVICE])


def _keywords(
    call: CallSite, usual: Sequence[CaseEvidence], is_failing: Callable[[CaseEvidence], bool]
) -> Iterator[str]:
    """Advice to omit one keyword of the call, or to pass another of its values."""
    for name in sorted(call.keywords):
        if (count := passing(matching(call.without(name), usual), is_failing)) is not None:
            yield f"passes without {name} ({count})"
        for value in _values(name, usual):
            is_other = call.keywords[name] is UNKNOWN_VALUE or call.keywords[name] != value
            count = passing(matching(call.with_keyword(name, value), usual), is_failing)
            if is_other and count is not None:
                yield f"passes with {name}={value!r} ({count})"


def _values(name: str, cases: Iterable[CaseEvidence]) -> list[object]:
    """The values of a keyword in the cases, if they are plain JSON values."""
    values_by_text: dict[str, object] = {}
    for case in cases:
        for call in calls_of(case):
            if name in given_keywords(call) and not isinstance(call.keywords[name], (dict, list)):
                values_by_text.setdefault(repr(call.keywords[name]), call.keywords[name])
    return [values_by_text[text] for text in sorted(values_by_text)]


def _dtypes(
    call: CallSite | None,
    cases: Sequence[CaseEvidence],
    usual: Sequence[CaseEvidence],
    is_failing: Callable[[CaseEvidence], bool],
) -> Iterator[str]:
    """Advice to use a dtype that none of the compared cases has.

    A case counts only if its dtypes are those of a failing case with one dtype replaced. For example, a pass of
    ``x[0]`` in float16 says nothing about ``x[mask]``, whose failing cases also have a bool array.
    """
    plain = [case for case in cases if GRADIENT not in case.tags]
    candidates = (matching(call, plain) if call else []) or plain
    there = frozenset[str]().union(*map(_dtypes_of, usual))
    failing = {_dtypes_of(case) for case in usual if is_failing(case)}
    by_dtype: dict[str, list[CaseEvidence]] = defaultdict(list)
    for case in candidates:
        own = _dtypes_of(case)
        for dtype in own - there:
            if any(len(own) == len(others) and own - {dtype} < others for others in failing):
                by_dtype[dtype].append(case)
    for dtype in sorted(by_dtype):
        if (count := passing(by_dtype[dtype], is_failing)) is not None:
            yield f"passes in {dtype} ({count})"


def _dtypes_of(case: CaseEvidence) -> frozenset[str]:
    return frozenset(case.options.dtypes) if case.options else frozenset()


def passing(cases: Sequence[CaseEvidence], is_failing: Callable[[CaseEvidence], bool]) -> str | None:
    """The number of passing cases in words: ``4 of 4 cases``; None if a case does not pass on the device, or if there
    are too few cases."""
    if len(cases) < FEWEST_PASSING or any(is_failing(case) or case.end in ("failed", "fell_back") for case in cases):
        return None
    return f"{len(cases)} of {len(cases)} cases"
