"""Judges one call by the cases of its function. This module does no I/O.

Most functions fail in only a few of their cases, and most of these cases are unlike a program's calls: empty arrays,
complex numbers, gradients. So a call is compared only with the cases that resemble it. The verdict is a *finding* if
nearly all of these cases, and at least two, have a bad result. It is a *condition* if some of these cases have a bad
result, because then the result depends on arguments that the source does not show. It is a *note* if only other cases
have a bad result, if there is only a single case, or if values differ only in their last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from coordinator.assess.advice import advice
from coordinator.assess.evidence import CaseEvidence, TargetEvidence, mean_ratio
from coordinator.figures.formats import join_words, significant
from coordinator.figures.formats import ratio as ratio_text
from coordinator.results.conditions import (
    UNKNOWN_VALUE,
    Aspect,
    CallSite,
    Condition,
    calls_of,
    condition_of,
    judges_of,
    matching,
)
from protocol.catalogue import CallOptions
from protocol.enums import BUFFERS, GRADIENT, TRAINING, Cause, InputKind

NEARLY_ALL = 0.95
"""The share of similar cases that must have the bad result for a finding. If there are few cases, all must have it: one
passing case shows that the result depends on an argument that the source does not show, such as the output size of
``adaptive_avg_pool2d``."""
FEWEST_CASES = 2
"""The minimum number of similar cases for a finding, because a single case can be exceptional."""
MAJORITY = 0.5
"""The share of a function's cases that must have the bad result for a finding, if all similar cases with this result
are variants of one case."""
SLOW = 10.0
"""The default factor from which a function is slow: its latency ratio to the CPU, divided by the target's usual
ratio."""
UNUSUAL = frozenset({GRADIENT, InputKind.empty, InputKind.zero_dim})
"""The tags of unusual cases. Such a case resembles a call only if the call has the same property."""
EXTREME_VALUES = frozenset({"alike", "limits", "spread", "tails"})
"""The last words in the names of cases whose numbers are extreme: up to 1e30, near the dtype's maximum, or one large
number everywhere. A wrong value or an error there says little about usual numbers. A fallback does, because it depends
less on values."""
USUAL_DTYPES = ("float32", "int64", "bool")
"""The preferred dtypes. A call with an unknown dtype is compared with cases in the first of these dtypes in which the
function has a case."""


BACKWARD_PASS = "with the backward pass"
"""The last words of the basis of a verdict about the backward pass."""


class Kind(StrEnum):
    """The kinds of findings, the worst first."""

    wrong = "wrong"
    """The function returns wrong values without an error."""
    fails = "fails"
    accepts = "accepts"
    """The function returns a result for arguments for which the host raises an error. The source does not show whether
    a call has such arguments, so this is never more than a condition."""
    falls_back = "falls-back"
    """The function passes only because the framework silently ran it on the host."""
    slow = "slow"


class Weight(StrEnum):
    """How serious a verdict is."""

    finding = "finding"
    condition = "condition"
    note = "note"


class Meets(StrEnum):
    """Whether a call meets the condition under which its function has the bad result."""

    met = "met"
    may_be_met = "may be met"
    not_met = "not met"


@dataclass(frozen=True)
class SiteVerdict:
    """The verdict about a call for one kind. Calls with equal verdicts form one finding."""

    kind: Kind
    function: str
    charted_as: str
    """The charted name, which may be a function equivalent to a method."""
    weight: Weight
    meets: Meets
    failing: int
    """The number of compared cases with this result."""
    of: int
    basis: str
    """A description of the compared cases."""
    condition: str
    """The options that distinguish cases with this result from other cases, in words. Empty if no options do."""
    why_note: str
    """The reason why the verdict is only a note; empty for findings and conditions."""
    judges: str
    said: str
    """The error message of the first case with this result; empty if there is none."""
    causes: tuple[str, ...]
    case: str
    """The first case with this result. The repeat command runs this case."""
    chart: int
    """The index of the chart that contains ``case``."""
    ratio: float | None = None
    """The ratio of the call's time to its time on the CPU; None unless the call is slow."""
    backward: bool = False
    """Whether the backward pass of the call has this result."""
    advice: tuple[str, ...] = ()

    @property
    def is_of_backward_pass(self) -> bool:
        """Whether only the backward pass has this result."""
        return self.basis.endswith(BACKWARD_PASS)

    @property
    def share(self) -> float:
        return self.failing / self.of if self.of else 0.0


