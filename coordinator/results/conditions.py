"""Conditions: the options that distinguish a function's failing cases, or those that fall back, from its other cases.
It does no I/O.

A condition claims no more than the cases show. So it contains the numbers of cases with and without the options. It is
not a cause, and says nothing about a call that resembles none of the cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto
from functools import cached_property
from math import comb
from typing import Any, Literal, TypeVar

from coordinator.figures.formats import join_words, plural
from protocol.catalogue import CallOptions, CaseOptions
from protocol.enums import FIRST_USES, GRADIENT, NON_FINITE, RECOMPILED, Cause, InputKind, Judge, Placement, Verdict

MOST_OPTIONS = 4
"""The maximum number of options of a condition; with more, almost any set of cases could be separated."""
MOST_BY_CHANCE = 0.05
"""The largest probability that a condition with exceptions fits by chance, over all conditions that were tried. Cases
have many options, so some options would separate nearly any failing cases."""

USUAL_DTYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "bool")
"""The dtypes for which a sentence says whether a function was tried with them."""

INPUT_TAGS = (*map(str, InputKind), NON_FINITE)
"""The tags that distinguish cases by their inputs. A case with numbers that are not finite has another tag too."""

End = Literal["passed", "unproven", "fell_back", "failed", "accepted"]
"""The result of a case over its counted runs. ``unproven``: it passed with unknown placement. ``accepted``: it returned
a result where the host raises an error, which is neither a pass nor a failure."""


def end_of_runs(runs: Sequence[tuple[Verdict, Placement, Cause | None]], *, host_only: bool) -> End | None:
    """The result of a case over its runs; None if no run counts."""
    rated_runs = [run for run in runs if run[0] in (Verdict.passed, Verdict.failed)]
    if not rated_runs:
        return None
    causes = [cause for verdict, _, cause in rated_runs if verdict is Verdict.failed]
    if causes:
        return "accepted" if set(causes) == {Cause.silently_accepted} else "failed"
    if any(placement is Placement.fell_back for _, placement, _ in rated_runs):
        return "fell_back"
    if host_only or all(placement is Placement.on_device for _, placement, _ in rated_runs):
        return "passed"
    return "unproven"


class Aspect(StrEnum):
    """The part of a call in which options differ. Among equally exact conditions, the one with the earliest aspect is
    shown."""

    dtype = "dtype"
    positional = "positional"
    keyword = "keyword"
    value = "value"
    without = "without"
    inputs = "inputs"
    kind = "kind"


@dataclass(frozen=True)
class EndedCase:
    """A case of a function on a target, with its result over all runs."""

    end: End
    options: CaseOptions | None = None
    tags: frozenset[str] = frozenset()
    judged_by: Judge | None = None

    @cached_property
    def option_names(self) -> Mapping[Aspect, frozenset[str] | None]:
        """The case's options by aspect. The value is None if the options of the aspect are unknown."""
        calls = self.options.calls if self.options else None
        keywords = None if calls is None else frozenset(name for call in calls for name in given_keywords(call))
        kinds = {str(self.options.kind)} if self.options and self.options.kind else set()
        return {
            Aspect.dtype: frozenset(self.options.dtypes) if self.options and self.options.dtypes else None,
            Aspect.positional: None if calls is None else frozenset(str(call.positional) for call in calls),
            Aspect.keyword: keywords,
            Aspect.value: None if calls is None else frozenset(text for call in calls for text in values_of(call)),
            Aspect.without: keywords,
            Aspect.inputs: frozenset(kind for kind in INPUT_TAGS if kind in self.tags) or None,
            Aspect.kind: frozenset(kinds | ({GRADIENT, RECOMPILED, *FIRST_USES} & self.tags)) or None,
        }


Case = TypeVar("Case", bound=EndedCase)


def given_keywords(call: CallOptions) -> list[str]:
    """The keywords that a call passes. A keyword with the value null counts as omitted."""
    return [name for name, value in call.keywords.items() if value is not None]


def values_of(call: CallOptions) -> list[str]:
    """The plain values of a call's keywords: ``mode='bilinear'``. Arrays are not included, because nearly every case
    has different ones."""
    return [
        f"{name}={value!r}"
        for name, value in call.keywords.items()
        if value is not None and not isinstance(value, (dict, list))
    ]


