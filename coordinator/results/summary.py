"""A campaign in plain words, for its report and for the terminal: the only place that words them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from coordinator.campaigns.models import CampaignDetail
from coordinator.formats import listed, percent, plural, significant
from coordinator.results.ratios import TargetRatios
from coordinator.results.report_data import FunctionVerdict, ReportData
from coordinator.results.statistics import Rate, geometric_mean
from coordinator.targets.models import Target

NAMED = 5
"""Functions named in a sentence; tables have all."""
MAIN = 3
"""Causes named in a sentence."""


class Section(BaseModel):
    """A few sentences about one target, or about the whole."""

    model_config = ConfigDict(frozen=True)

    heading: str
    sentences: tuple[str, ...]


class Summary(BaseModel):
    """The campaign as a whole, then each target."""

    sections: tuple[Section, ...]


def summary(
    campaign: CampaignDetail, charted: ReportData, comparisons: Sequence[TargetRatios], tolerable: float
) -> tuple[Section, ...]:
    """The campaign as a whole, then each target."""
    targets = [
        Section(heading=charted.labels[target.id], sentences=tuple(_of_target(charted, target, comparisons, tolerable)))
        for target in charted.targets
    ]
    whole = Section(heading=campaign.name or f"Campaign {campaign.id}", sentences=tuple(_of_all(campaign, charted)))
    return (whole, *targets)


def _of_all(campaign: CampaignDetail, charted: ReportData) -> list[str]:
    functions = len({each.function for each in charted.verdicts})
    counters = campaign.counters
    said = [
        f"This campaign charted {plural(functions, 'function')} of {listed(charted.frameworks) or 'no framework'} on "
        f"{plural(len(charted.targets), 'target')}: {plural(counters.total, 'job')}, "
        f"each case run {_times(campaign.runs)} on each target."
    ]
    if campaign.state == "running":
        said.append(f"It still runs: {counters.done:,} of {counters.total:,} jobs are done, and figures will change.")
    if campaign.state == "cancelled":
        said.append(f"It was cancelled: {plural(counters.cancelled, 'job')} never ran.")
    if not charted.verdicts:
        said.append("No job has an outcome yet, so there is nothing to say of any function.")
    elif not counters.passed:
        said.append(_none_passed(counters.failed, counters.skipped, counters.incomplete))
    if counters.passed and counters.incomplete:
        said.append(
            f"{plural(counters.incomplete, 'job')} stayed incomplete, for lack of a package or of a runner: these say "
            "nothing of a device, and are in no rate."
        )
    if len(charted.targets) == 1:
        said.append("There is one target only, so nothing can be said of moving from one device to another.")
    return said


def _of_target(charted: ReportData, target: Target, comparisons: Sequence[TargetRatios], tolerable: float) -> list[str]:
    where = f"Hardware: {target.hardware}."
    verdicts = charted.by_target[target.id]
    notes = [f"{_capital(each)}." for each in target.sentences]
    counted = [each for each in verdicts if each.verdict != "unknown"]
    if not counted:
        nothing = "No function has a case that passed or failed here, so nothing is known of what ports."
        return [where, *notes, nothing, *_unknown(verdicts)]
    return [
        where,
        *notes,
        _ports(counted),
        *_on_device(verdicts),
        *_causes(counted),
        *_unknown(verdicts),
        *_slow(target, comparisons, tolerable),
    ]


def _ports(counted: Sequence[FunctionVerdict]) -> str:
    words = Counter(each.verdict for each in counted)
    rate = Rate(words["success"], len(counted))
    assert rate.interval is not None
    low, high = (100 * each for each in rate.interval)
    line = (
        f"{words['success']:,} of {plural(len(counted), 'function')} port without a failure "
        f"({percent(rate.share or 0)}, interval {low:.0f} to {high:.0f} %)"
    )
    others = [(words["partial"], "in part"), (words["complete"], "not at all")]
    return line + "".join(f", {count:,} {how}" for count, how in others if count) + "."


def _on_device(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    known = [each for each in verdicts if each.verdict_on_device not in (None, "unknown")]
    fallen = [each.function for each in known if each.fell_back]
    unproven = [each for each in verdicts if each.unknown_placement]
    own = sum(each.verdict_on_device == "success" for each in known)
    said = []
    if fallen:
        said.append(
            f"On the device itself {own:,} of {len(known):,} do: the others that passed silently fell back to the "
            f"host, such as {_names(fallen)}."
        )
    elif unproven:
        said.append(f"On the device itself {own:,} of {len(known):,} are known to.")
    elif known:
        said.append("Nothing that passed is known to have fallen back to the host.")
    if unproven:
        cases = sum(each.unknown_placement or 0 for each in unproven)
        said.append(
            f"Where it ran is unknown of {plural(cases, 'case')} that passed, such as of "
            f"{_names([each.function for each in unproven])}: in no count on the device."
        )
    return said


def _causes(counted: Sequence[FunctionVerdict]) -> list[str]:
    found = Counter(verdict.cause or "unknown" for verdict in counted if verdict.verdict in ("partial", "complete"))
    if not found:
        return []
    failed = sum(verdict.failed for verdict in counted)
    unknown = sum(verdict.unknown_cause for verdict in counted)
    return [
        f"The main causes of failure are {_most_frequent(found)}.",
        *([f"No rule knows the cause of {unknown:,} of {plural(failed, 'failed case')}."] if unknown else []),
    ]


def _unknown(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    unknown = [verdict for verdict in verdicts if verdict.verdict == "unknown"]
    if not unknown:
        return []
    causes = Counter(verdict.not_counted_cause or "unknown" for verdict in unknown)
    return [
        f"{plural(len(unknown), 'function')} {'is' if len(unknown) == 1 else 'are'} unknown: every case was "
        f"skipped or incomplete ({_most_frequent(causes)}), such as of {_names([each.function for each in unknown])}."
    ]


def _most_frequent(causes: Counter[str]) -> str:
    # The alphabet decides between equals, as in the tables.
    main = sorted(causes.items(), key=lambda counted: (-counted[1], counted[0]))[:MAIN]
    return listed([f"{cause} ({functions:,})" for cause, functions in main])


def _slow(target: Target, comparisons: Sequence[TargetRatios], tolerable: float) -> list[str]:
    """Against the target that it is compared with."""
    sentences = []
    for comparison in comparisons:
        if not comparison.targets or comparison.targets[1] != target.id:
            continue
        ratios, base = comparison.functions, comparison.base
        if not ratios:
            sentences.append(f"No function was measured both here and on {base}, so its latency is compared with none.")
            continue
        whole = geometric_mean([function.value for function in ratios]).value or 0
        faster = sum(function.value < 1 for function in ratios)
        functions = plural(len(ratios), "function")
        sentences.append(
            f"A call takes {significant(whole)} times as long as on {base} (geometric mean over {functions}; "
            f"{faster:,} {'is' if faster == 1 else 'are'} faster)."
        )
        slow = [function for function in ratios if function.value > tolerable]
        if slow:
            named = listed([f"{each.function} ({significant(each.value)} times)" for each in slow[:NAMED]])
            sentences.append(
                f"{len(slow):,} of {len(ratios):,} run intolerably slow, more than {tolerable:g} times as long: "
                f"such as {named}."
            )
        else:
            sentences.append(f"None takes more than {tolerable:g} times as long.")
    return sentences


def _none_passed(failed: int, skipped: int, incomplete: int) -> str:
    parts = [(failed, "failed"), (skipped, "skipped"), (incomplete, "incomplete")]
    told = listed([f"{count:,} {word}" for count, word in parts if count]) or "none done"
    return (
        f"No job passed: {told}. Where everything fails, suspect the installation before the device: run one of the "
        "commands below by hand."
    )


def _names(functions: Sequence[str]) -> str:
    named = sorted(functions)[:NAMED]
    others = len(functions) - len(named)
    return listed([*named, *([f"{others:,} more"] if others else [])])


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
