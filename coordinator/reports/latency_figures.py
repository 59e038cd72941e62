"""What moving to another device costs: the figures of latency. Pure."""

from __future__ import annotations

import math
from typing import Any

from coordinator.reports import marks
from coordinator.reports.figure import Figure, figure, label
from coordinator.reports.marks import Rows
from coordinator.reports.table import Cell, Table
from coordinator.results.report_data import MEASURES, Charted
from coordinator.results.statistics import Estimate, Rate

FEWEST = 2
"""Of fewer functions than this a panel shows nothing."""
MOST = 5000
"""Points of a panel; of more, every so many-th is drawn, and the figure says so."""
NOTHING_COMPARED = (
    "No function was measured on two targets of one framework, so there is nothing to set against each other: chart a "
    "second device of the same framework, with timing on."
)


def scatter(charted: Charted, table: Table, tolerable: float) -> Figure:
    """Figure 1: a point a function, from one device to the other."""
    rows = [
        {
            "pair": _pair(charted, record),
            "function": record["function"],
            "x": record["base_ms"],
            "y": record["other_ms"],
            "published": record["source"] != charted.name,
        }
        for record in table.records()
        if _positive(record["base_ms"]) and _positive(record["other_ms"])
    ]
    rows, thinned = _panels(rows, "pair")
    slower = {pair: _share_of(rows, pair) for pair in dict.fromkeys(str(row["pair"]) for row in rows)}
    return figure(
        charted,
        table,
        "scatter",
        drawing=marks.against(rows, "pair", "latency on the first device", "latency on the second device", tolerable)
        if rows
        else None,
        counted=f"Each point is a function; measured is {MEASURES[charted.measure]}. Functions that passed on both, "
        f"proven on the device. On the line both take as long; above the dashed one the second takes more than "
        f"{tolerable:g} times as long.{thinned}",
        alternative="Latency of each function on two devices: "
        + "; ".join(f"{pair}, {count} of {n} slower" for pair, (count, n) in slower.items())
        + ".",
        silent=_too_few(table) if table.rows else NOTHING_COMPARED,
    )


def densities(charted: Charted, table: Table) -> Figure:
    """Figures 2 and 8 to 10."""
    rows = [
        {
            "framework": record["framework"],
            "published": record["source"] != charted.name,
            "target": _of_source(charted, record["source"], str(record["target"])),
            "milliseconds": record["milliseconds"],
            "density": record["density"],
            "functions": record["functions"],
        }
        for record in table.records()
    ]
    names = list(dict.fromkeys(str(row["target"]) for row in rows))
    ns = {row["target"]: row["functions"] for row in rows}
    return figure(
        charted,
        table,
        "densities",
        drawing=marks.lines(rows, names) if rows else None,
        counted=f"Kernel densities over functions, measured is {MEASURES[charted.measure]}; "
        + ", ".join(f"{name} n {n}" for name, n in ns.items())
        + ".",
        alternative="How latencies lie; most functions take about: "
        + "; ".join(f"{name} {_peak(rows, name):.3g} ms" for name in names)
        + ".",
        silent="No target has latencies of five functions that differ: a density of fewer would be invented. Chart "
        "more functions, with timing on.",
    )


def faster(charted: Charted, table: Table) -> Figure:
    """Figures 3 and 7."""
    parts = {"faster": "faster", "faster_by_half": "at least 1.5 times faster"}
    rows = _shares(charted, table, parts)
    return figure(
        charted,
        table,
        "faster",
        drawing=marks.dots(rows, parts, "functions that are faster there") if rows else None,
        counted="Of the functions that passed on both devices. Lines are Wilson intervals of 95 %; what was published "
        "without n has none.",
        alternative="Functions that are faster on the second device: " + _said(rows, "faster") + ".",
        silent=NOTHING_COMPARED,
    )


def intolerable(charted: Charted, table: Table, tolerable: float) -> Figure:
    """The study's third kind of failure."""
    parts = {"intolerable": f"more than {tolerable:g} times slower"}
    rows = _shares(charted, table, parts)
    return figure(
        charted,
        table,
        "intolerable",
        drawing=marks.dots(rows, parts, f"functions more than {tolerable:g} times slower") if rows else None,
        counted="Of the functions that passed on both devices: they run, and are too slow to be used. Lines are Wilson "
        "intervals of 95 %.",
        alternative=f"Functions that run more than {tolerable:g} times slower: "
        + _said(rows, parts["intolerable"])
        + ".",
        silent=NOTHING_COMPARED,
    )