IsFailing = Callable[[CaseEvidence], bool]
KINDS: Mapping[Kind, IsFailing] = {
    Kind.wrong: lambda case: case.is_wrong,
    # A data set or a string belongs on the host.
    Kind.fails: lambda case: case.end == "failed" and not case.is_wrong and case.cause is not Cause.host_work,
    Kind.falls_back: lambda case: case.end == "fell_back",
}
"""For each kind, a function that says whether a case has this result. Slow and accepted calls are judged separately."""


def verdicts_on(
    function: str,
    charted_as: str,
    call: CallSite | None,
    dtypes: frozenset[str],
    target: TargetEvidence,
    slow: float,
    *,
    has_gradient: bool = False,
) -> Iterator[SiteVerdict]:
    """The verdicts about a call, one for each kind of bad result that any case of the function has.

    ``call`` is None if the source does not show how the function is called, and ``dtypes`` is empty if it does not show
    the dtypes. ``slow`` is the factor for slow calls, relative to the target's usual ratio. ``has_gradient`` is true if
    the program also runs the backward pass of the call.
    """
    every = target.functions[charted_as]
    cases = judged_cases(every)
    for kind, is_failing in KINDS.items():
        candidates = [case for case in cases if kind is not Kind.falls_back or case.end in ("passed", "fell_back")]
        if any(map(is_failing, candidates)):
            usual = _compared_cases(candidates, dtypes, kind)
            bad_end = _Seen(function, charted_as, kind, is_failing, candidates, usual, call, dtypes)
            verdict = bad_end.verdict()
            if verdict.weight is not Weight.finding and (training_cases := cases_in_training(candidates)):
                verdict = bad_end.in_training(training_cases) or verdict
            if verdict.weight is not Weight.finding and has_gradient:
                verdict = bad_end.in_backward_pass() or verdict
            elif kind is Kind.falls_back and has_gradient:
                verdict = replace(verdict, backward=bad_end.falls_back_in_backward_pass())
            yield verdict
    if accepted_cases := [case for case in every if case.end == "accepted"]:
        yield _acceptance(function, charted_as, accepted_cases)
    usual = usual_cases(cases, dtypes)
    like = (matching(call, usual) if call else []) or usual
    if (slow_verdict := slowness(function, charted_as, like, target, slow)) is not None:
        is_single = slow_verdict.of < FEWEST_CASES
        yield replace(slow_verdict, weight=Weight.note, why_note=SINGLE) if is_single else slow_verdict


def judged_cases(cases: Sequence[CaseEvidence]) -> list[CaseEvidence]:
    """The cases that passed or failed, without silently accepted ones."""
    return [case for case in cases if case.end != "accepted"]


def cases_in_training(cases: Sequence[CaseEvidence]) -> list[CaseEvidence]:
    """Return the cases that show whether a module in training is right, if some cases compare the module's buffers.

    Only in training a module changes its buffers, such as the running statistics of a batch normalization. A case that
    does not compare the buffers may pass although they are wrong. So this case counts only if no other case with the
    same arguments compares the buffers.
    """
    names = {case.case for case in cases}
    with_buffers = [case for case in cases if BUFFERS in case.tags]
    compared_names = {_base_of(case.case, names) for case in with_buffers}
    others = [case for case in cases if TRAINING in case.tags and BUFFERS not in case.tags]
    if not with_buffers:
        return []
    return [*with_buffers, *(case for case in others if _base_of(case.case, names) not in compared_names)]


