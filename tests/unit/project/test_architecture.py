"""The page on the architecture lists every folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "architecture.md"


@pytest.mark.parametrize("side", ["coordinator", "runners"])
def test_the_page_lists_every_folder_and_no_other(side: str) -> None:
    headings = {"coordinator": "The coordinator", "runners": "A runner"}
    section = PAGE.read_text().split(f"\n## {headings[side]}\n")[1].split("\n## ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed_folders = [folder for cell in first_cells for folder in re.findall(r"`(\w+)/`", cell)]
    folders = [folder.parent.name for folder in (ROOT / side).glob("*/__init__.py")]
    assert sorted(listed_folders) == sorted(folders)
