"""Every page, in light and dark mode, in desktop and phone windows, is accessible, and no text is cut or covered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from coordinator.atlas.addresses import framework_path, function_path, module_path, target_path
from coordinator.text.page_text import breakable_words
from scripts import screenshots
from tests.browser.conftest import BrowsedCoordinator
from tests.browser.told_runner import ENDLESS, MARKUP
from tests.browser.watched import Watched

Address = Callable[[BrowsedCoordinator], str]


def _function(name: str) -> Address:
    return lambda instance: f"/campaigns/{instance.low}/functions/tales/{quote(name)}"


def _outcome(function: str) -> Address:
    return lambda instance: f"/campaigns/{instance.low}/outcomes/{failed_job(instance, function)}"


def failed_job(instance: BrowsedCoordinator, function: str) -> int:
    """The job of one of the function's cases that failed on XLA."""
    rows = instance.coordinator.outcomes(instance.low, function=function, verdict="failed")
    return int(next(row["job_id"] for row in rows if row["device"] == "xla"))


def _runner(instance: BrowsedCoordinator) -> str:
    (runner,) = [
        runner
        for runner in instance.coordinator.http.get("/runners").json()["runners"]
        if runner["target"].endswith("xla")
    ]
    return f"/runners/{runner['id']}"


def _of_atlas(name: str) -> Address:
    return lambda instance: f"/atlas/{quote(function_path(name))}"


def _target(instance: BrowsedCoordinator) -> str:
    (runner,) = [
        one for one in instance.coordinator.http.get("/runners").json()["runners"] if one["target"].endswith("xla")
    ]
    return f"/atlas/{quote(target_path(runner['target'], runner['hardware']))}"


def _photographed(path: str) -> Address:
    return lambda instance: path.format(campaign=instance.low)


PAGES: dict[str, Address] = {
    **{name: _photographed(path) for name, path in screenshots.PAGES.items()},
    "search without scripts": lambda instance: "/?q=tales",
    "function in the atlas": _of_atlas("tales.storm.reef"),
    "function with markup in the atlas": _of_atlas(MARKUP),
    "function without an end in the atlas": _of_atlas(ENDLESS),
    "function that nobody charted": _of_atlas("torch.cumsum"),
    "framework in the atlas": lambda instance: f"/atlas/{quote(framework_path('tales'))}",
    "module in the atlas": lambda instance: f"/atlas/{quote(module_path('tales.storm'))}",
    "target in the atlas": _target,
    "campaigns": lambda instance: "/campaigns",
    "new campaign": lambda instance: "/campaigns/new",
    "campaign": lambda instance: f"/campaigns/{instance.low}",
    "cancel": lambda instance: f"/campaigns/{instance.low}/cancel",
    "matrix on device": lambda instance: f"/campaigns/{instance.low}/matrix?rule=on_device&q=fails:xla",
    "function": _function("tales.calm.drift"),
    "function with markup": _function(MARKUP),
    "function without an end": _function(ENDLESS),
    "outcome": _outcome("tales.storm.reef"),
    "outcome with a long log": _outcome(MARKUP),
    "history": lambda instance: "/history/tales/tales.storm.ebb",
    "compare": lambda instance: "/compare",
    "compared": lambda instance: f"/compare?a={instance.high}&b={instance.low}",
    "report": lambda instance: f"/campaigns/{instance.low}/report",
    "the study": lambda instance: "/reference",
    "coverage": lambda instance: "/coverage",
    "operations": lambda instance: f"/campaigns/{instance.low}/operations",
    "runners": lambda instance: "/runners",
    "runner": _runner,
    "REST": lambda instance: "/docs",
    "register a runner": lambda instance: "/runners/new",
}

FIGURES = {"figures": 100}
"""If a page draws every kind of figure, one such page is enough."""

MANY_TARGETS = """([targets, name]) =>
[...document.querySelectorAll(".matrix tr")].filter(row => row.cells.length === 3).forEach(row => {
  while (row.cells.length <= targets) row.append(row.cells[2].cloneNode(true));
  [...row.querySelectorAll(".target")].forEach(target => { target.innerHTML = "tensorflow@<wbr>2.21.0/<wbr>xla"; });
  [...row.querySelectorAll("th[scope=row] a")].forEach(link => { link.innerHTML = name; });
})"""
"""Repeats the last column of a matrix of two targets until there are this many, and gives every row this name."""

SPLIT_WORDS = r"""[...document.querySelectorAll(".matrix th[scope=row] a")].flatMap(link => [...link.childNodes])
  .filter(node => node.nodeType === Node.TEXT_NODE && !/\s|.{18}/.test(node.textContent)).filter(node => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getClientRects().length > 1;
  }).map(node => node.textContent)"""
