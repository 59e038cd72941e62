"""Generated parts of the documentation agree with the code. ``make docs`` writes them."""

from __future__ import annotations

import pytest

from protocol.enums import DeviceClass
from scripts import docs


@pytest.mark.parametrize("part", docs.PARTS, ids=lambda part: f"{part.page} {part.sections}")
def test_a_generated_part_is_as_the_code_makes_it(part: docs.GeneratedTable | docs.GeneratedParagraph) -> None:
    text = (docs.DOCS / part.page).read_text()
    assert part.rewrite(text) == text, f"run make docs: {part.page} differs from the code"


def test_the_first_paragraph_of_a_section_is_rewritten_and_nothing_else() -> None:
    text = "# Page\n\n## First\n\nOld text.\n\n## Second\n\nOld\ntext.\n\nMore.\n"
    paragraph = docs.GeneratedParagraph("page.md", ("## Second",), "One row of\n  outcome_rows.")
    assert paragraph.rewrite(text) == text.replace("Old\ntext.", "One row of `outcome_rows`.")


def test_tables_with_one_heading_are_told_by_their_sections() -> None:
    table = docs.GeneratedTable("page.md", "| name | meaning |", lambda: iter(["| a | new |"]), ("## Second",))
    text = "# Page\n\n## First\n\n| name | meaning |\n| --- | --- |\n| a | old |\n"
    text += text.replace("# Page\n\n", "").replace("First", "Second")
    first, second = text.split("## Second")
    assert table.rewrite(text) == first + "## Second" + second.replace("old", "new")


def test_an_outdated_table_is_rewritten_and_nothing_else() -> None:
    table = docs.GeneratedTable("page.md", "| name | meaning |", lambda: iter(["| a | first |", "| b | second |"]))
    text = "# Page\n\n| name | meaning |\n| --- | --- |\n| a | old |\n\nText.\n"
    assert table.rewrite(text) == text.replace("| a | old |", "| a | first |\n| b | second |")


@pytest.mark.parametrize("text", ["# Page\n", "\n| name | meaning |\n| --- |\n\n| name | meaning |\n| --- |\n"])
def test_a_table_must_stand_once_on_its_page(text: str) -> None:
    with pytest.raises(ValueError, match="exactly one table"):
        docs.GeneratedTable("page.md", "| name | meaning |", lambda: iter(())).rewrite(text)


def test_a_member_without_a_text_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"write a docstring below DeviceClass\.cpu"):
        list(docs.members(DeviceClass))
