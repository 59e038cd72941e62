"""The report of trials, as Markdown: violated invariants, faults, and numbers of outcomes, attempts and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.faults.matrix.checker import INVARIANTS
from tests.faults.matrix.fault import Component
from tests.faults.matrix.kinds import KINDS
from tests.faults.matrix.trial import Verdict

HEAD = """# Fault matrix

A *trial* runs real campaigns while a program causes faults. A trial has one coordinator (sometimes two), one
PostgreSQL, three scripted runners on two targets, and one real runner. Every connection goes through a relay that can
disturb the connection. This page is the report of the following command. The same seed gives the same schedule of
faults.

```
python -m tests.faults.matrix --minutes {minutes:g} --seed {seed} --report docs/reference/fault-matrix.md
```

`make test` runs trials for one minute. [Promises](../explanation/promises.md) lists every fault, the promises under the
fault, and their tests.
"""


def report(verdicts: Sequence[Verdict], minutes: float) -> str:
    """The report of all trials of one command, added up. ``minutes`` is the duration that the command requested."""
    return "\n".join(
        [
            HEAD.format(minutes=minutes, seed=verdicts[0].seed),
            *_summary(verdicts),
            "\n## Invariants\n",
            *_invariants(verdicts),
            "\n## Faults\n",
            *_faults(verdicts),
            "\n## Outcomes, attempts and answers\n",
            *_jobs(verdicts),
            "",
        ]
    )


def _summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    faults = _sum(verdict.faults for verdict in verdicts)
    latest = [verdict.ended_after_s for verdict in verdicts]
    yield "| | |\n| --- | --- |"
    yield f"| trials | {len(verdicts)}, in {sum(verdict.seconds for verdict in verdicts) / 60:.0f} minutes |"
    yield f"| faults | {faults.total()}, of {len(faults)} kinds |"
    yield f"| campaigns | {sum(verdict.campaigns for verdict in verdicts)} |"
    yield f"| jobs | {sum(verdict.jobs for verdict in verdicts):,} |"
    latest_end = "not in time" if None in latest else f"{max(after or 0.0 for after in latest):.0f} s"
    yield f"| longest time from the last fault of a trial to the end of a campaign | {latest_end} |"
    yield f"| violations | {sum(len(verdict.violations) for verdict in verdicts)} |"


def _invariants(verdicts: Sequence[Verdict]) -> Iterator[str]:
    broken = Counter(violation.invariant for verdict in verdicts for violation in verdict.violations)
    yield "| invariant | violations |\n| --- | ---: |"
    for invariant in INVARIANTS:
        description = " ".join((invariant.__doc__ or "").split("\n\n")[0].split())
        yield f"| {description} | {broken[invariant.__name__]} |"


def _faults(verdicts: Sequence[Verdict]) -> Iterator[str]:
    counts = _sum(verdict.faults for verdict in verdicts)
    yield "| place | faults | kinds | kinds that this machine could not cause |\n| --- | ---: | ---: | --- |"
    for place in Component:
        names = [kind.name for kind in KINDS if kind.place is place]
        kind_count = sum(counts[name] > 0 for name in names)
        impossible = ", ".join(name for name in names if not counts[name])
        yield f"| {place} | {sum(counts[name] for name in names)} | {kind_count} | {impossible} |"


def _jobs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "| what | number |\n| --- | ---: |"
    groups = {
        "outcomes": _sum(verdict.outcomes for verdict in verdicts),
        "outcomes that no runner reported, by rule:": _sum(verdict.rules for verdict in verdicts),
        "attempts that ended as": _sum(verdict.attempts for verdict in verdicts),
        "answers of pages and resources with status": _sum(
            Counter({str(status): count for status, count in verdict.answers.items()}) for verdict in verdicts
        ),
    }
    for name, counts in groups.items():
        for word, count in sorted(counts.items()):
            yield f"| {name} *{word}* | {count:,} |"


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total
