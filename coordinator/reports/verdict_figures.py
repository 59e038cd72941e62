"""Which functions port, why others do not, and what ran where: the figures of verdicts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coordinator.reports import marks
from coordinator.reports.figure import PARTIAL, QUIET, SUCCESS, Figure, figure, label
from coordinator.reports.marks import VERDICTS, Rows
from coordinator.reports.placements import PLACEMENTS
from coordinator.reports.table import Cell, Table
from coordinator.results.report_data import Charted
from coordinator.results.statistics import Rate

COUNTED = (
    "By verdict a fallback to the host passes, by verdict_on_device it fails; skipped and incomplete cases are in no "
    "denominator, nor by verdict_on_device are those that passed without proof of where."
)
WILSON = "Lines are Wilson intervals of 95 %."
NOTHING_COUNTED = (
    "No function has a case that passed or failed, so there is no rate to draw: see the table for what was skipped "
    "or incomplete."
)


def portability(charted: Charted, table: Table) -> Figure:
    """Tables 1 and 3 as bars."""
    rows = [
        {
            "who": _who(charted, record),
            "published": record["source"] != charted.name,
            "verdict": word,
            "percent": _percent(record[word]),
            "shown": _shown(record[word]),
            "order": place,
            "n": _n(record["success"]),
            **(_interval(record["success"]) if word == "success" else {}),
        }
        for record in table.records()
        if _percent(record["success"]) is not None
        for place, word in enumerate(VERDICTS)
    ]
    best = [row for row in rows if row["verdict"] == "success"]
    return figure(
        charted,
        table,
        "portability",
        drawing=marks.stacked(rows, "who", "verdict", VERDICTS, "functions") if rows else None,
        counted=f"{COUNTED} {WILSON}",
        alternative="Functions that succeed: "
        + "; ".join(f"{row['who']} {row['percent']:.0f} % of {row['n'] or 'unpublished n'}" for row in best)
        + ".",
        silent=NOTHING_COUNTED,
    )


def failures_by_decile(charted: Charted, table: Table) -> Figure:
    """Figure 4."""
    rows = list(_failures(charted, table, "decile"))
    for row in rows:
        row["decile"] = int(str(row["decile"]).removeprefix("decile"))
    return figure(
        charted,
        table,
        "failures_by_decile",
        drawing=marks.deciles(rows) if rows else None,
        counted=f"{COUNTED} Over each bar stands n, the functions of that decile in the study's sample.",
        alternative="Functions that fail in part or completely, by how often they are used: " + _worst(rows, "decile"),
        silent="No function of this campaign is in the study's sample with a case that passed or failed, so there "
        "are no deciles to draw: submit the suite `paper` to have them.",
    )


def failures_in_top20(charted: Charted, table: Table) -> Figure:
    """Figure 5."""
    rows = list(_failures(charted, table))
    return figure(
        charted,
        table,
        "failures_in_top20",
        drawing=marks.stacked(
            rows, "who", "verdict", {word: VERDICTS[word] for word in ("partial", "complete")}, "functions"
        )
        if rows
        else None,
        counted=COUNTED,
        alternative="Functions among the 20 most used that fail in part or completely: " + _worst(rows, None),
        silent="None of the 20 functions that the study found most used has a case here that passed or failed: submit "
        "the suite `paper` to have them.",
    )


def causes(charted: Charted, table: Table) -> Figure:
    """Figure 6."""
    rows = [
        {
            "target": label(charted, str(record["target"])),
            "counted_by": f"by {record['counted_by']}",
            "cause": record["cause"],
            "percent": _percent(record["functions"]),
            "shown": _shown(record["functions"]),
            **_interval(record["functions"]),
        }
        for record in table.records()
        if isinstance(record["functions"], Rate)
    ]
    main = [row for row in rows if row["percent"] == max(_of(rows, row, "target", "counted_by"))]
    return figure(
        charted,
        table,
        "causes",
        drawing=marks.grouped(rows) if rows else None,
        counted=f"Of the functions that failed in part or completely, the most frequent cause of their failed cases. "
        f"{COUNTED} {WILSON}",
        alternative="Main causes of failures: "
        + "; ".join(f"{row['target']} {row['counted_by']}: {row['cause']} {row['shown']}" for row in main)
        + ".",
        silent="No function failed, so there are no causes to draw."
        if any(_percent(each) is not None for each in _successes(charted))
        else NOTHING_COUNTED,
    )


def placement(charted: Charted, table: Table) -> Figure:
    colours = dict(
        zip(("ran on the device", "fell back to the host", "not proven"), (SUCCESS, PARTIAL, QUIET), strict=True)
    )
    rows = [
        {
            "who": label(charted, str(record["target"])),
            "verdict": said,
            "percent": _percent(record[word]),
            "shown": _shown(record[word]),
            "n": _n(record[word]),
            "order": place,
        }
        for record in table.records()
        if isinstance(record["on_device"], Rate)
        for place, (word, said) in enumerate(zip(PLACEMENTS, colours, strict=True))
    ]
    fallen = [row for row in rows if row["verdict"] == "fell back to the host"]
    return figure(
        charted,
        table,
        "placement",
        drawing=marks.stacked(rows, "who", "verdict", colours, "cases that passed") if rows else None,
        counted="A case fell back if any of its passed runs did. Functions that never touch a device are left out.",
        alternative="Cases that passed by falling back to the host: "
        + "; ".join(f"{row['who']} {row['shown']}" for row in fallen)
        + ".",
        silent="No case passed, so nothing is known of where cases ran.",
    )


def _failures(charted: Charted, table: Table, *more: str) -> Iterator[dict[str, Any]]:
    for record in table.records():
        rates = [record["partial"], record["complete"]]
        if not all(isinstance(each, Rate) and each.n for each in rates):
            continue
        failed = sum(_percent(each) or 0.0 for each in rates)
        for place, word in enumerate(("partial", "complete")):
            yield {
                "who": _who(charted, record),
                "published": record["source"] != charted.name,
                "verdict": word,
                "percent": _percent(record[word]),
                "shown": _shown(record[word]),
                "n": _n(record[word]),
                "failed": failed,
                "order": place,
                **{name: record[name] for name in more},
            }


def _worst(rows: Rows, where: str | None) -> str:
    """Of each target the greatest share, in words."""
    told = []
    for who in dict.fromkeys(row["who"] for row in rows):
        worst = max((row for row in rows if row["who"] == who), key=lambda row: float(row["failed"]))
        place = f", most in decile {worst[where]}" if where and worst["failed"] else ""
        told.append(f"{who} {worst['failed']:.0f} %{place}")
    return "; ".join(told) + "."


def _who(charted: Charted, record: Mapping[str, Cell]) -> str:
    """A target and the way of counting; what was published says whose it is."""
    name = str(record["target"])
    if record["source"] != charted.name:
        return f"{record['source']}: {name}"
    return f"{label(charted, name)} by {record['counted_by']}"


def _of(rows: Rows, like: Mapping[str, Any], *names: str) -> list[float]:
    return [float(row["percent"]) for row in rows if all(row[name] == like[name] for name in names)]


def _percent(cell: Cell) -> float | None:
    if isinstance(cell, Rate):
        return None if cell.share is None else 100 * cell.share
    return float(cell) if isinstance(cell, int | float) else None


def _interval(cell: Cell) -> dict[str, float]:
    if not isinstance(cell, Rate) or cell.interval is None:
        return {}
    return {"low": 100 * cell.interval[0], "high": 100 * cell.interval[1]}


def _n(cell: Cell) -> int | None:
    return cell.n if isinstance(cell, Rate) else None


def _shown(cell: Cell) -> str:
    if isinstance(cell, Rate) and cell.share is not None:
        return f"{100 * cell.share:.1f} % ({cell.count} of {cell.n})"
    return f"{cell:g} %" if isinstance(cell, int | float) else str(cell)


def _successes(charted: Charted) -> Sequence[Cell]:
    counted = sum(each.verdict != "unknown" for each in charted.verdicts)
    return [Rate(0, counted)] if counted else []
