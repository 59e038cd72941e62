"""The ways in which visitors use the pages, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests import bundles
from tests.browser.conftest import SECRET, BrowsedCoordinator, signed_in
from tests.browser.told_runner import LOG_CHARACTERS, MARKUP
from tests.browser.watched import DESK, WITHIN_S, Watched
from tests.waiting import LIMIT_S, until

QUICK_MS = 30_000
CHECKED_MS = LIMIT_S * 1e3
"""The time limit for a check of all promises of a runner: it waits for deadlines, and is slow on a busy machine."""
MOST_TABS = 80


def test_a_campaign_is_previewed_submitted_and_watched_to_its_end(visit: Watched) -> None:
    page = visit.page
    visit.open("/campaigns")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label(re.compile("^Name")).fill("<i>Watched</i>")
    page.get_by_label("Suite", exact=True).select_option("hazards")
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("checkbox", name=re.compile("hazards")).check()
    page.get_by_label(re.compile("^Functions")).fill("hazards.nap\nhazards.fail")
    page.get_by_label(re.compile("^Runs")).fill("8")
    page.get_by_label("Timing").select_option("off")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="Jobs by target")).to_contain_text("hazards@1.0/cpu")
    expect(page.locator("main")).to_contain_text("16 jobs: 2 functions in 2 cases")

    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile(r"/campaigns/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("<i>Watched</i>")
    page.evaluate("window.stayed = true")
    expect(page.locator("[data-live=progress] .state")).to_have_text("done")
    expect(page.locator("[data-live=progress]")).to_contain_text("16 of 16 jobs are done.")
    expect(page.locator("[data-live=failed]")).to_contain_text("hazards.fail")
    expect(page.locator("[data-said]")).to_contain_text("done")
    assert page.evaluate("window.stayed"), "the page was not loaded again: it moved by itself"


def test_what_is_wrong_in_a_form_stands_beside_its_field_and_nothing_typed_is_lost(visit: Watched) -> None:
    page = visit.page
    visit.open("/campaigns/new")
    page.get_by_label("Suite", exact=True).select_option("hazards")
    page.get_by_label(re.compile("^Functions")).fill("hazards.no_such_function")
    with visit.expecting(422):
        page.get_by_role("button", name="Submit").click()
        field = page.get_by_label(re.compile("^Functions"))
        expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("hazards.no_such_function")
    expect(page.locator("#wrong-functions")).to_contain_text("hazards.no_such_function")
    assert visit.accessibility_faults() == []


def test_a_failing_cell_is_opened_to_its_outcome_and_its_cause_named_and_taken_back(
    visit: Watched, instance: BrowsedCoordinator
) -> None:
    page = visit.page
    visit.open(f"/campaigns/{instance.low}/matrix")
    page.get_by_role("searchbox").fill("tales.storm.* fails:xla passes:cpu")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("main")).to_contain_text("2 of 9 functions")
    row = page.get_by_role("row", name=re.compile("reef"))
    row.get_by_role("link", name=re.compile("fails all")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("tales.storm.reef")
    page.get_by_role("link", name="run 1: failed").first.click()
    expect(page.locator(".lead")).to_contain_text("not_implemented")

    page.get_by_text("Override the cause").click()
    page.get_by_label("Cause", exact=True).select_option("compile")
    page.get_by_label("Why", exact=True).fill("the compiler <b>gives up</b>")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.locator(".lead")).to_contain_text("compile")
    expect(page.locator("main")).to_contain_text("set by admin")
    expect(page.locator("main")).to_contain_text("the compiler <b>gives up</b>")

    page.get_by_role("button", name=re.compile("Remove the override")).click()
    expect(page.locator(".lead")).to_contain_text("not_implemented")
    expect(page.locator("main")).not_to_contain_text("set by")


def test_a_query_that_cannot_be_read_is_shown_with_the_place(visit: Watched, instance: BrowsedCoordinator) -> None:
    page = visit.page
    visit.open(f"/campaigns/{instance.low}/matrix")
    page.get_by_role("searchbox").fill("fails:nowhere")
    with visit.expecting(422):
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("alert")).to_contain_text("nowhere")
    expect(page.get_by_role("searchbox")).to_have_value("fails:nowhere")
    page.locator("details[open] dt a", has_text="fails:xla passes:cpu").first.click()
    expect(page.get_by_role("region", name="Matrix of functions of")).to_be_visible()


def test_a_runner_is_checked_and_then_registered(visit: Watched, instance: BrowsedCoordinator) -> None:
    page = visit.page
    visit.open("/runners")
    page.get_by_role("link", name="Register a runner").click()
    page.get_by_label(re.compile("^Address")).fill(str(instance.unregistered.ready["url"]))
    page.get_by_label(re.compile("^Secret")).fill("not the secret")
    with visit.expecting(422):
        page.get_by_role("button", name="Check and register").click()
        expect(page.locator("#wrong-secret")).to_be_visible()
    expect(page.get_by_label(re.compile("^Secret"))).to_have_value("")

    page.get_by_label(re.compile("^Secret")).fill(SECRET)
    page.get_by_label(re.compile("although the check")).check()
    page.get_by_role("button", name="Check and register").click()
    expect(page.locator(".findings li").first).to_be_visible()
    expect(page.get_by_role("heading", name="Registered", exact=True)).to_be_visible(timeout=CHECKED_MS)
    assert visit.accessibility_faults() == []
    page.get_by_role("link", name="See the runner").click()
    expect(page.locator(".lead .state")).to_have_text("online")


def test_two_campaigns_are_compared(visit: Watched, instance: BrowsedCoordinator) -> None:
    page = visit.page
    visit.open("/compare")
    page.get_by_label("A, before").select_option(str(instance.high))
    page.get_by_label("B, after").select_option(str(instance.low))
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("High water against Low water <b>& bold</b>")
    bucket = page.get_by_role("region", name="Passes on A, fails on B: tales@1.0/cpu", exact=True)
    expect(bucket.get_by_role("row", name=re.compile("tales.storm.ebb"))).to_contain_text("fails all 0/2")
    bucket.get_by_role("link", name="tales.storm.ebb").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("History of tales.storm.ebb")


def test_a_report_is_read_from_disk_without_its_coordinator(
    visit: Watched, instance: BrowsedCoordinator, browser: Browser, tmp_path: Path
) -> None:
    visit.open(f"/campaigns/{instance.low}/figures")
    with visit.page.expect_download() as download:
        visit.page.get_by_role("link", name="Download it").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)

    context = browser.new_context(offline=True)
    context.set_default_timeout(WITHIN_S * 1e3)
    read = Watched(context.new_page(), "nowhere")
    read.page.goto(path.as_uri())
    read.wait_settled()
    assert read.photograph(tmp_path) == []
    expect(read.page.locator("body")).to_contain_text("Low water <b>& bold</b>")
    expect(read.page.locator("body")).to_contain_text("tales.storm.reef")
    context.close()
    assert read.faults == []


def test_markup_is_text_and_the_longest_log_is_quick(visit: Watched, instance: BrowsedCoordinator) -> None:
    page = visit.page
    visit.open(f"/campaigns/{instance.low}/matrix?q=odd")
    expect(page.get_by_role("row", name=re.compile("onerror"))).to_be_visible()
    row = page.get_by_role("row", name=re.compile("onerror"))
    row.get_by_role("rowheader").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    page.get_by_role("link", name="run 1: failed").first.click()
    expect(page.locator("pre[aria-label=Log]")).to_contain_text("document.title")
    assert "taken over" not in page.title()
    assert page.locator("main img").count() == 0
    assert int(page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart")) < QUICK_MS
    assert len(page.content()) < 250_000, "the page holds the end of the log only"
    page.get_by_role("link", name="As plain text").click()
    assert len(page.inner_text("body")) >= LOG_CHARACTERS * 0.99


def test_an_outcome_is_found_and_its_cause_named_by_keyboard_alone(
    visit: Watched, instance: BrowsedCoordinator
) -> None:
    page = visit.page
    visit.open(f"/campaigns/{instance.low}/matrix")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    _tab_to(page, page.get_by_role("searchbox"))
    page.keyboard.type("leak")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("1 of 9 functions")
    _tab_to(page, page.get_by_role("link", name=re.compile("fails all")))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("tales.storm.leak")
    _tab_to(page, page.get_by_role("link", name="run 1: failed").first)
    page.keyboard.press("Enter")
    expect(page.locator(".lead")).to_contain_text("memory")
    _tab_to(page, page.locator("summary", has_text="Override the cause"))
    page.keyboard.press("Enter")
    _tab_to(page, page.get_by_label("Cause", exact=True))
    page.keyboard.type("comp")
    page.keyboard.press("Tab")
    page.keyboard.type("it never came to the device")
    _tab_to(page, page.get_by_role("button", name="Override", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator(".lead")).to_contain_text("compile")
    _tab_to(page, page.get_by_role("button", name=re.compile("Remove the override")))
    page.keyboard.press("Enter")
    expect(page.locator(".lead")).to_contain_text("memory")


def test_pages_say_the_same_without_scripts(browser: Browser, instance: BrowsedCoordinator) -> None:
    context = browser.new_context(java_script_enabled=False, storage_state=instance.session)
    context.set_default_timeout(WITHIN_S * 1e3)
    page = context.new_page()
    page.goto(f"{instance.base}/campaigns/{instance.low}/figures")
    expect(page.locator("[data-figure] img").first).to_be_visible()
    page.goto(f"{instance.base}/campaigns/{instance.low}/matrix")
    page.get_by_role("searchbox").fill("reef")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("1 of 9 functions")
    context.close()


def _tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the element has the focus, and return the position of the element."""
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if target.evaluate("each => each === document.activeElement"):
            style = target.evaluate("each => getComputedStyle(each).outlineStyle")
            assert style != "none", "one cannot see where the focus is"
            return
    raise AssertionError(f"{MOST_TABS} times Tab do not lead to {target}")


