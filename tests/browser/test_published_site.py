"""The published site in a browser: search by typing, keyboard navigation, phone layout, and no requests to other
servers."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from coordinator.atlas import site as site_module
from coordinator.atlas.publication import publish
from coordinator.atlas.site import site_files
from scripts.screenshots import WINDOWS
from tests.browser.watched import DESK, WITHIN_S, Watched
from tests.portolan_process import Portolan
from tests.threaded_server import ThreadedServer
from tests.unit.coordinator.assess.cases import case, target
from tests.unit.coordinator.atlas.evidence import atlas, charted_target

TEN_QUESTIONS = Path(__file__).parents[2] / "docs" / "explanation" / "ten-questions.md"
PAGES = (
    "/index.html",
    "/functions/torch.cumsum.html",
    "/functions/torch.nn.~conv2d.html",
    "/frameworks/torch.html",
    "/modules/torch.nn.functional.html",
    "/data/index.html",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Print no line for requests."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("published") / "site"
    Portolan(folder.parent / "data").ask("publish", str(folder))
    yield from serve(folder)


def serve(folder: Path) -> Iterator[str]:
    server = ThreadedServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def site(browser: Browser, address: str) -> Iterator[Watched]:
    context = browser.new_context(viewport=DESK)
    context.set_default_timeout(WITHIN_S * 1e3)
    reader = Watched(context.new_page(), address)
    yield reader
    context.close()
    assert reader.faults == []


@pytest.mark.parametrize("path", PAGES)
def test_a_published_page_keeps_nobody_out_and_fits_a_phone(site: Watched, path: str, tmp_path: Path) -> None:
    site.open(path)
    assert site.photograph(tmp_path) == []


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("path", ["functions/torch.cumsum.html", "modules/torch.nn.functional.html"])
def test_a_published_table_is_as_wide_as_the_window_at_most(site: Watched, path: str, window: str) -> None:
    site.page.set_viewport_size(WINDOWS[window])
    site.open(f"/{path}")
    assert site.cut_tables() == []


@pytest.mark.parametrize("window", WINDOWS)
def test_a_target_folds_its_long_lists_and_its_unfolded_table_is_as_wide_as_the_window(
    site: Watched, window: str
) -> None:
    site.page.set_viewport_size(WINDOWS[window])
    site.open("/index.html")
    site.page.get_by_role("link", name="torch@2.9.0/xla", exact=True).click()
    operations = site.page.get_by_role("region", name="Operations")
    expect(operations).to_be_hidden()
    site.page.get_by_text(re.compile(r"^\d+ operations$")).click()
    expect(operations).to_be_visible()
    assert site.cut_tables() == []


@pytest.fixture(scope="module")
def address_of_versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with two versions of one device."""
    folder = tmp_path_factory.mktemp("versions") / "site"
    old = charted_target({"torch.a": ["failed"], "torch.b": ["passed"], "torch.gone": ["passed"]}, "2.8.0")
    new = charted_target({"torch.a": ["passed"], "torch.b": ["passed"], "torch.new": ["passed"]}, "2.9.0")
    publish(site_files(atlas(old, new), []), folder)
    yield from serve(folder)


def test_a_reader_follows_what_changed_from_the_front_to_the_older_version(
    browser: Browser, address_of_versions: str
) -> None:
    context = browser.new_context(viewport=DESK)
    reader = Watched(context.new_page(), address_of_versions)
    reader.open("/index.html")
    lately = reader.page.get_by_role("region", name="What changed lately")
    expect(lately.get_by_role("listitem").first).to_contain_text("torch.a: fails in 2.8.0, works in 2.9.0")
    assert reader.accessibility_faults() == []
    for version in ("torch@2.9.0/xla", "torch@2.8.0/xla"):
        reader.page.get_by_role("link", name=version, exact=True).last.click()
        expect(reader.page.locator("h1")).to_have_text(version)
        assert reader.accessibility_faults() == []
        assert reader.cut_tables() == []
    context.close()
    assert reader.faults == []


READ = """html => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const nodes = [];
  const read = node => {
    const text = (node.data ?? "").replace(/\\s+/g, " ").trim();
    if (text) nodes.push(text);
    // A header cell has the same scope without the attribute.
    const attributes = [...(node.attributes ?? [])].filter(one => one.name !== "scope");
    if (node.attributes) nodes.push([node.nodeName, ...attributes.map(one => `${one.name}=${one.value}`)].join(" "));
    node.childNodes.forEach(read);
    if (node.attributes) nodes.push(`end of ${node.nodeName}`);
  };
  read(page.documentElement);
  return nodes;
}"""


