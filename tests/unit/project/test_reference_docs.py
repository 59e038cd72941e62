"""Tables of the documentation are those of the code; ``make docs`` writes them."""

from __future__ import annotations

import pytest

from scripts import docs


@pytest.mark.parametrize("table", docs.TABLES, ids=lambda table: table.page)
def test_a_table_is_as_the_code_makes_it(table: docs.Table) -> None:
    text = (docs.DOCS / table.page).read_text()
    assert table.written(text) == text, f"run make docs: {table.page} differs from the code"


def test_an_outdated_table_is_rewritten_and_nothing_else() -> None:
    table = docs.Table("page.md", "| name | meaning |", lambda: iter(["| a | first |", "| b | second |"]))
    text = "# Page\n\n| name | meaning |\n| --- | --- |\n| a | old |\n\nText.\n"
    assert table.written(text) == text.replace("| a | old |", "| a | first |\n| b | second |")


@pytest.mark.parametrize("text", ["# Page\n", "\n| name | meaning |\n| --- |\n\n| name | meaning |\n| --- |\n"])
def test_a_table_must_stand_once_on_its_page(text: str) -> None:
    with pytest.raises(ValueError, match="must have one table"):
        docs.Table("page.md", "| name | meaning |", lambda: iter(())).written(text)