def test_a_new_installation_shows_the_evidence_that_ships_until_it_has_its_own(
    browser: Browser, instance: BrowsedCoordinator, tmp_path: Path
) -> None:
    base = f"http://127.0.0.1:{instance.unused.port}"
    context = browser.new_context(viewport=DESK, storage_state=signed_in(base))
    context.set_default_timeout(WITHIN_S * 1e3)
    visit = Watched(context.new_page(), base)
    page = visit.page
    visit.open("/")
    expect(page.locator("main")).to_contain_text("this is the evidence that ships with Portolan")
    expect(page.locator("figure[data-framework=torch]").first).to_be_visible()
    assert visit.photograph(tmp_path) == []
    page.get_by_role("searchbox").fill("multinomial")
    page.get_by_role("link", name="torch.multinomial", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("torch.multinomial")
    expect(page.get_by_role("heading", level=2).first).to_contain_text("torch@")
    expect(page.locator("main")).to_contain_text("this is the evidence that ships with Portolan")
    assert visit.photograph(tmp_path) == []

    bundle = bundles.as_torch(tmp_path / "torch-xla.bundle", {"torch.add": "hazards.add"})
    answer = instance.unused.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle.read_bytes())
    assert answer.is_success, answer.text

    def is_own() -> bool:
        visit.open("/")
        return "1 function of torch" in page.locator(".lead").inner_text()

    until(is_own, "the atlas has the bundle's evidence")
    expect(page.locator("main")).not_to_contain_text("evidence that ships")
    context.close()
    assert visit.faults == []