@dataclass(frozen=True)
class Condition:
    """Options of one aspect. It has the numbers of cases with and without these options, and of the failing cases
    among them."""

    aspect: Aspect | None
    """None if every case fails, because then no option can separate the cases."""
    options: tuple[str, ...]
    failing: int
    """The number of cases with the options that fail."""
    of: int
    others_failing: int
    others: int

    @property
    def is_exact(self) -> bool:
        """Whether all cases with the options fail, and no other case fails."""
        return self.failing == self.of and not self.others_failing

    @property
    def words(self) -> str:
        """The options in words: ``in float16 and bfloat16``."""
        names = join_words(self.options)
        either = names.replace(" and ", " or ")
        match self.aspect:
            case None:
                return "in every case"
            case Aspect.dtype:
                return f"in {names}"
            case Aspect.positional:
                return f"with {either} positional argument{'' if self.options == ('1',) else 's'}"
            case Aspect.keyword | Aspect.value:
                return f"with {either}"
            case Aspect.without:
                return f"without {names}"
            case Aspect.inputs:
                return f"on {either} input"
            case Aspect.kind:
                return f"in {either} cases"

    def __str__(self) -> str:
        """The condition with its counts: ``in float16 and bfloat16 (4 of 4), not otherwise (0 of 12)``."""
        if self.aspect is None:
            return self.words
        alone = ", a single case" if self.of == 1 else ""
        others = f"{'not ' if not self.others_failing else ''}otherwise ({self.others_failing} of {self.others})"
        return f"{self.words} ({self.failing} of {self.of}{alone}), {others}"


@dataclass(frozen=True)
class FunctionCondition:
    """The condition of a function on a target: how many cases fail or fall back, with which options, and which
    reference judged them."""

    total: int
    failed: int
    fell_back: int
    """Cases that passed by falling back to the host."""
    independent: int
    """Cases that an independent reference judged."""
    judged: int
    """Cases for which the suite names the reference."""
    fails: Condition | None
    """Null if no case fails, or if no option separates the failing cases from the others."""
    falls_back: Condition | None
    """The options that distinguish passing cases that fell back from cases that ran on the device."""
    accepted: int
    """Cases that returned a result where the host raises an error. No other number includes them."""
    dtypes: tuple[str, ...]
    """The dtypes of the arrays of all cases."""

    @property
    def dtypes_tried(self) -> str:
        """Return the clause that says which dtypes were tried. In a sentence, its subject is the function."""
        return dtypes_tried(self.dtypes)

    @property
    def judges(self) -> str:
        return _judges(self.total, self.independent, self.judged)

    @property
    def short_failing(self) -> str:
        """The failures in a few words: ``4 of 16; in float16``."""
        return self._short(self.failed, self.fails)

    @property
    def short_falling_back(self) -> str:
        return self._short(self.fell_back, self.falls_back)

    def _short(self, count: int, condition: Condition | None) -> str:
        where = "" if condition is None or condition.aspect is None else f"; {condition.words}"
        single = " (1 case)" if where and condition is not None and condition.of == 1 else ""
        return f"{count} of {self.total}{where}{single}"

    @property
    def accusing_sentences(self) -> tuple[str, ...]:
        """One sentence for each kind of problem: cases that fail, fall back or are silently accepted. Empty if there is
        no problem."""
        return self.sentences if self.failed or self.fell_back or self.accepted else ()

    @property
    def sentences(self) -> tuple[str, ...]:
        parts = (("fails", self.failed, self.fails), ("falls back in", self.fell_back, self.falls_back))
        texts = tuple(
            f"{verb} {count} of {plural(self.total, 'case')}: {condition or 'no option tells them from the others'}"
            for verb, count, condition in parts
            if count
        )
        acceptance = (accepted_sentence(self.accepted),) if self.accepted else ()
        return (*texts, *acceptance, *((self.judges,) if self.total else ()))


def dtypes_tried(dtypes: Collection[str]) -> str:
    """Return the clause that says which dtypes a function's cases have, and which usual dtypes no case has."""
    if not dtypes:
        return "its cases do not say in which dtypes they are"
    missing = [dtype for dtype in USUAL_DTYPES if dtype not in dtypes]
    return f"tried in {join_words(sorted(dtypes))}{f', not in {join_words(missing)}' if missing else ''}"


def accepted_sentence(cases: int) -> str:
    """Return the clause that says how many cases were silently accepted."""
    return f"silently accepts what the host refuses in {plural(cases, 'case')}"