def usual_cases(cases: Sequence[CaseEvidence], dtypes: frozenset[str]) -> list[CaseEvidence]:
    """Return the usual cases in the call's dtypes. If no case has these dtypes, return those in the preferred dtype.

    If a function has no usual cases, all of its cases count as usual.
    """
    plain = [case for case in cases if not case.tags & UNUSUAL] or list(cases)
    own = [case for case in plain if _dtypes(case) & dtypes]
    if own:
        return own
    for dtype in USUAL_DTYPES:
        if any(dtype in _dtypes(case) for case in plain):
            return [case for case in plain if not _dtypes(case) or dtype in _dtypes(case)]
    return plain


def _compared_cases(cases: Sequence[CaseEvidence], dtypes: frozenset[str], kind: Kind) -> list[CaseEvidence]:
    """The usual cases for a call. Extreme numbers do not count, except for fallbacks, which depend less on values."""
    usual = usual_cases(cases, dtypes)
    return usual if kind is Kind.falls_back else [case for case in usual if not _is_extreme(case)] or usual


def _is_extreme(case: CaseEvidence) -> bool:
    return case.case.rpartition("-")[2] in EXTREME_VALUES


def _shortest_call(cases: Sequence[CaseEvidence]) -> CallSite | None:
    """The call with the fewest arguments, none of them passed by name; None if every case passes one by name."""
    counts = [call.positional for case in cases for call in calls_of(case) if not call.keywords]
    return CallSite(min(counts), {}) if counts else None


def _dtypes(case: CaseEvidence) -> frozenset[str]:
    return frozenset(case.options.dtypes) if case.options else frozenset()


