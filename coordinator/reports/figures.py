"""All figures of a campaign, made from its tables; each by its id. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.errors import NotFoundError
from coordinator.reports import latency_figures, verdict_figures
from coordinator.reports.figure import Figure
from coordinator.reports.table import Table
from coordinator.results.report_data import Charted


def figures(charted: Charted, tables: Sequence[Table], tolerable: float) -> list[Figure]:
    """In the order in which a report shows them. Those of the study's sample need a reference."""
    by_id = {each.id: each for each in tables}
    found = [verdict_figures.portability(charted, by_id["portability"])]
    if "failures_by_decile" in by_id:
        found += [
            verdict_figures.failures_by_decile(charted, by_id["failures_by_decile"]),
            verdict_figures.failures_in_top20(charted, by_id["failures_in_top20"]),
        ]
    return [
        *found,
        verdict_figures.causes(charted, by_id["causes"]),
        verdict_figures.placement(charted, by_id["placement"]),
        latency_figures.scatter(charted, by_id["scatter"], tolerable),
        latency_figures.slowdown(charted, by_id["faster"]),
        latency_figures.faster(charted, by_id["faster"]),
        latency_figures.intolerable(charted, by_id["intolerable"], tolerable),
        latency_figures.densities(charted, by_id["densities"]),
        latency_figures.first_calls(charted, by_id["first_calls"]),
    ]


def figure_of(found: Sequence[Figure], id: str) -> Figure:
    """Raises ``NotFoundError`` that names what there is."""
    named = next((each for each in found if each.id == id), None)
    if named is None:
        raise NotFoundError(f"no figure is called {id!r}; there are: {', '.join(each.id for each in found)}")
    return named


def table_of(found: Sequence[Table], id: str) -> Table:
    named = next((each for each in found if each.id == id), None)
    if named is None:
        raise NotFoundError(f"no table is called {id!r}; there are: {', '.join(each.id for each in found)}")
    return named