def judges_of(cases: Iterable[EndedCase]) -> str:
    """The clause that says who judged the cases. Silently accepted cases do not count."""
    judges = [case.judged_by for case in cases if case.end != "accepted"]
    named_judges = [judge for judge in judges if judge is not None]
    return _judges(len(judges), sum(judge.is_independent for judge in named_judges), len(named_judges))


def _judges(cases: int, independent: int, judged: int) -> str:
    if independent:
        return f"{independent} of {plural(cases, 'case')} judged by an independent reference"
    return "judged only by the same framework" if judged else "its suite does not say who judged"


def function_condition(cases: Sequence[EndedCase]) -> FunctionCondition:
    """The condition of a function, computed from its cases in any order."""
    accepted_cases = sum(case.end == "accepted" for case in cases)
    dtypes = tuple(sorted({dtype for case in cases if case.options for dtype in case.options.dtypes}))
    cases = [case for case in cases if case.end != "accepted"]
    cases_with_placement = [case for case in cases if case.end in ("passed", "fell_back")]
    return FunctionCondition(
        total=len(cases),
        failed=sum(case.end == "failed" for case in cases),
        fell_back=sum(case.end == "fell_back" for case in cases),
        independent=sum(case.judged_by is not None and case.judged_by.is_independent for case in cases),
        judged=sum(case.judged_by is not None for case in cases),
        fails=condition_of(cases, lambda case: case.end == "failed"),
        falls_back=condition_of(cases_with_placement, lambda case: case.end == "fell_back"),
        accepted=accepted_cases,
        dtypes=dtypes,
    )


def condition_of(cases: Sequence[Case], is_failing: Callable[[Case], bool]) -> Condition | None:
    """The simplest condition that separates the failing cases from the others. None if no case fails, or if no option
    separates them."""
    failing = [case for case in cases if is_failing(case)]
    others = [case for case in cases if not is_failing(case)]
    if not failing:
        return None
    if not others:
        return Condition(None, (), len(failing), len(failing), 0, 0)
    candidates = [
        condition for aspect in Aspect for condition in _of_aspect(aspect, failing, others) if condition.others
    ]
    significant = [
        condition
        for condition in candidates
        if condition.is_exact or _by_chance(condition) * comb(len(candidates), len(condition.options)) <= MOST_BY_CHANCE
    ]
    return min(significant, key=_rank, default=None)


def _of_aspect(aspect: Aspect, failing: Sequence[EndedCase], others: Sequence[EndedCase]) -> Iterator[Condition]:
    """The conditions of one aspect. There are none if the options of any case are unknown."""
    wrong, right = [[case.option_names[aspect] for case in side] for side in (failing, others)]
    known_wrong, known_right = [[names for names in side if names is not None] for side in (wrong, right)]
    if len(known_wrong) < len(wrong) or len(known_right) < len(right):
        return
    if aspect is Aspect.without:
        every = frozenset[str]().union(*known_wrong, *known_right)
        known_wrong, known_right = [[every - names for names in side] for side in (known_wrong, known_right)]
    of_failing, of_others = (Counter(name for names in side for name in names) for side in (known_wrong, known_right))

    def condition(options: tuple[str, ...], failing_with: int, passing_with: int) -> Condition:
        of = failing_with + passing_with
        others_failing = len(failing) - failing_with
        return Condition(aspect, options, failing_with, of, others_failing, len(failing) + len(others) - of)

    for name in sorted(of_failing):
        yield condition((name,), of_failing[name], of_others[name])
    cover = _cover(known_wrong, of_failing.keys() - of_others.keys())
    # With several missing keywords it would be unclear which case lacks which.
    if len(cover) > 1 and aspect is not Aspect.without:
        yield condition(cover, sum(not names.isdisjoint(cover) for names in known_wrong), 0)


def _cover(cases: Sequence[frozenset[str]], names: Set[str]) -> tuple[str, ...]:
    """A few names that together occur in as many of the cases as possible, chosen greedily."""
    left, cover = list(cases), list[str]()
    while len(cover) < MOST_OPTIONS:
        counts = Counter(name for case in left for name in case & names)
        if not counts:
            break
        best = min(counts, key=lambda name: (-counts[name], name))
        cover.append(best)
        left = [case for case in left if best not in case]
    return tuple(sorted(cover))


