"""A campaign's results in plain sentences. The report and the terminal show them. It does no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from coordinator.campaigns.models import CampaignDetail
from coordinator.catalogue.coverage import sentence
from coordinator.catalogue.sample import sample_sentence
from coordinator.figures.counting import CLASS_RULES, FORWARD, INDEPENDENT, ON_DEVICE, WITHOUT_HOST_WORK, CountingRule
from coordinator.figures.formats import join_words, percent, plural, significant
from coordinator.results.judges import judge_counts, judges_sentence
from coordinator.results.lowerings import lowering_sentence, lowering_words
from coordinator.results.ratios import TargetRatios
from coordinator.results.report_data import FunctionVerdict, ReportData
from coordinator.results.statistics import Rate, geometric_mean
from coordinator.targets.models import NOT_RUN, Target

NAMED = 5
"""The maximum number of functions named in a sentence; tables have all."""
MAIN = 3
"""The maximum number of causes named in a sentence."""


class Section(BaseModel):
    """Some sentences about one target, or about the whole campaign."""

    model_config = ConfigDict(frozen=True)

    heading: str
    sentences: tuple[str, ...]


class Summary(BaseModel):
    """The sentences about the whole campaign, followed by those about each target."""

    sections: tuple[Section, ...]


def summary(
    campaign: CampaignDetail, data: ReportData, comparisons: Sequence[TargetRatios], tolerable: float
) -> tuple[Section, ...]:
    """The section about the whole campaign, followed by a section for each target."""
    targets = [
        Section(heading=data.labels[target.id], sentences=tuple(_of_target(data, target, comparisons, tolerable)))
        for target in data.targets
    ]
    whole = Section(heading=campaign.name or f"Campaign {campaign.id}", sentences=tuple(_of_all(campaign, data)))
    return (whole, *targets)


def _of_all(campaign: CampaignDetail, data: ReportData) -> list[str]:
    functions = len({verdict.function for verdict in data.verdicts})
    counters = campaign.counters
    sentences = [
        *_cancellation(campaign),
        *_missing_cases(campaign, data),
        f"This campaign charted {plural(functions, 'function')} of {join_words(data.frameworks) or 'no framework'} on "
        f"{plural(len(data.targets), 'target')}: {plural(counters.total, 'job')}, "
        f"each case run {_times(campaign.runs)} on each target.",
    ]
    if data.sample is not None:
        sentences.append(sample_sentence(data.sample, campaign.suite))
    sentences += [sentence(coverage) for coverage in data.coverages]
    if (judges := judges_sentence(data.judged)) is not None:
        sentences.append(judges)
    if campaign.state == "running":
        sentences.append(
            f"The campaign is still running: {counters.done:,} of {counters.total:,} jobs are done. "
            "Figures will change."
        )
    if not data.verdicts:
        sentences.append("No job has an outcome yet, so no function has a verdict.")
    elif not counters.passed and data.run_targets:
        sentences.append(_none_passed(counters.failed, counters.skipped, counters.incomplete))
    if len(data.targets) == 1:
        sentences.append("The campaign has only one target, so devices cannot be compared.")
    return sentences


def _cancellation(campaign: CampaignDetail) -> list[str]:
    if campaign.state != "cancelled":
        return []
    return [
        f"The campaign was cancelled: {plural(campaign.counters.cancelled, 'job')} never ran. A function that misses a "
        "case because of this is excluded from the rates below."
    ]


def _missing_cases(campaign: CampaignDetail, data: ReportData) -> list[str]:
    """The first sentences of a summary: how many cases have no result, and which functions have no verdict because of
    this."""
    missing = [verdict for verdict in data.verdicts if verdict.incomplete]
    if not missing:
        return []
    functions = {verdict.function for verdict in missing}
    unknown = {verdict.function for verdict in missing if verdict.anywhere.verdict == "unknown"}
    of = len({verdict.function for verdict in data.verdicts})
    cases = sum(verdict.incomplete for verdict in missing)
    lack = "because a package or a runner was missing"
    reasons = f"because the campaign was cancelled, or {lack}" if campaign.state == "cancelled" else lack
    return [
        f"Results are missing: {plural(cases, 'case')} of {len(functions):,} of {plural(of, 'function')} ended without "
        f"a result, {reasons}. They say nothing about a device. {len(unknown):,} of the functions "
        f"{_have(len(unknown))} no verdict because of them."
    ]


def _of_target(data: ReportData, target: Target, comparisons: Sequence[TargetRatios], tolerable: float) -> list[str]:
    where = f"Hardware: {target.hardware}."
    verdicts = data.by_target[target.id]
    notes = [f"{_capital(sentence)}." for sentence in target.sentences]
    if target.is_lowered:
        return [where, *notes, *_lowering_rate(data, target)]
    rated_verdicts = [verdict for verdict in verdicts if verdict.is_rated]
    if not rated_verdicts:
        nothing = "No function has a verdict here, so portability is unknown."
        return [where, *notes, nothing, *_acceptances(verdicts), *_of_another_device(verdicts), *_unknown(verdicts)]
    return [
        where,
        *notes,
        _ports(rated_verdicts, sum(verdict.is_missing_cases for verdict in verdicts)),
        *_judged_by_itself(data, rated_verdicts),
        *_in_part(data, rated_verdicts),
        *_not_at_all(rated_verdicts),
        *_without_host_work(rated_verdicts),
        *_on_device(
            data, [verdict for verdict in verdicts if verdict.is_rated or verdict.anywhere.verdict == "unknown"]
        ),
        *_by_class(rated_verdicts),
        *_causes(rated_verdicts),
        *_acceptances(verdicts),
        *_of_another_device(verdicts),
        *_unknown(verdicts),
        *_slow(data, target, comparisons, tolerable),
    ]


def _lowering_rate(data: ReportData, target: Target) -> list[str]:
    """For a target that only lowers programs: the rate of functions without a missing lowering, and the other
    functions."""
    lacking = [verdict for verdict in data.by_target[target.id] if verdict.not_lowered]
    examples = [f"{verdict.function} ({lowering_words(verdict)})" for verdict in lacking[:NAMED]]
    more = [f"{len(lacking) - NAMED:,} more"] if len(lacking) > NAMED else []
    return [
        f"{_capital(NOT_RUN)}: {lowering_sentence(data.lowering_rate(target))}",
        *([f"Functions without a lowering: {join_words([*examples, *more])}."] if lacking else []),
        *_unknown([verdict for verdict in data.by_target[target.id] if verdict.lowering is None]),
    ]


def ports_in_short(anywhere: Mapping[str, int], on_device: Mapping[str, int]) -> str | None:
    """The rates in one phrase: ``47 of 60 functions pass every case, 33 of 54 on the device``. None if no function has
    a verdict.

    The arguments are the numbers of rated functions by verdict.
    """
    (passing, of), (own, own_of) = (
        (words["success"], words["success"] + words["partial"] + words["complete"]) for words in (anywhere, on_device)
    )
    if not of:
        return None
    on_it = f", {own:,} of {own_of:,} on the device" if own_of else ""
    return f"{_passing_text(passing, of)}{on_it}"


def _passing_text(passing: int, of: int) -> str:
    return f"{passing:,} of {plural(of, 'function')} {'passes' if of == 1 else 'pass'} every case"


def _ports(rated_verdicts: Sequence[FunctionVerdict], missing: int) -> str:
    """The rate of the functions with a verdict. If some functions lack cases, also the lowest and highest possible rate
    over all functions."""
    words = Counter(verdict.anywhere.verdict for verdict in rated_verdicts)
    rate = Rate(words["success"], len(rated_verdicts))
    assert rate.interval is not None
    low, high = (100 * share for share in rate.interval)
    passing = _passing_text(words["success"], len(rated_verdicts))
    line = f"{passing} ({percent(rate.share or 0)}, interval {low:.0f} to {high:.0f} %)"
    others = [(words["partial"], "some"), (words["complete"], "all")]
    line += "".join(f", {count:,} {'fails' if count == 1 else 'fail'} {how}" for count, how in others if count)
    if not missing:
        return f"{line}."
    of = len(rated_verdicts) + missing
    least, most = (100 * count / of for count in (words["success"], words["success"] + missing))
    lack = "lacks" if missing == 1 else "lack"
    return (
        f"{line}. {missing:,} more {lack} results of some cases, so the rate over all {of:,} is between {least:.0f} "
        f"and {most:.0f} %."
    )


def named_with_condition(data: ReportData) -> list[tuple[str, str]]:
    """The functions (framework and name) whose condition the summary mentions."""
    functions = {
        (target.framework, verdict.function)
        for target in data.run_targets
        for verdicts in [data.by_target[target.id]]
        for verdict in (*_partial(verdicts)[:NAMED], *_falling_back(verdicts)[:NAMED])
    }
    return sorted(functions)


def _partial(verdicts: Sequence[FunctionVerdict]) -> list[FunctionVerdict]:
    """The functions that fail some cases, the function with the most failed cases first."""
    partial = [verdict for verdict in verdicts if verdict.is_rated and verdict.anywhere.verdict == "partial"]
    return sorted(partial, key=lambda row: (-row.anywhere.failed, row.function))


def _falling_back(verdicts: Sequence[FunctionVerdict]) -> list[FunctionVerdict]:
    """The functions with cases that passed by falling back, the function with the most such cases first."""
    falling_back = [row for row in verdicts if row.verdict_by(ON_DEVICE) not in (None, "unknown") and row.fell_back]
    return sorted(falling_back, key=lambda row: (-row.fell_back, row.function))


def _in_part(data: ReportData, rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """The functions that fail some cases. If options separate a function's failing cases, they are named."""
    partial = _partial(rated_verdicts)
    if not partial:
        return []
    examples = []
    for verdict in partial:
        condition = data.conditions.get((verdict.target_id, verdict.function))
        short = condition.short_failing if condition else f"{verdict.anywhere.failed} of {verdict.anywhere.total}"
        examples.append(f"{verdict.function} ({short})")
    return [f"Functions that fail some cases: {join_words(examples, NAMED)}."]