SCRIPT = "import torch\n\n\ndef step(x):\n    return torch.cumsum(x, 0)\n"


def test_a_script_that_is_dropped_on_the_atlas_is_assessed_and_its_functions_stand_out(
    visit: Watched, instance: BrowsedCoordinator, tmp_path: Path
) -> None:
    bundle = bundles.as_torch(
        tmp_path / "torch-xla.bundle", {"torch.cumsum": "hazards.fail", "torch.add": "hazards.add"}
    )
    answer = instance.coordinator.http.post(bundles.UPLOAD, headers=bundles.HEADERS, content=bundle.read_bytes())
    assert answer.is_success, answer.text
    page = visit.page
    visit.open("/")
    page.evaluate(
        """text => {
            const files = new DataTransfer();
            files.items.add(new File([text], "train.py"));
            document.querySelector("h1").dispatchEvent(
                new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
        }""",
        SCRIPT,
    )
    expect(page.get_by_role("heading", name="What train.py uses")).to_be_focused()
    row = page.get_by_role("row", name=re.compile("torch.cumsum"))
    expect(row).to_contain_text("fails")
    expect(page.locator("figure[data-framework=torch] figcaption").first).to_contain_text("script uses are outlined")
    page.get_by_text("All findings on torch@2.9.0/xla").click()
    expect(page.locator("article").first).to_contain_text("return torch.cumsum(x, 0)")
    assert visit.photograph(tmp_path) == []


def test_a_script_is_chosen_and_assessed_without_scripts(
    browser: Browser, instance: BrowsedCoordinator, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text("import tensorflow as tf\n\ntf.cumsum(tf.ones(3))\n")
    context = browser.new_context(storage_state=instance.session, java_script_enabled=False)
    page = context.new_page()
    page.goto(instance.base)
    page.get_by_label(re.compile("^Check a script")).set_input_files(file)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("heading", name="What train.py uses")).to_be_visible()
    expect(page.locator("section.assessed")).to_contain_text("ships with Portolan")
    context.close()