def _by_chance(condition: Condition) -> float:
    """The probability that at least as many cases with the options fail by chance (Fisher's exact test)."""
    failing = condition.failing + condition.others_failing
    total = condition.of + condition.others
    most = min(failing, condition.of)
    ways = (comb(failing, n) * comb(total - failing, condition.of - n) for n in range(condition.failing, most + 1))
    return sum(ways) / comb(total, condition.of)


def _rank(condition: Condition) -> tuple[Any, ...]:
    """The sort key of conditions: exact conditions first, then by number of exceptions, number of options, and order of
    aspects."""
    exceptions = condition.of - condition.failing + condition.others_failing
    assert condition.aspect is not None
    return exceptions, len(condition.options), list(Aspect).index(condition.aspect), condition.options


@dataclass(frozen=True)
class CallSite:
    """A call in user code, as far as the source shows it."""

    positional: int
    """The number of positional arguments. For a method, the object itself is not counted."""
    keywords: Mapping[str, Any]
    """Keyword values by name, as in JSON. A value that the source does not show is ``UNKNOWN_VALUE``."""
    arguments: Mapping[int, Any] = field(default_factory=dict)
    """The values of positional arguments by number, from 1, as in JSON. Only values that the source shows."""

    def without(self, keyword: str) -> CallSite:
        return replace(self, keywords={name: value for name, value in self.keywords.items() if name != keyword})

    def with_keyword(self, keyword: str, value: Any) -> CallSite:
        return replace(self, keywords={**self.keywords, keyword: value})


class Unknown(Enum):
    """The type of the value that stands for a value which the source does not show. It is an enum, because a member of
    an enum stays the same object when it is pickled."""

    computed = auto()


UNKNOWN_VALUE = Unknown.computed
"""The value of a keyword that is computed in the call."""
FEWEST_CLOSER = 2
"""The minimum number of cases with a call's positional values from which only these cases are compared with the call. A
finding needs the same number of failing cases."""


def matching(site: CallSite, cases: Iterable[Case]) -> list[Case]:
    """The cases whose calls all resemble the user's call: the number of arguments and the keywords are the same, and no
    known keyword value differs.

    If several of these cases also have the call's strings and booleans as positional arguments, only they are returned;
    and if several of them have its numbers too, only those. Numbers are mostly sizes, which differ without effect, so a
    case is not excluded by a number alone.

    A case with several calls can fail at any of them. So it is no evidence if one of its calls differs.
    """
    alike = [case for case in cases if (calls := calls_of(case)) and all(_is_alike(site, call) for call in calls)]
    for is_compared in (_is_choice, _is_number):
        own_values = {number: value for number, value in site.arguments.items() if is_compared(value)}
        closer = [case for case in alike if all(_has_values(call, own_values) for call in calls_of(case))]
        if own_values and len(closer) >= FEWEST_CLOSER:
            alike = closer
    return alike


def calls_of(case: EndedCase) -> Sequence[CallOptions]:
    """The calls of a case; empty if they are unknown."""
    return (case.options.calls or ()) if case.options else ()


def _is_choice(value: Any) -> bool:
    return isinstance(value, str | bool)


def _is_number(value: Any) -> bool:
    return not _is_choice(value) and value is not None


def _has_values(call: CallOptions, values: Mapping[int, Any]) -> bool:
    return all(
        str(number) in call.arguments and _are_equal(_one_number(call.arguments[str(number)]), _one_number(value))
        for number, value in values.items()
    )


def _are_equal(value: Any, of_case: Any) -> bool:
    # In Python, True equals 1.
    return isinstance(value, bool) is isinstance(of_case, bool) and value == of_case


def _one_number(value: Any) -> Any:
    """The number itself for a list of equal numbers, because a size of ``[3, 3]`` can be passed as 3."""
    return value[0] if isinstance(value, list) and value and all(member == value[0] for member in value) else value


def _is_alike(site: CallSite, call: CallOptions) -> bool:
    names = {name for name, value in site.keywords.items() if value is not None}
    return (
        site.positional == call.positional
        and names == set(given_keywords(call))
        and all(_may_be(site.keywords[name], call.keywords[name]) for name in names)
    )


def _may_be(value: Any, of_case: Any) -> bool:
    """Whether the user's value can equal the case's value. False only if both are plain values and differ."""
    is_plain = value is not UNKNOWN_VALUE and not isinstance(of_case, dict)
    return not is_plain or (type(value) is type(of_case) and value == of_case)