@dataclass(frozen=True)
class _Seen:
    """The cases that a call is compared with, judged for one kind of result."""

    function: str
    charted_as: str
    kind: Kind
    is_failing: IsFailing
    counted: Sequence[CaseEvidence]
    usual: Sequence[CaseEvidence]
    call: CallSite | None
    dtypes: frozenset[str]

    def verdict(self) -> SiteVerdict:
        like, words = self._like()
        if self._do_nearly_all(like):
            return self._met(like, words)
        if self._do_nearly_all(self.usual):
            return self._met(self.usual, "usual cases")
        basis, words = (like, words) if like else (self.usual, "usual cases")
        failing = list(filter(self.is_failing, basis))
        if not failing:
            return self._not_met("only cases unlike this call do so")
        # A single case like the call is not enough, unless all other cases of the function have the same result.
        if len(failing) == len(basis) and self._do_nearly_all(self.counted):
            return self._met(self.counted, "cases of any kind")
        if len(basis) == 1:
            return self._make(basis, words, Weight.note, Meets.may_be_met, None, SINGLE)
        return self._conditional(basis, words)

    def in_training(self, training_cases: Sequence[CaseEvidence]) -> SiteVerdict | None:
        """The finding from the cases in training; None if they make no finding.

        A module trains unless the program says otherwise. If the code passes the class on, other code builds the
        module, mostly with the required arguments alone: so the class is compared with the cases of the fewest
        arguments. Numbers that the call passes by name (``momentum=0.01``) count as omitted if no case passes any of
        these names, because a number seldom decides whether a module has buffers.
        """
        calls = [call for case in training_cases for call in calls_of(case)]
        call = self.call or _shortest_call(training_cases)
        case_keywords = {name for one in calls for name in one.keywords}
        if (
            call is not None
            and case_keywords.isdisjoint(call.keywords)
            and all(map(_may_be_number, call.keywords.values()))
        ):
            call = replace(call, keywords={})
        usual = usual_cases(training_cases, self.dtypes)
        verdict = replace(self, counted=training_cases, usual=usual, call=call).verdict()
        is_finding = verdict.weight is Weight.finding
        return replace(verdict, basis=f"{verdict.basis} in training") if is_finding else None

    def in_backward_pass(self) -> SiteVerdict | None:
        """Return the finding from the cases that resemble the call and also run the backward pass.

        None if these cases make no finding.

        There is no finding if the forward pass of all these cases has the same result.
        """
        backward = self._of_backward_pass()
        like, words = backward._like_in_backward_pass()
        if not backward._do_nearly_all(like) or not any(map(self._is_due_to_backward_pass, like)):
            return None
        verdict = replace(backward._met(like, f"{words} {BACKWARD_PASS}"), backward=True)
        return verdict if verdict.weight is Weight.finding else None

    def falls_back_in_backward_pass(self) -> bool:
        """Whether operations of the backward pass fall back too, in the cases like the call."""
        backward = self._of_backward_pass()
        like, _ = backward._like_in_backward_pass()
        return backward._do_nearly_all(like) and all(set(case.operations) - self._forward_operations for case in like)

    def _of_backward_pass(self) -> _Seen:
        """Return the call, to be compared with the cases that also run the backward pass."""
        gradient_cases = [case for case in self.counted if GRADIENT in case.tags]
        plain_cases = [case for case in gradient_cases if not case.tags & (UNUSUAL - {GRADIENT})]
        usual = _compared_cases(plain_cases, self.dtypes, self.kind)
        return replace(self, counted=gradient_cases, usual=usual, call=self.call or _shortest_call(usual))

    def _like_in_backward_pass(self) -> tuple[list[CaseEvidence], str]:
        """The cases with the backward pass that resemble the call, and a description of them.

        The usual cases do not count, because there are few cases with the backward pass, and they may have exceptional
        arguments. But if all cases that share the value of one keyword with the call have the same result, the other
        arguments do not matter.
        """
        like, words = self._like()
        if self._do_nearly_all(like):
            return like, words
        names = {case.case for case in self.counted}
        for name, value in self.call.keywords.items() if self.call is not None else ():
            if _is_plain(value):
                sharing, words_of_keyword = _agreeing(CallSite(0, {name: value}), self.usual)
                are_several = len({_base_of(case.case, names) for case in sharing}) >= FEWEST_CASES
                if are_several and self._do_nearly_all(sharing):
                    return sharing, words_of_keyword
        # As without the backward pass, a single case like the call is enough if all others have the same result.
        if like and self._do_nearly_all(self.usual):
            return list(self.usual), "cases of any kind"
        return like, words

    @cached_property
    def _forward_failures(self) -> Sequence[CaseEvidence]:
        return [case for case in self.counted if GRADIENT not in case.tags and self.is_failing(case)]

    @cached_property
    def _forward_operations(self) -> frozenset[str]:
        return frozenset(operation for case in self._forward_failures for operation in case.operations)

    def _is_due_to_backward_pass(self, case: CaseEvidence) -> bool:
        """Whether a case has the result because of its backward pass: no case without a backward pass has the result
        because of the same operation or with the same arguments."""
        names = {other.case for other in self._forward_failures}
        is_of_forward_pass = _base_of(case.case, names) != case.case
        return self.is_failing(case) and not is_of_forward_pass and self._forward_operations.isdisjoint(case.operations)

    def _like(self) -> tuple[list[CaseEvidence], str]:
        """The usual cases that resemble the call, and a description of them."""
        if self.call is None:
            return [], ""
        like = matching(self.call, self.usual)
        return (like, "cases like this call") if like else _agreeing(self.call, self.usual)

    def _do_nearly_all(self, cases: Sequence[CaseEvidence]) -> bool:
        failing = list(filter(self.is_failing, cases))
        return self._are_several(failing) and len(failing) >= NEARLY_ALL * len(cases)

    def _are_several(self, failing: Sequence[CaseEvidence]) -> bool:
        """Whether the failing cases are more than one exceptional case.

        A case and its variants have the same arguments with other values, dtypes or sizes. If these arguments are
        exceptional, as in ``x.repeat(0)``, all variants raise an error or are wrong. So they count as one case, unless
        most cases of the function have this result. Variants that fall back count separately, because a fallback
        depends less on values.
        """
        if len(failing) < FEWEST_CASES or self.kind is Kind.falls_back:
            return len(failing) >= FEWEST_CASES
        names = {case.case for case in self.counted}
        if len({_base_of(case.case, names) for case in failing}) >= FEWEST_CASES:
            return True
        return sum(map(self.is_failing, self.counted)) >= MAJORITY * len(self.counted)

    def _met(self, basis: Sequence[CaseEvidence], words: str) -> SiteVerdict:
        if self._only_imprecise(basis):
            return self._make(basis, words, Weight.note, Meets.met, None, IMPRECISE)
        return self._make(basis, words, Weight.finding, Meets.met, None)

    def _conditional(self, basis: Sequence[CaseEvidence], words: str) -> SiteVerdict:
        condition = condition_of(basis, self.is_failing)
        meets = _meets(condition, self.call, self.dtypes)
        if meets is Meets.not_met:
            return self._not_met("this call does not meet the condition")
        if self._only_imprecise(basis):
            return self._make(basis, words, Weight.note, meets, condition, IMPRECISE)
        if not self._are_several(list(filter(self.is_failing, basis))):
            return self._make(basis, words, Weight.note, Meets.may_be_met, condition, SINGLE)
        if meets is Meets.met and condition and condition.failing >= FEWEST_CASES and condition.is_exact:
            return self._make(basis, words, Weight.finding, meets, condition)
        return self._make(basis, words, Weight.condition, Meets.may_be_met, condition)

    def _not_met(self, why: str) -> SiteVerdict:
        condition = condition_of(self.counted, self.is_failing)
        return self._make(self.counted, "cases of any kind", Weight.note, Meets.not_met, condition, why)

    def _only_imprecise(self, basis: Sequence[CaseEvidence]) -> bool:
        return self.kind is Kind.wrong and all(case.is_imprecise for case in filter(self.is_failing, basis))

    def _make(
        self,
        basis: Sequence[CaseEvidence],
        words: str,
        weight: Weight,
        meets: Meets,
        condition: Condition | None,
        why_note: str = "",
    ) -> SiteVerdict:
        failing = list(filter(self.is_failing, basis))
        first = failing[0]
        return SiteVerdict(
            kind=self.kind,
            function=self.function,
            charted_as=self.charted_as,
            weight=weight,
            meets=meets,
            failing=len(failing),
            of=len(basis),
            basis=words,
            condition=str(condition) if condition else "",
            why_note=why_note,
            judges=judges_of(basis),
            said=first.said or "",
            causes=tuple(sorted({str(case.cause) for case in failing if case.cause})),
            case=first.case,
            chart=first.chart,
            advice=advice(self.call, self.counted, self.usual, self.is_failing) if weight is not Weight.note else (),
        )


