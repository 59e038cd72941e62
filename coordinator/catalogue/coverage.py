"""Coverage: the share of a release's public functions that is charted, unweighted and weighted by use. This module does
no I/O.

The terminal, the pages, REST and the report all show the shares that are computed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest

from coordinator.catalogue.models import Coverage, ReleaseCoverage, Share, UsedFunction
from coordinator.catalogue.releases import Release, Uses
from coordinator.catalogue.surfaces import plain_name
from coordinator.figures.formats import UNKNOWN, number, plural
from protocol.enums import CONFORMANCE_SUITE

ALL_SUITES = "all suites"
NAMED = 20
"""The maximum length of the list of the most used functions that no suite charts."""


def coverage(suite: str, functions: Collection[str], release: Release, instead_of: str | None = None) -> Coverage:
    """Compute which share of a release's functions is in ``functions``, the charted functions of a suite."""
    entries_by_name = {name: release.surface.resolve(name) for name in sorted(set(functions))}
    entry_names = {entry.name for entry in entries_by_name.values() if entry is not None}
    run = {plain_name(name) for name in entries_by_name}

    def share(of: Collection[str]) -> Share:
        return Share(charted=len(entry_names.intersection(of)), of=len(of))

    def weighted_share(uses: Uses, of: int) -> Share | None:
        if release.corpus is None:
            return None
        uses_of_names = [
            (name in run, times) for key in entry_names & release.kinds.keys() for name, times in _of(uses, key)
        ]
        own = sum(times for was_run, times in uses_of_names if was_run)
        return Share(charted=own, of=of, twins=sum(times for _, times in uses_of_names) - own)

    return Coverage(
        suite=suite,
        release=release.name,
        instead_of=instead_of,
        corpus=release.corpus,
        functions=share(release.functions),
        members=share(release.members),
        uses=weighted_share(release.certain, release.certain_uses),
        guessed=weighted_share(release.guessed, release.guessed_uses),
        host_only=share(release.host_only),
        host_only_uses=_sum(release.certain, release.host_only),
        array_uses=_sum(release.certain, release.arrays),
        removed=tuple(name for name, entry in entries_by_name.items() if entry is None),
        unresolved_uses=release.unresolved_uses,
    )


def suites_coverage(
    suite_functions: Mapping[tuple[str, str], Collection[str]], release: Release
) -> ReleaseCoverage | None:
    """The coverage of a release by each suite of its framework, and by all suites together; None if there is no suite.

    The keys of ``suite_functions`` are pairs of suite and framework. The suite that only checks runners is left out.
    """
    framework = release.surface.header.framework
    own = {
        name: names for (name, of), names in suite_functions.items() if of == framework and name != CONFORMANCE_SUITE
    }
    if not own:
        return None
    everything = frozenset[str]().union(*own.values())
    return ReleaseCoverage(
        release=release.name,
        framework=framework,
        suites=[coverage(name, names, release) for name, names in sorted(own.items())],
        together=coverage(ALL_SUITES, everything, release),
        uncharted=most_used_uncharted(everything, release),
    )


def most_used_uncharted(functions: Collection[str], release: Release) -> list[UsedFunction]:
    entries = (release.surface.resolve(name) for name in functions)
    entry_names = {entry.name for entry in entries if entry is not None}
    left = [(-_sum(release.certain, (name,)), name) for name in release.kinds.keys() - entry_names]
    return [UsedFunction(function=name, uses=-uses) for uses, name in nsmallest(NAMED, left) if uses]


def rows_of(coverage_of: ReleaseCoverage) -> Sequence[Coverage]:
    """The rows of a table: one for each suite, and one for all suites together if there are several."""
    return [*coverage_of.suites, *([coverage_of.together] if len(coverage_of.suites) > 1 else [])]


def share_text(share: Share | None) -> str:
    """The share in words: ``954/4,480 (21.3 %)``."""
    if share is None or share.ratio is None:
        return UNKNOWN
    return f"{number(share.charted)}/{number(share.of)} ({percent_of(share.charted, share.of)})"


def percent_of(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %"


def sentence(row: Coverage) -> str:
    """The coverage by a campaign as a sentence. The campaign's summary, pages and report all show this sentence."""
    surface = f"{row.release}, the nearest surface to {row.instead_of}," if row.instead_of else row.release
    text = (
        f"Of {surface} it charted {share_text(row.functions)} functions and classes and "
        f"{share_text(row.members)} members of classes"
    )
    uses = row.uses
    if uses is None or not uses.of:
        return f"{text}."
    twins = (
        f"; another {percent_of(uses.twins, uses.of)} are uses of the same objects under other names, which did not run"
        if uses.twins
        else ""
    )
    return f"{text}. They have {share_text(uses)} of the certain uses in {row.corpus}{twins}."


def table_head() -> tuple[str, ...]:
    """The column titles of a table of coverages."""
    return (
        *("suite", "release", "functions", "members", "uses", "uses by other names", "guessed uses"),
        *("host only", "not in the release", "uses unresolved"),
    )


def table_row(row: Coverage) -> tuple[str, ...]:
    return (
        *(row.suite, row.release, *map(share_text, (row.functions, row.members, row.uses))),
        UNKNOWN if row.uses is None else number(row.uses.twins),
        *map(share_text, (row.guessed, row.host_only)),
        *map(number, (len(row.removed), row.unresolved_uses)),
    )


def remark(row: Coverage) -> str:
    """A sentence about the names that no share includes."""
    return (
        f"Excluded from every share of {row.release}: {plural(row.host_only.of, 'name')} that never touch a device "
        f"({plural(row.host_only_uses, 'use')}), and {plural(row.array_uses, 'use')} of the classes of arrays, "
        "which are mostly annotations."
    )


def _of(uses: Uses, name: str) -> Iterable[tuple[str, int]]:
    return uses.get(name, {}).items()


def _sum(uses: Uses, names: Iterable[str]) -> int:
    return sum(times for name in names for _, times in _of(uses, name))
