"""The columns of a table on a page. The label of a column is written once.

The head of the table shows the labels. Each cell has the label of its column as the attribute ``data-column``, because
a narrow window shows each row as a card with the label above each cell::

    {% set columns = table_columns(case="Case", runs=("Runs", "n")) %}
    <table class="stacked">
    {{ columns.head }}
    <tbody><tr><th scope="row">torch.add/0</th><td{{ columns.runs }}>3</td></tr></tbody>
    </table>
"""

from __future__ import annotations

from functools import cached_property

from markupsafe import Markup

from coordinator.text.page_text import page_text


class TableColumn:
    """A column. ``<td{{ column }}>`` is the start of a cell."""

    def __init__(self, label: str, classes: str = "") -> None:
        self.label = page_text(label)
        self._classes = classes
        self._attributes = Markup(' data-column="{}"').format(self.label) + _class(classes)

    @cached_property
    def heading(self) -> Markup:
        """The column's cell in the head of the table. Numbers are aligned in the head as in the cells below."""
        alignment = _class("n") if "n" in self._classes.split() else ""
        return Markup('<th scope="col"{}>{}</th>').format(alignment, self.label)

    def __html__(self) -> str:
        return self._attributes


class TableColumns:
    """The columns of a table from left to right, each with a name for the template."""

    def __init__(self, columns: dict[str, TableColumn]) -> None:
        self._columns = columns

    @cached_property
    def head(self) -> Markup:
        headings = Markup("").join(column.heading for column in self._columns.values())
        return Markup("<thead><tr>{}</tr></thead>").format(headings)

    def __getitem__(self, name: str) -> TableColumn:
        return self._columns[name]

    def __add__(self, other: TableColumns) -> TableColumns:
        return TableColumns({**self._columns, **other._columns})

    def __len__(self) -> int:
        return len(self._columns)


def table_columns(**columns: str | tuple[str, str]) -> TableColumns:
    """The columns of a table. Each value is the column's label, or its label and the CSS classes of its cells."""
    return TableColumns(
        {name: TableColumn(value) if isinstance(value, str) else TableColumn(*value) for name, value in columns.items()}
    )


def _class(names: str) -> Markup:
    return Markup(' class="{}"').format(names) if names else Markup("")
