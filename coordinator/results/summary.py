"""What a campaign found, in plain words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coordinator.campaigns.models import CampaignDetail
from coordinator.reports.models import Charted, FunctionVerdict, Target
from coordinator.results.ratios import Comparison
from coordinator.results.statistics import Rate, geometric_mean

NAMED = 5
"""Functions named in a sentence; tables have all."""


@dataclass(frozen=True)
class Told:
    """A few sentences about one target, or about the whole."""

    heading: str
    sentences: tuple[str, ...]


def summary(
    campaign: CampaignDetail, charted: Charted, comparisons: Sequence[Comparison], tolerable: float
) -> tuple[Told, ...]:
    """The campaign as a whole, then each target."""
    targets = [
        Told(charted.labels[each.id], tuple(_of_target(charted, each, comparisons, tolerable)))
        for each in charted.targets
    ]
    return (Told(campaign.name or f"Campaign {campaign.id}", tuple(_of_all(campaign, charted))), *targets)


def _of_all(campaign: CampaignDetail, charted: Charted) -> list[str]:
    functions = len({each.function for each in charted.verdicts})
    counters = campaign.counters
    said = [
        f"This campaign charted {_plural(functions, 'function')} of {_listed(charted.frameworks) or 'no framework'} on "
        f"{_plural(len(charted.targets), 'target')}: {_plural(counters.total, 'job')}, "
        f"each case run {_times(campaign.runs)} on each target."
    ]
    if campaign.state == "running":
        said.append(f"It still runs: {counters.done:,} of {counters.total:,} jobs are done, and figures will change.")
    if campaign.state == "cancelled":
        said.append(f"It was cancelled: {_plural(counters.cancelled, 'job')} never ran.")
    if not charted.verdicts:
        said.append("No job has an outcome yet, so there is nothing to say of any function.")
    elif not counters.passed:
        said.append(_none_passed(counters.failed, counters.skipped, counters.incomplete))
    if counters.passed and counters.incomplete:
        said.append(
            f"{_plural(counters.incomplete, 'job')} stayed incomplete, for lack of a package or of a runner: these say "
            "nothing of a device, and are in no rate."
        )
    if len(charted.targets) == 1:
        said.append("There is one target only, so nothing can be said of moving from one device to another.")
    return said


def _of_target(charted: Charted, target: Target, comparisons: Sequence[Comparison], tolerable: float) -> list[str]:
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
        f"{words['success']:,} of {_plural(len(counted), 'function')} port without a failure "
        f"({100 * (rate.share or 0):.0f} %, interval {low:.0f} to {high:.0f} %)"
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
            f"Where it ran is unknown of {_plural(cases, 'case')} that passed, such as of "
            f"{_names([each.function for each in unproven])}: in no count on the device."
        )
    return said


def _causes(counted: Sequence[FunctionVerdict]) -> list[str]:
    found = Counter(each.cause or "unknown" for each in counted if each.verdict in ("partial", "complete"))
    if not found:
        return []
    # The alphabet decides between equals, as in the tables.
    main = sorted(found.items(), key=lambda each: (-each[1], each[0]))[:3]
    return ["The main causes of failure are " + _listed([f"{cause} ({n:,})" for cause, n in main]) + "."]


def _unknown(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    unknown = [each.function for each in verdicts if each.verdict == "unknown"]
    if not unknown:
        return []
    return [
        f"{_plural(len(unknown), 'function')} {'is' if len(unknown) == 1 else 'are'} unknown: every case was "
        f"skipped or incomplete, such as of {_names(unknown)}."
    ]


def _slow(target: Target, comparisons: Sequence[Comparison], tolerable: float) -> list[str]:
    """Against the target that it is compared with."""
    said = []
    for each in comparisons:
        if not each.targets or each.targets[1] != target.id:
            continue
        if not each.functions:
            said.append(f"No function was measured both here and on {each.base}, so its latency is compared with none.")
            continue
        whole = geometric_mean([one.value for one in each.functions]).value or 0
        n = len(each.functions)
        said.append(
            f"A call takes {whole:.3g} times as long as on {each.base} (geometric mean over {_plural(n, 'function')})."
        )
        slow = [one for one in each.functions if one.value > tolerable]
        if slow:
            said.append(
                f"{len(slow):,} of {n:,} run intolerably slow, more than {tolerable:g} times as long: such as "
                + _listed([f"{one.function} ({one.value:.0f} times)" for one in slow[:NAMED]])
                + "."
            )
        else:
            said.append(f"None takes more than {tolerable:g} times as long.")
    return said


def _none_passed(failed: int, skipped: int, incomplete: int) -> str:
    parts = [(failed, "failed"), (skipped, "skipped"), (incomplete, "incomplete")]
    told = _listed([f"{count:,} {word}" for count, word in parts if count]) or "none done"
    return (
        f"No job passed: {told}. Where everything fails, suspect the installation before the device: run one of the "
        "commands below by hand."
    )


def _names(functions: Sequence[str]) -> str:
    named = sorted(functions)[:NAMED]
    others = len(functions) - len(named)
    return _listed([*named, *([f"{others:,} more"] if others else [])])


def _listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
