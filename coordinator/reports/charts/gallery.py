"""All figures of a campaign, made from its tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.reports.charts.figure import Figure
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData


def figures(data: ReportData, tables: Sequence[Table], tolerable: float) -> list[Figure]:
    """In the order in which a report shows them. Those of the study's sample need a reference."""
    # Altair takes a third of a second to import: no command and no start of the coordinator waits for it.
    from coordinator.reports.charts.cause_bars import causes
    from coordinator.reports.charts.density_lines import densities
    from coordinator.reports.charts.interval_dots import faster, intolerable, slowdown
    from coordinator.reports.charts.latency_scatter import first_calls, scatter
    from coordinator.reports.charts.verdict_bars import failures_by_decile, failures_in_top20, placement, portability

    by_id = {table.id: table for table in tables}
    of_the_sample = [make for make in (failures_by_decile, failures_in_top20) if make.__name__ in by_id]
    return [
        portability(data, by_id["portability"]),
        *(make(data, by_id[make.__name__]) for make in of_the_sample),
        causes(data, by_id["causes"]),
        placement(data, by_id["placement"]),
        scatter(data, by_id["scatter"], tolerable),
        slowdown(data, by_id["faster"]),
        faster(data, by_id["faster"]),
        intolerable(data, by_id["intolerable"], tolerable),
        densities(data, by_id["densities"]),
        first_calls(data, by_id["first_calls"]),
    ]
