"""The documentation's answers from the shipped evidence agree with the atlas."""

from __future__ import annotations

import re
from pathlib import Path

from coordinator.assess import evidence_file
from coordinator.atlas.marks import cell_of, cell_words

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "ten-questions.md"
ROW = re.compile(r"^\| \[.+\]\(https://\S+\) \| `(?P<function>[\w.]+)` \| (?P<mark>[^|]+) \| (?P<words>[^|]*)\|$", re.M)


def test_every_answer_is_that_of_the_evidence_that_ships() -> None:
    cells = {
        name: cell_of(cases)
        for target in evidence_file.load_shipped().targets
        for name, cases in target.functions.items()
    }
    rows = [match.groupdict() for match in ROW.finditer(PAGE.read_text())]
    assert len(rows) == 10
    for row in rows:
        cell = cells.get(row["function"])
        assert row["mark"].strip() == ("not charted" if cell is None else cell.mark), row["function"]
        assert row["words"].strip() == ("" if cell is None else cell_words(cell, is_lowered=False)), row["function"]