def test_a_browser_builds_the_same_page_from_compact_html(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    compact_pages = html_pages()
    monkeypatch.setattr(site_module, "compact_html", str)
    whole_pages = html_pages()
    page = browser.new_page()
    assert len(whole_pages) > 10
    for path, html in whole_pages.items():
        assert page.evaluate(READ, compact_pages[path]) == page.evaluate(READ, html), path
        assert len(compact_pages[path]) < len(html)
    page.close()


def html_pages() -> dict[str, str]:
    old = charted_target({"torch.a": ["failed", "passed"], "torch.nn.B": ["passed"]}, "2.8.0")
    operations = ("aten::isin", "aten::<b>")
    messages = [replace(case("0", "failed"), said='</p>\n<p class="note"> is not <td>', operations=operations)]
    new = target({"torch.a": [*messages, replace(case("1", "fell_back"), operations=operations)]})
    files = site_files(atlas(old, new), [], published_at=datetime(2026, 1, 1, tzinfo=UTC))
    return {file.path: file.content.decode() for file in files if file.path.endswith(".html")}


@pytest.fixture(scope="module")
def address_of_operations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site whose evidence names operations."""
    folder = tmp_path_factory.mktemp("operations") / "site"
    names = ("aten::isin", "aten::_thnn_differentiable_gru_cell_backward_and_more_words")
    cases = [replace(case("0", "fell_back"), operations=names), replace(case("1", "failed"), operations=names[1:])]
    functions = {"torch.nn.utils.rnn.pack_padded_sequence": cases, "torch.with a blank%20": cases}
    publish(site_files(atlas(target(functions)), []), folder)
    yield from serve(folder)


def test_a_reader_follows_an_operation_from_a_target_to_its_functions(
    browser: Browser, address_of_operations: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport=DESK)
    reader = Watched(context.new_page(), address_of_operations)
    reader.open("/index.html")
    for link in ("torch@2.9.0/xla", "aten::isin", "torch.nn.utils.rnn.pack_padded_sequence"):
        reader.page.get_by_role("link", name=link, exact=True).first.click()
        expect(reader.page.locator("h1")).to_have_text(link)
        assert reader.photograph(tmp_path) == []
    context.close()
    assert reader.faults == []


def test_a_name_with_a_blank_is_found_as_any_other(browser: Browser, address_of_operations: str) -> None:
    context = browser.new_context(viewport=DESK)
    reader = Watched(context.new_page(), address_of_operations)
    reader.open("/index.html")
    reader.page.fill("#find", "a blank%20")
    expect(reader.page.get_by_role("link", name="torch.with a blank%20", exact=True)).to_be_visible()
    reader.page.keyboard.press("Enter")
    expect(reader.page.locator("h1")).to_have_text("torch.with a blank%20")
    context.close()
    assert reader.faults == []


def test_a_function_is_found_by_typing_a_part_of_its_name(site: Watched) -> None:
    site.open("/index.html")
    site.page.fill("#find", "umsum")
    expect(site.page.get_by_role("link", name="tf.cumsum", exact=True)).to_be_visible()
    site.page.fill("#find", "Torch.cumsum")
    expect(site.page.locator("#found li").first).to_contain_text("torch@2.9.0/xla: works in part")
    site.page.keyboard.press("Enter")
    expect(site.page.locator("h1")).to_have_text("torch.cumsum")


def test_each_of_the_ten_questions_is_answered_by_one_search_and_one_click(site: Watched) -> None:
    questions = re.findall(r"^\| \[.+\| `([\w.]+)` \| [^|]+ \| ([^|]+) \|$", TEN_QUESTIONS.read_text(), re.MULTILINE)
    assert len(questions) == 10
    for function, answer in questions:
        site.open("/index.html")
        site.page.fill("#find", function.rpartition(".")[2])
        site.page.get_by_role("link", name=function, exact=True).click()
        expect(site.page.locator("h1")).to_have_text(function)
        expect(site.page.locator("main")).to_contain_text(answer, ignore_case=True)


def test_a_name_in_the_list_of_the_search_breaks_after_its_points_and_underscores(site: Watched) -> None:
    site.open("/index.html")
    site.page.fill("#find", "functional.embedding_bag")
    link = site.page.get_by_role("link", name="torch.nn.functional.embedding_bag", exact=True)
    assert link.inner_html() == "torch.<wbr>nn.<wbr>functional.<wbr>embedding_<wbr>bag"


def test_what_is_not_charted_is_said(site: Watched) -> None:
    site.open("/index.html")
    site.page.fill("#find", "no_such_function")
    expect(site.page.locator("#found")).to_have_text("No charted function has this text in its name.")


def test_tiles_are_walked_by_keyboard(site: Watched) -> None:
    site.open("/index.html")
    figure = site.page.locator("figure.tiles[data-framework=torch]")
    figure.locator("canvas").focus()
    site.page.keyboard.press("ArrowRight")
    caption = figure.locator("figcaption")
    expect(caption).to_contain_text("torch.")
    name = caption.inner_text().partition(":")[0]
    site.page.keyboard.press("Enter")
    expect(site.page.locator("h1")).to_have_text(name)


def test_without_scripts_every_function_is_reached_by_links(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=DESK, java_script_enabled=False)
    reader = Watched(context.new_page(), address)
    reader.open("/index.html")
    expect(reader.page.get_by_role("search")).to_be_hidden()
    assert "The search and the tiles need scripts" in reader.page.inner_text("main")
    reader.page.locator("section[aria-labelledby=torch]").get_by_role("link", name="functions by module").click()
    reader.page.get_by_role("link", name="torch.nn.functional", exact=True).click()
    reader.page.get_by_role("link", name="torch.nn.functional.relu", exact=True).click()
    expect(reader.page.locator("h1")).to_have_text("torch.nn.functional.relu")
    context.close()
    assert reader.faults == []
