"""The question of a program, answered in Python: ``can_i("torch.multinomial", on="torch/xla", dtype="float16")``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator.assess import evidence_file
from coordinator.assess.evidence import choose
from coordinator.assess.findings import assess
from coordinator.assess.names import names_of
from coordinator.assess.report import kind_sentence
from coordinator.assess.sites import Certainty, Site, Source, Use
from coordinator.assess.verdicts import Weight
from coordinator.results.conditions import CallSite
from coordinator.targets.selectors import Selector


@dataclass(frozen=True)
class Answer:
    """The word of the evidence on one function on one target."""

    function: str
    target: str
    """``torch@2.9.0/xla``, and with it the version that the evidence is of."""
    works: bool | None
    """False: nearly all cases like the call fail, are wrong, fall back or are slow. None: nobody charted it, or it
    depends on what was not said."""
    failing: int
    """Of the cases like the call, those that end so in the worst way that was found."""
    of: int
    sentences: tuple[str, ...]
    """One a finding or condition, the worst first; notes are not among them."""


def can_i(
    function: str,
    *,
    on: str,
    dtype: str | None = None,
    positional: int | None = None,
    keywords: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> Answer:
    """Say whether a function works on a target, by the evidence that ships with Portolan, or by a file of it.

    ``on`` is a selector such as ``torch/xla``. ``positional`` is the number of arguments without a name, of a method
    after its receiver; without it, the call is set against all usual cases. Raises ``AssessmentError`` for a target
    that nobody charted or a file that cannot be used, ``UnknownNameError`` for what is no selector.
    """
    evidence = (
        evidence_file.shipped() if data is None else evidence_file.read(data.read_bytes(), str(data), f"from {data}")
    )
    target = choose(evidence, Selector.parse(on), None).chosen
    call = None if positional is None else CallSite(positional, dict(keywords or {}))
    dtypes = frozenset() if dtype is None else frozenset({dtype})
    site = Site("", 1, 0, function, Certainty.resolved, Use.called, call, "", dtypes=dtypes)
    assessment = assess(Source((site,)), target, names_of(target))
    told = [finding for finding in assessment.findings if finding.verdict.weight is not Weight.note]
    worst = told[0].verdict if told else None
    works = None if not assessment.charted or (worst and worst.weight is Weight.condition) else worst is None
    return Answer(
        function=function,
        target=target.target,
        works=works,
        failing=worst.failing if worst else 0,
        of=worst.of if worst else 0,
        sentences=tuple(f"{function} {kind_sentence(finding)}" for finding in told),
    )
