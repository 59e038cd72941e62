"""Answers questions from Python: ``can_i("torch.multinomial", on="torch/xla", dtype="float16")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coordinator.assess import evidence_file
from coordinator.assess.evidence import CaseEvidence, EvidenceSet, TargetEvidence, choose, second_shape_of
from coordinator.assess.findings import assess
from coordinator.assess.names import Names, names_of
from coordinator.assess.report import kind_sentence
from coordinator.assess.sites import AssessedSource, Certainty, Site, Use
from coordinator.assess.verdicts import FEWEST_CASES, Kind, Meets, Weight, judged_cases, usual_cases
from coordinator.errors import UnknownNameError
from coordinator.figures.formats import join_words, plural
from coordinator.figures.second_shape import SecondShape
from coordinator.results.conditions import CallSite
from coordinator.targets.selectors import Selector
from protocol.function_names import did_you_mean

DTYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bfloat16", "float16", "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""The dtypes that are valid for every framework, charted or not."""


@dataclass(frozen=True)
class Question:
    """The question whether a function works on a target, for all its usual calls or for one call."""

    function: str
    selector: Selector
    dtype: str | None = None
    call: CallSite | None = None


@dataclass(frozen=True)
class Answer:
    """The answer about one function on one target."""

    function: str
    target: str
    """The target, with the version of the evidence: ``torch@2.9.0/xla``."""
    works: bool | None
    """True if the function works. False if nearly all similar cases fail, give wrong values, fall back to the host or
    are slow. None if neither is shown: the function was not charted, or was lowered and not run; the result depends on
    unknown arguments; there is only one similar case; or values differ only in their last digits."""
    failing: int
    """The number of similar cases with a bad result; if there are several kinds of bad results, with the worst kind. 0
    if the function works."""
    of: int
    """The number of similar cases. If the function works, the number of its usual cases. 0 if the function was not
    charted, was not charted in the dtype, or was not run."""
    sentences: tuple[str, ...]
    """One sentence for each relevant finding or condition, the worst first. For an uncharted function, the sentences
    say what was not charted."""
    second_shape: SecondShape | None = None
    """The time of the first call with a second shape; None if it was not measured."""

    @property
    def word(self) -> str:
        """The answer in one word or phrase: ``yes``, ``no``, ``it depends`` or ``unknown``."""
        if self.works is None:
            return "it depends" if self.of else "unknown"
        return "yes" if self.works else "no"


def can_i(
    function: str,
    *,
    on: str,
    dtype: str | None = None,
    positional: int | None = None,
    keywords: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> Answer:
    """Say whether a function works on a target, from the evidence that ships with Portolan, or from an evidence file.

    ``on`` is a selector such as ``torch/xla``. ``positional`` is the number of positional arguments; for a method, the
    object is not counted. If ``positional`` is None, all usual cases are considered. Raises ``AssessmentError`` if
    nobody charted the target, or if the evidence file ``data`` is unusable. Raises ``UnknownNameError`` for an invalid
    selector, a name that the framework does not have, or an unknown dtype.
    """
    evidence = (
        evidence_file.load_shipped()
        if data is None
        else evidence_file.read(data.read_bytes(), str(data), f"from {data}")
    )
    call = None if positional is None else CallSite(positional, dict(keywords or {}))
    return answer(Question(function, Selector.parse(on), dtype, call), evidence)


def answer(question: Question, evidence: EvidenceSet) -> Answer:
    """Answer a question from the evidence. Raises the same errors as ``can_i``."""
    function, target = question.function, choose(evidence, question.selector, None).chosen
    names = names_of(target)
    charted_name = names.charted_name(function)
    if charted_name is None:
        _require_public(function, names)
        return Answer(function, target.target, None, 0, 0, (f"nobody charted {function} on {target.target}",))
    cases = target.functions[charted_name.name]
    if question.dtype is not None:
        _require_dtype(question.dtype, target)
    if question.dtype is not None and question.dtype not in (dtypes_of_cases := _dtypes(cases)):
        there = f"its cases are in {join_words(dtypes_of_cases)}" if dtypes_of_cases else "its cases name no dtypes"
        missing = f"no case of {function} on {target.target} is in {question.dtype}: {there}"
        return Answer(function, target.target, None, 0, 0, (missing,))
    dtypes = frozenset() if question.dtype is None else frozenset({question.dtype})
    site = Site("", 1, 0, function, Certainty.resolved, Use.called, question.call, "forward", dtypes=dtypes)
    # A program may also compute gradients.
    source = AssessedSource((site,), modules={"": "program"}, trained_functions=frozenset({"program.forward"}))
    findings = [
        finding for finding in assess(source, target, names).findings if finding.verdict.meets is not Meets.not_met
    ]
    # Whether the host refuses the call's arguments is a different question.
    worst = next((finding.verdict for finding in findings if finding.verdict.kind is not Kind.accepts), None)
    usual = usual_cases(judged_cases(cases), dtypes)
    if target.is_lowered and worst is None:
        not_run = f"{function} is lowered in {plural(len(usual), 'case')}, and none was run"
        return Answer(function, target.target, None, 0, 0, (not_run,))
    if question.dtype is not None and worst is None and len(usual) < FEWEST_CASES:
        in_any_dtype = answer(replace(question, dtype=None), evidence)
        if not in_any_dtype.works:
            few = f"only {plural(len(usual), 'case')} of {function} is in {question.dtype}, and it passes"
            return replace(in_any_dtype, works=None, sentences=(few, *in_any_dtype.sentences))
    return Answer(
        function=function,
        target=target.target,
        works=None if worst and (worst.weight is not Weight.finding or worst.is_of_backward_pass) else worst is None,
        failing=worst.failing if worst else 0,
        of=worst.of if worst else len(usual),
        sentences=tuple(f"{function} {kind_sentence(finding)}" for finding in findings),
        second_shape=second_shape_of(cases),
    )


def _dtypes(cases: Iterable[CaseEvidence]) -> list[str]:
    return sorted({dtype for case in cases if case.options for dtype in case.options.dtypes})


def _require_dtype(dtype: str, target: TargetEvidence) -> None:
    """Raise ``UnknownNameError`` for an unknown dtype."""
    dtypes = DTYPES.union(*(_dtypes(cases) for cases in target.functions.values()))
    if dtype not in dtypes:
        guess = did_you_mean(dtype, sorted(dtypes)) or "; write a dtype such as float16"
        raise UnknownNameError(f"there is no dtype {dtype}{guess}", "dtype")


def _require_public(function: str, names: Names) -> None:
    """Raise ``UnknownNameError`` for a name that the framework does not have. Do nothing if Portolan has no surface of
    the framework."""
    if names.surface is not None and names.surface.resolve(function) is None:
        guess = did_you_mean(function, sorted(names.functions)) or "; use the name in the framework's documentation"
        raise UnknownNameError(f"{names.surface.release} has no function {function}{guess}", "function")
