"""A report's table on a page is transposed if it has more columns than fit into a window."""

from __future__ import annotations

import re

from coordinator.reports.table import Column, Table
from coordinator.web.pages import templates


def _html(columns: int) -> str:
    table = Table(
        id="counts",
        title="Counts",
        columns=tuple(Column(f"c{number}", f"column {number}") for number in range(columns)),
        rows=(tuple(f"cell {number}" for number in range(columns)),),
        notes=(),
        counting_rule="",
        revisions=(),
        query="",
        remade_from=(),
    )
    return str(templates.get_template("tables.html").make_module().report_table(table, 10, ""))  # type: ignore[attr-defined]


def test_a_table_that_fits_has_its_columns_as_columns() -> None:
    html = _html(15)
    assert html.count("<tr>") == 2
    assert len(re.findall('<th scope="col"', html)) == 15


def test_a_table_of_many_columns_has_a_row_for_each() -> None:
    rows = re.findall(r'<th scope="row">([^<]+)</th>\s*<td>([^<]+)</td>', _html(16))
    assert rows == [(f"column {number}", f"cell {number}") for number in range(16)]
