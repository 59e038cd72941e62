"""In which order figures and tables are told, and what each chapter asks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coordinator.reports.charts.figure import Figure
from coordinator.reports.table import Table


@dataclass(frozen=True)
class Chapter:
    id: str
    title: str
    question: str
    shown: tuple[str, ...]
    """Ids of its figures."""
    held: tuple[str, ...]
    """Ids of its tables."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What must stand beside its figures and tables, each said once."""
        return tuple(dict.fromkeys(note for each in self.tables for note in each.notes))

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.counting_rule for each in self.tables))

    def filled(self, tables: Sequence[Table], figures: Sequence[Figure]) -> Chapter:
        """With those of its figures and tables that there are."""
        return replace(
            self,
            figures=tuple(each for id in self.shown for each in figures if each.id == id),
            tables=tuple(each for id in self.held for each in tables if each.id == id),
        )


CHAPTERS = (
    Chapter(
        "ports", "What ports", "Which functions run there and are right?", ("portability",), ("portability", "counts")
    ),
    Chapter(
        "use",
        "What is used most",
        "Do failures hit functions that many people use, or rare ones?",
        ("failures_by_decile", "failures_in_top20"),
        ("top20", "failures_by_decile", "failures_in_top20"),
    ),
    Chapter("why", "Why functions fail", "What would have to be mended?", ("causes",), ("causes",)),
    Chapter(
        "where",
        "What really ran on the device",
        "Did what passed run there, or silently on the host?",
        ("placement",),
        ("placement",),
    ),
    Chapter(
        "cost",
        "What it costs",
        "How much slower is a call on the other device?",
        ("scatter", "slowdown", "faster"),
        ("extremes", "faster", "latencies", "scatter"),
    ),
    Chapter(
        "intolerable",
        "What is intolerably slow",
        "Which functions run, and too slowly to be used?",
        ("intolerable",),
        ("intolerable", "intolerable_functions"),
    ),
    Chapter(
        "spread",
        "How latencies lie",
        "What is a usual latency on each target?",
        ("densities",),
        ("latency_deciles", "densities"),
    ),
    Chapter(
        "first",
        "First calls",
        "How much of a first call is compilation?",
        ("first_calls",),
        ("first_calls",),
    ),
)
"""Every figure and every table is in one of them."""