"""The words of the names in a matrix that stand on more than one line. A word may be split from 18 letters on."""

MISNAMED_CELLS = """[...document.querySelectorAll(".stacked")].filter(table => table.tHead.rows.length === 1).flatMap(
  table => [...table.querySelectorAll("tbody tr")].filter(row => !row.querySelector("[colspan]")).flatMap(
    row => [...row.querySelectorAll("td")].filter(
      cell => cell.dataset.column !== table.tHead.rows[0].cells[cell.cellIndex].textContent)))
  .map(cell => cell.outerHTML.slice(0, 120))"""


@pytest.mark.drawn(4)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_on_its_pictures_and_keeps_nobody_out(
    visit: Watched, instance: BrowsedCoordinator, name: str, tmp_path: Path
) -> None:
    visit.open(PAGES[name](instance))
    visit.wait_settled(most=FIGURES.get(name, 2))
    assert visit.photograph(tmp_path) == []
    assert len(list(tmp_path.glob("*.png"))) == 4


@pytest.mark.parametrize(
    ("name", "window"),
    [
        *(
            (name, "desk")
            for name in (
                *("campaign", "matrix on device", "function", "history", "runners", "coverage", "operations"),
                "framework in the atlas",
                *("figures", "report", "the study"),
            )
        ),
        *(
            (name, "phone")
            for name in (
                *("matrix on device", "function in the atlas", "framework in the atlas", "module in the atlas"),
                *("campaigns", "campaign", "function", "function with markup", "outcome", "history", "compared"),
                *("figures", "report", "the study", "coverage", "operations", "runners", "runner"),
            )
        ),
    ],
)
def test_a_table_is_as_wide_as_the_window_at_most(
    visit: Watched, instance: BrowsedCoordinator, name: str, window: str
) -> None:
    visit.page.set_viewport_size(screenshots.WINDOWS[window])
    visit.open(PAGES[name](instance))
    assert visit.cut_tables() == []


@pytest.mark.parametrize("targets", [6, 7])
@pytest.mark.parametrize(
    "name", ["tf.lookup.KeyValueTensorInitializer", "RelaxedOneHotCategorical", "ascontiguousarray"]
)
def test_a_matrix_of_many_targets_is_as_wide_as_the_window_and_splits_no_word(
    visit: Watched, instance: BrowsedCoordinator, targets: int, name: str
) -> None:
    visit.page.set_viewport_size(screenshots.WINDOWS["desk"])
    visit.open(PAGES["matrix on device"](instance))
    visit.page.evaluate(MANY_TARGETS, [targets, str(breakable_words(name))])
    assert visit.page.locator(".matrix thead th").count() == 1 + targets
    assert visit.cut_tables() == []
    assert visit.page.evaluate(SPLIT_WORDS) == []


@pytest.mark.parametrize("window", screenshots.WINDOWS)
def test_the_head_of_a_matrix_stays_in_sight_while_the_page_scrolls(
    visit: Watched, instance: BrowsedCoordinator, window: str
) -> None:
    visit.page.set_viewport_size({**screenshots.WINDOWS[window], "height": 400})
    visit.open(f"/campaigns/{instance.low}/matrix")
    visit.page.locator(".matrix tbody tr").last.scroll_into_view_if_needed()
    assert visit.page.evaluate("scrollY") > 0
    head = visit.page.locator(".matrix thead th").last.bounding_box()
    assert head is not None
    assert abs(head["y"]) < 1
    assert visit.page.evaluate(SPLIT_WORDS) == []


@pytest.mark.parametrize(
    "name", ["campaigns", "function", "outcome", "history", "compared", "report", "operations", "runners"]
)
def test_a_cell_of_a_stacked_table_names_its_column(visit: Watched, instance: BrowsedCoordinator, name: str) -> None:
    visit.page.set_viewport_size(screenshots.WINDOWS["phone"])
    visit.open(PAGES[name](instance))
    assert visit.page.locator(".stacked").count()
    assert visit.page.evaluate(MISNAMED_CELLS) == []


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/campaigns/987654", 404, "there is no campaign 987654"),
        ("/campaigns/1/matrix?q=fails:nowhere", 422, "^ here"),
        ("/compare?a=1&b=987654", 404, "there is no campaign 987654"),
    ],
)
def test_a_page_that_cannot_be_shown_says_so_and_keeps_nobody_out(
    visit: Watched, path: str, status: int, message: str, tmp_path: Path
) -> None:
    with visit.expecting(status):
        visit.open(path)
    assert message in visit.page.inner_text("main")
    assert visit.photograph(tmp_path) == []
