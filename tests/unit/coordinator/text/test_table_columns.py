"""The head and the cells of a table show the same labels, and markup in a label is shown as text."""

from __future__ import annotations

import pytest
from jinja2 import Environment, StrictUndefined, UndefinedError

from coordinator.text.table_columns import table_columns

TEMPLATES = Environment(autoescape=True, undefined=StrictUndefined)


def test_the_head_shows_the_labels_from_left_to_right() -> None:
    columns = table_columns(case="Case", runs=("Runs", "n")) + table_columns(message=("<Message>", "wrap mono"))
    assert columns.head == (
        '<thead><tr><th scope="col">Case</th><th scope="col" class="n">Runs</th>'
        '<th scope="col">&lt;Message&gt;</th></tr></thead>'
    )
    assert len(columns) == 3


def test_a_cell_names_its_column_and_has_its_classes() -> None:
    template = TEMPLATES.from_string("<td{{ columns.runs }}>3</td><td{{ columns.message }}>x</td>")
    columns = table_columns(runs=("Runs", "n"), message='a "word"')
    assert template.render(columns=columns) == (
        '<td data-column="Runs" class="n">3</td><td data-column="a &#34;word&#34;">x</td>'
    )


def test_a_cell_of_a_column_that_the_table_does_not_have_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="rums"):
        TEMPLATES.from_string("<td{{ columns.rums }}>").render(columns=table_columns(runs="Runs"))