def _base_of(case: str, names: Set[str]) -> str:
    """The name of the case from which a variant was made: ``float32-3`` for ``float32-3-tails``. If the case is not a
    variant, its own name."""
    parts = case.split("-")
    prefixes = ("-".join(parts[:count]) for count in range(1, len(parts)))
    return next((prefix for prefix in prefixes if prefix in names), case)


def _agreeing(call: CallSite, cases: Sequence[CaseEvidence]) -> tuple[list[CaseEvidence], str]:
    """Return the cases that share the value of at least one keyword with the call and contradict no other, and a
    description of the shared keywords.

    These cases are used if no case has the call's number of arguments, because a call may pass by name an argument that
    a case passes by position.
    """
    plain = {name: value for name, value in call.keywords.items() if _is_plain(value)}
    agreeing_cases = [case for case in cases if (calls := calls_of(case)) and _agree(plain, calls)]
    names = {name for case in agreeing_cases for name in plain if _is_plain(_keyword_of(case, name))}
    return agreeing_cases, f"cases with {join_words([f'{name}={plain[name]!r}' for name in sorted(names)])}"


def _agree(plain: Mapping[str, object], calls: Sequence[CallOptions]) -> bool:
    pairs = [(plain[name], call.keywords[name]) for call in calls for name in plain if name in call.keywords]
    plain_pairs = [(own, of_case) for own, of_case in pairs if _is_plain(of_case)]
    return bool(plain_pairs) and all(type(own) is type(of_case) and own == of_case for own, of_case in plain_pairs)


