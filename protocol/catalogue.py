"""The catalogue: the suites and cases that a runner can execute (``GET /v1/catalogue``)."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from protocol.enums import (
    FIRST_USES,
    FORM_ONLY,
    GRADIENT,
    REAL,
    RECOMPILED,
    REFUSES,
    CaseKind,
    InputKind,
    TimedCases,
    TimingPolicy,
)
from protocol.limits import MAX_CASES, MAX_SUITES, NO_NUL, CaseName, Count, Line, Lines, Name
from protocol.model import Message
from protocol.option_limits import MAX_ARGUMENTS, MAX_CALLS, MAX_DTYPES, MAX_KEYWORD, MAX_KEYWORDS, MAX_VALUE

LONGEST = 120
"""The maximum number of characters of an id or a function in a message."""
# The validation of these lists stops at the first fault. A list of one fault for each of millions of empty cases would
# take more memory than the machine has.


def _check_size(value: JsonValue) -> JsonValue:
    text = json.dumps(value, allow_nan=False)
    if len(text) > MAX_VALUE:
        raise ValueError(f"must have at most {MAX_VALUE} characters as JSON")
    if "\\u0000" in text:
        raise ValueError("must not contain NUL")
    return value


Value = Annotated[JsonValue, AfterValidator(_check_size)]
"""The value of a keyword argument. JSON values are given as they are, and anything else as an object:
``{"array": "float32", "shape": [3, 4]}``, ``{"object": "torch.float32"}`` with its public name,
``{"expression": "x.shape[0]"}`` with source text, or ``{"shortened": "[1, 2, 3"}`` with the beginning of a long
value."""


Keyword = Annotated[str, Field(max_length=MAX_KEYWORD, pattern=NO_NUL)]
Position = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,2}$")]


class CallOptions(Message):
    """One call of the function that a case tests."""

    positional: Count
    """The number of positional arguments. For a method, the object itself is not counted."""
    arguments: dict[Position, Value] = Field(default_factory=dict, max_length=MAX_ARGUMENTS)
    """The values of positional arguments by number: ``{"2": [3, 3]}`` for ``pool(x, (3, 3))``. Only plain values are
    given: numbers, strings, booleans, null, and lists of these."""
    keywords: dict[Keyword, Value] = Field(default_factory=dict, max_length=MAX_KEYWORDS)
    receiver: Value = None
    """The object whose method is called; null for a function, or if it is unknown."""


class CaseOptions(Message):
    """A description of how a case calls its function. The description does not decide what the case does, so two
    catalogues of one revision may describe the same case differently."""

    kind: CaseKind | None = None
    """Null if the runner does not report this."""
    dtypes: list[Name] = Field(default_factory=list, max_length=MAX_DTYPES)
    """The dtypes of the input arrays; for a case without arrays, the dtype that it tests."""
    calls: list[CallOptions] | None = Field(default=None, max_length=MAX_CALLS)
    """The calls; null if only the case's own code determines them. For a docstring example, the calls by the function's
    name in the example's text."""
    shortened: bool = False
    """Whether the runner omitted or truncated calls, keywords or values because of the limits."""


class CatalogueCase(Message):
    """One test of one function. ``id`` is unique within its suite and stable over revisions."""

    id: CaseName
    function: CaseName
    host_only: Line | None = None
    """The reason why the function never uses a device; null if it can use a device."""
    tags: Lines = Field(default_factory=list)
    digest: Name | None = None
    """A digest that changes exactly when something that decides the case's result changes. Cases with equal digests in
    two revisions of a suite can be compared. Null if the runner gives no digest; then only the revision identifies the
    case."""
    options: CaseOptions | None = None
    """Null if the runner does not report the options."""


class CatalogueSuite(Message):
    """A named set of cases. ``revision`` changes whenever one of its cases changes."""

    name: Name
    revision: Name
    timing: TimingPolicy | None = None
    """The timing policy of campaigns whose request names none. It does not affect results, so it is not part of the
    revision. Null if the runner declares none; then the policy is ``steady``."""
    timed_cases: TimedCases | None = None
    """Which cases are timed in campaigns whose request does not say so. Null if the runner declares none; then all
    cases are timed."""
    cases: list[CatalogueCase] = Field(max_length=MAX_CASES, fail_fast=True)


class Catalogue(Message):
    suites: list[CatalogueSuite] = Field(max_length=MAX_SUITES, fail_fast=True)


def ambiguity(catalogue: Catalogue) -> str | None:
    """The reason why a name is ambiguous: a suite is listed twice, or a case id occurs twice in a suite. None if all
    names are unique."""
    if (suite := _twice(suite.name for suite in catalogue.suites)) is not None:
        return f"its catalogue lists the suite '{short(suite)}' twice: list each suite once, at one revision"
    for suite_listed in catalogue.suites:
        if (case := _twice(case.id for case in suite_listed.cases)) is not None:
            return (
                f"its suite '{short(suite_listed.name)}' has two cases '{short(case)}': "
                "give each case of a suite an id of its own"
            )
    return None


def representatives(cases: Iterable[CatalogueCase]) -> frozenset[str]:
    """The ids of the cases to time if not every case is timed: one per function, and each case with a second shape.

    For each function the plainest case is chosen, because it shows best how slow the function is. A plain case has no
    expected error, gradient, random result, empty or broadcast input, or unusual dtype. Of equally plain cases the
    first is chosen, because suites begin with the usual call. Cases with a second shape are always timed, because no
    other case shows how long a call with a new shape takes.
    """
    recompiled_ids: set[str] = set()
    best: dict[str, tuple[tuple[bool, ...], str]] = {}
    for case in cases:
        tags = set(case.tags)
        if RECOMPILED in tags:
            recompiled_ids.add(case.id)
            continue
        missing = (InputKind.plain not in tags, REAL not in tags)
        unusual = (not FIRST_USES.isdisjoint(tags), REFUSES in tags, GRADIENT in tags, FORM_ONLY in tags, *missing)
        if case.function not in best or unusual < best[case.function][0]:
            best[case.function] = unusual, case.id
    return frozenset(id for _, id in best.values()) | recompiled_ids


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def short(text: str) -> str:
    """The text on one line, truncated so that it fits into a message."""
    line = "".join(letter if letter.isprintable() else "?" for letter in text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
