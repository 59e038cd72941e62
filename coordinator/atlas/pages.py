"""The pages of the atlas as HTML. A coordinator and a published site use the same page bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from coordinator.atlas.addresses import (
    as_link,
    framework_path,
    function_path,
    module_path,
    operation_path,
    target_path,
)
from coordinator.atlas.changes import latest_changes, version_changes
from coordinator.atlas.function_view import FunctionView
from coordinator.atlas.index import index_of
from coordinator.atlas.marks import Mark, cell_words, mark_words
from coordinator.atlas.operations import MET_WORDS, TargetOperation, operations_by_name, target_operations
from coordinator.atlas.overview import BEST_FIRST, Atlas, FrameworkOverview, TargetColumn
from coordinator.figures import formats
from coordinator.results.statistics import Rate
from coordinator.text.page_text import FILTERS, finalize
from coordinator.text.table_columns import table_columns

FRONT = "index.html"
WORST_FIRST = (Mark.fails, Mark.falls_back, Mark.partly, Mark.unproven, Mark.host_work)
"""The marks whose functions are listed on a target's page."""

MOST_DISAGREEMENTS = 3
"""The maximum number of disagreeing older charts that a function's page lists for a target, the newest first. The
published data contain all of them."""
MOST_OPERATIONS = 10
"""The maximum number of operations that a function's page lists for a target, the operation with the most cases first.
The published data contain all of them."""

MOST_NAMES = 40
"""The maximum number of functions of one mark, and of operations, that a target's page shows before it is asked for
more."""


@dataclass(frozen=True)
class Page:
    """A page before it is rendered."""

    path: str
    """The path relative to the front page of the atlas."""
    title: str
    body: str
    """The name of the template of the page's body."""
    values: Mapping[str, Any]

    @property
    def root(self) -> str:
        """The relative path from the page to the folder of the front page."""
        return "../" * self.path.count("/")


def front_page(atlas: Atlas) -> Page:
    """The front page: a search, the targets of each framework, and the latest changes.

    A server that handles searches, for browsers without scripts, sets ``search_action``, ``found`` and ``query``. A
    server that assesses scripts sets ``script_form``, the template with the form and the findings.
    """
    values = {
        "atlas": atlas,
        "marks": BEST_FIRST,
        "index": index_of(atlas),
        "lately": latest_changes(atlas),
        "search_action": None,
        "script_form": None,
        "found": (),
        "query": "",
    }
    return Page(FRONT, "Atlas", "front_body.html", values)


def function_page(view: FunctionView) -> Page:
    values = {
        "view": view,
        "met_words": MET_WORDS,
        "most_disagreements": MOST_DISAGREEMENTS,
        "most_operations": MOST_OPERATIONS,
    }
    return Page(function_path(view.name), view.name, "function_body.html", values)


def framework_page(framework: FrameworkOverview) -> Page:
    """The page of a framework with its modules. The front page does not list the modules, because there are hundreds of
    them."""
    return Page(framework_path(framework.name), framework.name, "framework_body.html", {"framework": framework})


def module_page(framework: FrameworkOverview, module: str) -> Page:
    values = {"framework": framework, "module": module}
    return Page(module_path(module), module or framework.name, "module_body.html", values)


def target_page(framework: FrameworkOverview, column: TargetColumn) -> Page:
    worst = {mark: [name for name in framework.functions if _mark(column, name) is mark] for mark in WORST_FIRST}
    values = {
        "column": column,
        "worst": worst,
        "versions": framework.strip(column.line),
        "since": version_changes(framework, column),
        "framework": framework,
        "met_words": MET_WORDS,
        "on_target": target_operations(column),
        "most_names": MOST_NAMES,
    }
    return Page(target_path(column.target, column.evidence.hardware), column.target, "target_body.html", values)


def operation_page(
    framework: FrameworkOverview, operation: str, targets: Sequence[tuple[TargetColumn, TargetOperation]]
) -> Page:
    """The functions with cases that fail or fall back at an operation, by target.

    Only a published site has this page. A coordinator has pages about the operations of each campaign.
    """
    values = {"framework": framework, "operation": operation, "targets": targets, "met_words": MET_WORDS}
    return Page(operation_path(framework.name, operation), operation, "operation_body.html", values)


def _mark(column: TargetColumn, name: str) -> Mark | None:
    return column.cells[name].mark if name in column.cells else None


def rate_words(rate: Rate) -> str:
    """The rate in words: ``66 % (95 % interval 63–69 %)``."""
    if rate.interval is None:
        return formats.UNKNOWN
    low, high = rate.interval
    return f"{formats.percent(rate.share)} (95 % interval {100 * low:.0f}–{100 * high:.0f} %)"


def install(environment: Environment) -> None:
    """Add the filters and functions that the page bodies use to a template environment."""
    environment.filters |= {
        **FILTERS,
        "capitalized": lambda text: text[:1].upper() + text[1:],
        "day": _day,
        "link": as_link,
        "listed": formats.join_words,
        "number": formats.number,
        "rate": rate_words,
        "ratio": formats.ratio,
        "significant": formats.significant,
    }
    environment.globals |= {
        "cell_words": cell_words,
        "mark_words": mark_words,
        "framework_path": framework_path,
        "function_path": function_path,
        "module_path": module_path,
        "operation_path": operation_path,
        "table_columns": table_columns,
        "target_path": target_path,
    }


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


@cache
def environment() -> Environment:
    """The template environment of a published site."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    install(templates)
    return templates


def pages(atlas: Atlas, views: Iterable[FunctionView]) -> Iterator[Page]:
    """Yield all pages that show evidence, one at a time, because all of them together are as large as the site."""
    yield front_page(atlas)
    for framework in atlas.frameworks:
        yield framework_page(framework)
        for column in framework.columns:
            yield target_page(framework, column)
        for module in framework.modules:
            yield module_page(framework, module)
        for operation, targets in operations_by_name(framework).items():
            yield operation_page(framework, operation, targets)
    yield from map(function_page, views)