def _keyword_of(case: CaseEvidence, name: str) -> object:
    return next((call.keywords[name] for call in calls_of(case) if name in call.keywords), None)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _may_be_number(value: object) -> bool:
    return value is UNKNOWN_VALUE or (isinstance(value, (int, float)) and not isinstance(value, bool))


SINGLE = "a single case says so"
IMPRECISE = "only the last digits differ: the values are right at the tolerance of the next less precise float type"


def _meets(condition: Condition | None, call: CallSite | None, dtypes: frozenset[str]) -> Meets:
    """Whether a call meets a condition, as far as its source shows."""
    if condition is None or condition.aspect is None:
        return Meets.may_be_met
    options = set(condition.options)
    if condition.aspect is Aspect.dtype:
        return Meets.may_be_met if not dtypes else _met_if(bool(options & dtypes))
    if call is None:
        return Meets.may_be_met
    keywords = {name for name, value in call.keywords.items() if value is not None}
    match condition.aspect:
        case Aspect.positional:
            return _met_if(str(call.positional) in options)
        case Aspect.keyword:
            return _met_if(bool(keywords & options))
        case Aspect.without:
            return _met_if(not keywords & options)
        case Aspect.value:
            return _meets_value(options, call, keywords)
        case _:
            return Meets.may_be_met


def _meets_value(options: set[str], call: CallSite, keywords: set[str]) -> Meets:
    """Whether a call meets a condition about values, whose options have the form ``mode='bilinear'``."""
    condition_keywords = {option.partition("=")[0] for option in options}
    if not condition_keywords & keywords:
        return Meets.not_met
    if any(call.keywords[name] is UNKNOWN_VALUE for name in condition_keywords & keywords):
        return Meets.may_be_met
    return _met_if(any(f"{name}={call.keywords[name]!r}" in options for name in condition_keywords & keywords))


def _met_if(is_met: bool) -> Meets:
    return Meets.met if is_met else Meets.not_met


def _acceptance(function: str, charted_as: str, accepted_cases: Sequence[CaseEvidence]) -> SiteVerdict:
    """The verdict that a call is silently accepted, from the silently accepted cases of its function. At least one such
    case must be given."""
    first = accepted_cases[0]
    return SiteVerdict(
        kind=Kind.accepts,
        function=function,
        charted_as=charted_as,
        weight=Weight.condition,
        meets=Meets.may_be_met,
        failing=len(accepted_cases),
        of=len(accepted_cases),
        basis="cases that the host refuses",
        condition="",
        why_note="",
        judges="",
        said=first.said or "",
        causes=(str(Cause.silently_accepted),),
        case=first.case,
        chart=first.chart,
    )


def slowness(
    function: str, charted_as: str, cases: Sequence[CaseEvidence], target: TargetEvidence, slow: float
) -> SiteVerdict | None:
    """Return the verdict that a call is far slower than other calls on the target; None if the call is not slower.

    A framework that compiles adds the cost of a dispatch to each call, even if the call computes little. This cost
    says nothing about the function. So slowness is measured relative to the target's usual ratio, or to the CPU's
    own time if the CPU is slower.
    """
    cases_with_ratio = [case for case in cases if case.ratio is not None]
    value = mean_ratio(cases_with_ratio)
    usual = max(target.usual_ratio or 1.0, 1.0)
    if value is None or value < slow * usual:
        return None
    over = f", where a usual call takes {ratio_text(usual)}" if usual > 1 else ""
    first = max(cases_with_ratio, key=lambda case: case.ratio or 0.0)
    return SiteVerdict(
        kind=Kind.slow,
        function=function,
        charted_as=charted_as,
        weight=Weight.finding,
        meets=Meets.met,
        failing=len(cases_with_ratio),
        of=len(cases_with_ratio),
        basis="timed cases",
        condition="",
        why_note="",
        judges="",
        said=f"{significant(value)} times as long as on the CPU{over}",
        causes=(),
        case=first.case,
        chart=first.chart,
        ratio=value,
    )
