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


def test_the_page_names_the_modules_beside_the_folders_of_the_coordinator() -> None:
    """Modules belong into folders. The page describes the few modules that are not in a folder."""
    section = PAGE.read_text().split("modules are in no folder:")[1].split("\n\n")[0]
    modules = [path.name for path in (ROOT / "coordinator").glob("*.py") if not path.name.startswith("__")]
    assert sorted(re.findall(r"`(\w+\.py)`", section)) == sorted(modules)
