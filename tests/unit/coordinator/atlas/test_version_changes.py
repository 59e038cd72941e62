"""Changes from one charted version to the next, on the same device and hardware."""

from __future__ import annotations

from dataclasses import replace

from coordinator.assess.evidence import Chart
from coordinator.atlas.addresses import as_link, target_path
from coordinator.atlas.changes import latest_changes, version_changes
from coordinator.atlas.marks import Mark
from coordinator.atlas.overview import Atlas
from coordinator.atlas.pages import Page, environment, front_page, target_page
from tests.unit.coordinator.assess.cases import CHARTED_AT
from tests.unit.coordinator.atlas.evidence import Ends, atlas, charted_target

OLD = charted_target({"torch.a": ["failed"], "torch.b": ["passed"], "torch.gone": ["passed"]}, "2.8.0")
NEW = charted_target({"torch.a": ["passed"], "torch.b": ["passed"], "torch.new": ["passed"]}, "2.10.0")


def shown(page: Page) -> str:
    return environment().get_template(page.body).render(page.values, root=page.root, front_link="index.html")


def shown_target(found: Atlas, version: str) -> str:
    (torch,) = found.frameworks
    (column,) = [column for column in torch.columns if column.evidence.version == version]
    return shown(target_page(torch, column))


def test_the_newest_version_is_compared_to_the_charted_one_before() -> None:
    (since,) = latest_changes(atlas(OLD, NEW, charted_target({"torch.a": ["fell_back"]}, "2.7.0")))
    assert (since.before.target, since.after.target) == ("torch@2.8.0/xla", "torch@2.10.0/xla")
    assert [(one.function, one.before, one.after) for one in since.marks] == [("torch.a", Mark.fails, Mark.works)]
    assert since.added == ["torch.new"]
    assert since.removed == ["torch.gone"]


def test_the_function_that_is_used_most_comes_first() -> None:
    old = charted_target({"torch.a": ["failed"], "torch.b": ["failed"]}, "2.8.0")
    new = charted_target({"torch.a": ["passed"], "torch.b": ["fell_back"]})
    (since,) = latest_changes(atlas(old, new, uses={"torch.b": 3}))
    assert [change.function for change in since.marks] == ["torch.b", "torch.a"]


def test_other_devices_other_hardware_and_versions_without_a_change_are_not_compared() -> None:
    functions: Ends = {"torch.a": ["passed"]}
    found = atlas(
        charted_target({"torch.a": ["failed"]}, "2.8.0", device="cuda"),
        charted_target({"torch.a": ["failed"]}, "2.8.0", hardware="Intel Xeon"),
        charted_target(functions, "2.8.0"),
        charted_target(functions, "2.9.0"),
    )
    assert latest_changes(found) == []
    (torch,) = found.frameworks
    assert [version_changes(torch, column) is None for column in torch.columns] == [False, True, True, True]


def test_what_was_charted_last_comes_first() -> None:
    def at(hour: int) -> tuple[Chart, ...]:
        return (Chart("library", "rev", CHARTED_AT.replace(hour=hour)),)

    early = [replace(one, device="cuda", charts=at(7)) for one in (OLD, NEW)]
    late = [replace(one, charts=at(8)) for one in (OLD, NEW)]
    devices = [since.after.evidence.device for since in latest_changes(atlas(*early, *late))]
    assert devices == ["xla", "cuda"]


def test_the_front_lists_the_changes_and_says_if_the_cases_were_others() -> None:
    page = shown(front_page(atlas(OLD, NEW)))
    assert "What changed lately" in page
    assert ">torch.<wbr>a</a>" in page.partition("What changed lately")[2]
    assert "different suites or revisions" not in page
    revised = replace(NEW, charts=(Chart("library", "another", CHARTED_AT),))
    assert "2.8.0 and 2.10.0 were charted with different suites or revisions" in shown(front_page(atlas(OLD, revised)))
    assert "What changed lately" not in shown(front_page(atlas(NEW)))


def test_the_page_of_a_target_leads_to_its_other_versions_and_says_what_differs() -> None:
    found = atlas(OLD, NEW)
    newest, oldest = shown_target(found, "2.10.0"), shown_target(found, "2.8.0")
    for page, other in ((newest, "torch@2.8.0/xla"), (oldest, "torch@2.10.0/xla")):
        assert f'href="../{as_link(target_path(other, "AMD EPYC"))}"' in page
    differences = newest.partition("Differences from")[2]
    assert ">torch.<wbr>a</a>: " in differences
    assert "1 charted in 2.10.0 and not in 2.8.0" in differences
    assert "1 charted in 2.8.0 and not in 2.10.0" in differences
    assert "Differences from" not in oldest


def test_a_version_that_does_as_the_one_before_is_said_to() -> None:
    functions: Ends = {"torch.a": ["passed"]}
    page = shown_target(atlas(charted_target(functions, "2.8.0"), charted_target(functions, "2.9.0")), "2.9.0")
    assert "None: the same functions were charted, with the same marks." in page