def slowdown(charted: Charted, table: Table) -> Figure:
    """The one number a pair of devices comes down to."""
    rows: Rows = [
        {
            "pair": _pair(charted, record),
            "published": record["source"] != charted.name,
            "ratio": mean.value,
            "low": mean.interval[0] if mean.interval else None,
            "high": mean.interval[1] if mean.interval else None,
            "n": mean.n,
        }
        for record in table.records()
        if isinstance(mean := record["geometric_mean"], Estimate) and mean.value is not None
    ]
    return figure(
        charted,
        table,
        "slowdown",
        title="How many times slower, on the whole",
        drawing=marks.means(rows) if rows else None,
        counted="Geometric mean over functions of how many times as long the second device takes; lines are bootstrap "
        "intervals of 95 %, of five functions and more.",
        alternative="On the whole the second device takes: "
        + "; ".join(f"{row['pair']} {row['ratio']:.3g} times as long (n {row['n']})" for row in rows)
        + ".",
        silent=NOTHING_COMPARED,
    )


def first_calls(charted: Charted, table: Table) -> Figure:
    """Cold against steady."""
    rows = [
        {
            "pair": label(charted, str(record["target"])),
            "function": record["function"],
            "x": record["steady_ms"],
            "y": record["cold_ms"],
            "published": False,
        }
        for record in table.records()
        if _positive(record["steady_ms"]) and _positive(record["cold_ms"])
    ]
    rows, thinned = _panels(rows, "pair")
    return figure(
        charted,
        table,
        "first_calls",
        drawing=marks.against(rows, "pair", "latency after warm-up", "latency of the first call", 10) if rows else None,
        counted=f"Each point is a function that passed on the device; the first call holds compilation. Above the "
        f"dashed line it takes more than 10 times as long.{thinned}",
        alternative="First calls against calls after warm-up, the geometric mean of how many times as long the first "
        "takes: "
        + "; ".join(
            f"{record['target']} {record['ratio'].value:.3g} (n {record['ratio'].n})"
            for record in table.records()
            if record["function"] == "all functions" and isinstance(record["ratio"], Estimate)
        )
        + ".",
        silent="No target has two functions with both a first call and calls after warm-up: submit a campaign with "
        "timing `steady`.",
    )


def _panels(rows: Rows, panel: str) -> tuple[Rows, str]:
    """Only panels that show something, each of no more points than can be seen; and what to say of that."""
    kept: Rows = []
    said = ""
    for name in dict.fromkeys(row[panel] for row in rows):
        of_it = [row for row in rows if row[panel] == name]
        if len(of_it) > MOST:
            said = f" Of panels with more than {MOST:,} functions, evenly drawn ones are shown; the table has all."
            of_it = [of_it[math.floor(place * len(of_it) / MOST)] for place in range(MOST)]
        if len(of_it) >= FEWEST:
            kept += of_it
    return kept, said


def _too_few(table: Table) -> str:
    functions = len({row["function"] for row in table.records()})
    noun = "one function was" if functions == 1 else f"{functions} functions were"
    return f"Only {noun} measured on both of two targets: too few to draw. The table has what there is."


def _shares(charted: Charted, table: Table, parts: dict[str, str]) -> Rows:
    rows: Rows = []
    for record in table.records():
        for name, said in parts.items():
            cell = record[name]
            if isinstance(cell, Rate) and cell.share is not None and cell.interval is not None:
                low, high = cell.interval
                shown = f"{100 * cell.share:.1f} % ({cell.count} of {cell.n})"
                share: dict[str, Any] = {"percent": 100 * cell.share, "low": 100 * low, "high": 100 * high}
            elif isinstance(cell, int | float):
                share, shown = {"percent": float(cell)}, f"{cell:g} % (n not published)"
            else:
                continue
            published = record["source"] != charted.name
            rows.append({"pair": _pair(charted, record), "published": published, "part": said, "shown": shown, **share})
    return rows


def _pair(charted: Charted, record: dict[str, Cell]) -> str:
    """``torch@2.9.0/cpu → xla``; of two versions or machines both are named."""
    base, other = str(record["base"]), str(record["other"])
    framework = "" if base.startswith(f"{record['framework']}@") else f"{record['framework']} "
    whose = "" if record["source"] == charted.name else f"{record['source']}: "
    common = f"{base.partition('/')[0]}/"
    return f"{whose}{framework}{base} → {other.removeprefix(common)}"


def _of_source(charted: Charted, source: Cell, target: str) -> str:
    return label(charted, target) if source == charted.name else f"{source}: {target}"


def _said(rows: Rows, part: str) -> str:
    return "; ".join(f"{row['pair']} {row['shown']}" for row in rows if row["part"] == part)


def _peak(rows: Rows, name: str) -> float:
    return float(
        max((row for row in rows if row["target"] == name), key=lambda row: float(row["density"]))["milliseconds"]
    )


def _share_of(rows: Rows, pair: str) -> tuple[int, int]:
    of_it = [row for row in rows if row["pair"] == pair]
    return sum(row["y"] > row["x"] for row in of_it), len(of_it)


def _positive(cell: Cell) -> bool:
    return isinstance(cell, int | float) and cell > 0