def _judged_by_itself(data: ReportData, rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """The number of functions that only the same framework judged, and the rate of the other functions."""
    if not judge_counts(data.judged):
        return []  # no suite names its references
    independent = [verdict for verdict in rated_verdicts if verdict.verdict_by(INDEPENDENT) not in (None, "unknown")]
    alone = len(rated_verdicts) - len(independent)
    if not alone:
        return []
    line = f"For {alone:,} of these, the same framework on the CPU is the only reference"
    if not independent:
        return [f"{line}."]
    passing = sum(verdict.verdict_by(INDEPENDENT) == "success" for verdict in independent)
    return [
        f"{line}. Of the {len(independent):,} with an independent reference, {passing:,} "
        f"{'passes' if passing == 1 else 'pass'} every case that it judges."
    ]


def _not_at_all(rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """The functions that fail every case, the function with the most cases first, and how many of them have only one
    case."""
    failing = sorted(
        (verdict for verdict in rated_verdicts if verdict.anywhere.verdict == "complete"),
        key=lambda row: (-row.anywhere.total, row.function),
    )
    if not failing:
        return []
    by_one = sum(verdict.anywhere.total == 1 for verdict in failing)
    alone = f". {by_one:,} of these {'has' if by_one == 1 else 'have'} only one case" if by_one else ""
    examples = join_words(
        [f"{verdict.function} (0 of {plural(verdict.anywhere.total, 'case')})" for verdict in failing], NAMED
    )
    return [f"Functions that fail all cases: {examples}{alone}."]


def _without_host_work(rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """The rate without cases that are work of the host, which no accelerator or compiler is made for."""
    cases = sum(verdict.host_work for verdict in rated_verdicts)
    if not cases:
        return []
    left = [word for verdict in rated_verdicts if (word := verdict.verdict_by(WITHOUT_HOST_WORK)) != "unknown"]
    passing = left.count("success")
    share = f" ({percent(passing / len(left))})" if left else ""
    return [
        f"Without the {plural(cases, 'failed case')} that {_are(cases)} host work (data sets, strings, tables, files, "
        f"prints), {passing:,} of {plural(len(left), 'function')} {'passes' if len(left) == 1 else 'pass'} every "
        f"case{share}."
    ]


def _on_device(data: ReportData, verdicts: Sequence[FunctionVerdict]) -> list[str]:
    proven = [verdict for verdict in verdicts if verdict.verdict_by(ON_DEVICE) not in (None, "unknown")]
    falling_back = _falling_back(proven)
    unproven = [verdict for verdict in verdicts if verdict.unproven]
    own = sum(verdict.verdict_by(ON_DEVICE) == "success" for verdict in proven)
    sentences = []
    if falling_back:
        sentences.append(
            f"On the device: {own:,} of {len(proven):,}. {plural(len(falling_back), 'function')} passed a case only "
            f"because the framework silently ran it on the host: "
            f"{join_words([_falling(data, row) for row in falling_back], NAMED)}."
        )
    elif unproven:
        sentences.append(f"On the device: {own:,} of {len(proven):,} with proven placement.")
    elif proven:
        sentences.append("No passing case is known to have fallen back to the host.")
    if unproven:
        cases = sum(verdict.unproven for verdict in unproven)
        sentences.append(
            f"{plural(cases, 'passing case')} of {_names([verdict.function for verdict in unproven])} "
            f"{'has' if cases == 1 else 'have'} unknown placement and {_are(cases)} excluded from on-device counts."
        )
    return sentences


def _falling(data: ReportData, verdict: FunctionVerdict) -> str:
    condition = data.conditions.get((verdict.target_id, verdict.function))
    return f"{verdict.function} ({condition.short_falling_back})" if condition else verdict.function


def _by_class(rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """The rates for gradients and for 16-bit types, next to the rate for other cases. Empty if the suite has no such
    cases."""
    rates = {rule: _rate_by(rated_verdicts, rule) for rule in CLASS_RULES}
    forward = rates.pop(FORWARD)
    if not forward.n or not any(rate.n for rate in rates.values()):
        return []
    others = [f"{rate.count:,} of {rate.n:,} in {rule.label}" for rule, rate in rates.items() if rate.n]
    return [
        f"On the device by class of case: {forward.count:,} of {plural(forward.n, 'function')} "
        f"{'passes' if forward.n == 1 else 'pass'} every forward case, {join_words(others)}."
    ]


def _rate_by(verdicts: Sequence[FunctionVerdict], rule: CountingRule) -> Rate:
    """The share of functions that pass every case that the rule counts. Only functions that the rule rates are
    included."""
    words = [word for verdict in verdicts if (word := verdict.verdict_by(rule)) not in (None, "unknown")]
    return Rate(words.count("success"), len(words))


def _causes(rated_verdicts: Sequence[FunctionVerdict]) -> list[str]:
    causes = Counter(
        counts.cause or "unknown"
        for counts in (verdict.anywhere for verdict in rated_verdicts)
        if counts.verdict in ("partial", "complete")
    )
    if not causes:
        return []
    failing_cases = sum(verdict.anywhere.failed for verdict in rated_verdicts)
    unknown = sum(verdict.unknown_cause for verdict in rated_verdicts)
    return [
        f"The main causes of failure are {_most_frequent(causes)}.",
        *([f"No rule explains {unknown:,} of {plural(failing_cases, 'failed case')}."] if unknown else []),
    ]


def _acceptances(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    """A sentence about silently accepted cases. No rate counts them, because a result where the host raises an error is
    neither right nor wrong."""
    accepting = sorted((row for row in verdicts if row.accepted), key=lambda row: (-row.accepted, row.function))
    if not accepting:
        return []
    cases = sum(row.accepted for row in accepting)
    examples = join_words([f"{row.function} ({row.accepted:,})" for row in accepting], NAMED)
    return [
        f"Silently accepted: in {plural(cases, 'case')} of {plural(len(accepting), 'function')} the call returns a "
        f"result where the host raises an error. {'It counts' if cases == 1 else 'They count'} neither as passed nor "
        f"as failed: {examples}."
    ]


def _of_another_device(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    others = [row.function for row in verdicts if row.anywhere.verdict != "unknown" and not row.is_rated]
    if not others:
        return []
    return [
        f"{plural(len(others), 'function')} {'needs' if len(others) == 1 else 'need'} another device than this target "
        f"and {_are(len(others))} excluded from the rates: {_names(others)}."
    ]


def _unknown(verdicts: Sequence[FunctionVerdict]) -> list[str]:
    # Functions with silently accepted cases were already named.
    unknown = [verdict for verdict in verdicts if verdict.anywhere.verdict == "unknown" and not verdict.accepted]
    without_run = [verdict for verdict in unknown if not verdict.is_missing_cases]
    missing = [verdict for verdict in unknown if verdict.is_missing_cases]
    reasons = ((without_run, "every case was skipped"), (missing, "a case is incomplete, and no case that ran failed"))
    return [
        f"{plural(len(functions), 'function')} {_have(len(functions))} no verdict: {reason} "
        f"({_most_frequent(Counter(row.not_counted_cause or 'unknown' for row in functions))}): "
        f"{_names([row.function for row in functions])}."
        for functions, reason in reasons
        if functions
    ]


def _most_frequent(causes: Counter[str]) -> str:
    # Functions with equal ratios are ordered by name, as in the tables.
    main = sorted(causes.items(), key=lambda counted: (-counted[1], counted[0]))[:MAIN]
    return join_words([f"{cause} ({functions:,})" for cause, functions in main])


def _slow(data: ReportData, target: Target, comparisons: Sequence[TargetRatios], tolerable: float) -> list[str]:
    """The slowdown of the target, compared with its base."""
    sentences = []
    for comparison in comparisons:
        if not comparison.targets or comparison.targets[1] != target.id:
            continue
        ratios, base = comparison.functions, comparison.base
        if not ratios:
            sentences.append(f"No function was measured both here and on {base}, so latencies cannot be compared.")
            continue
        whole = geometric_mean([function.value for function in ratios], with_interval=False).value or 0
        faster = sum(function.value < 1 for function in ratios)
        functions = plural(len(ratios), "function")
        sentences.append(
            f"A call takes {significant(whole)} times as long as on {base} (geometric mean over {functions}; "
            f"{faster:,} {_are(faster)} faster)."
        )
        slow = [function for function in ratios if function.value > tolerable]
        if slow:
            examples = join_words(
                [f"{function.function} ({significant(function.value)} times)" for function in slow], NAMED
            )
            sentences.append(
                f"{len(slow):,} of {len(ratios):,} {_are(len(slow))} intolerably slow (more than {tolerable:g} times "
                f"as long): {examples}."
            )
        else:
            sentences.append(f"No function takes more than {tolerable:g} times as long.")
        sentences += _without_latency(data, target)
    return sentences


def _without_latency(data: ReportData, target: Target) -> list[str]:
    """A sentence about functions that have no ratio because of their placement. The slowest functions may be among
    them."""
    latencies = data.medians[target.id]
    left_out = [
        verdict.function
        for verdict in data.by_target[target.id]
        if (verdict.fell_back or verdict.unproven) and verdict.function not in latencies
    ]
    if not left_out:
        return []
    have = "has" if len(left_out) == 1 else "have"
    return [
        f"{plural(len(left_out), 'function')} that fell back or {have} unknown placement {have} no latency here: "
        f"{_names(left_out)}. The slowest functions may be among them."
    ]


def _none_passed(failures: int, skips: int, incomplete: int) -> str:
    parts = [(failures, "failed"), (skips, "skipped"), (incomplete, "incomplete")]
    counts = join_words([f"{count:,} {word}" for count, word in parts if count]) or "none done"
    return (
        f"No job passed: {counts}. When everything fails, check the installation before the device: run one of the "
        "commands below by hand."
    )


def _names(functions: Sequence[str]) -> str:
    return join_words(sorted(functions), NAMED)


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _have(n: int) -> str:
    return "has" if n == 1 else "have"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
