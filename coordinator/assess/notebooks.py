"""Notebooks: combines the code of all cells into one source, with the cell and line number of each line. This module
does no I/O."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MAGICS_OF_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun")
"""Cell magics that run the cell as Python."""
_MAGIC = ("%", "!", "?")
_ASSIGNED_MAGIC = re.compile(r"(?P<names>[\w.,* \t\[\]'\"]+=\s*)[%!](?!=)")
"""Matches the start of a line that assigns the result of a magic or of a shell command: ``files = !ls``."""
_CELL = re.compile(r"(?P<file>.*\.ipynb)#(?P<cell>[0-9]+)", re.DOTALL)


def split_cell(path: str) -> tuple[str, int | None]:
    """The file of a path that a report shows, and the number of the cell: ``train.ipynb#3``. The number is None for
    other files. The name of a folder may contain ``#`` too."""
    match = _CELL.fullmatch(path)
    return (match["file"], int(match["cell"])) if match else (path, None)


@dataclass(frozen=True)
class NotebookCell:
    """A code cell: its number among the notebook's cells, counted from 1, and its source without magics."""

    number: int
    source: str
    error: SyntaxError | ValueError | RecursionError | None = None
    """The parser's error; None if Python can parse the cell."""


@dataclass(frozen=True)
class NotebookCode:
    """The combined source of the cells that can be parsed."""

    content: bytes
    places: tuple[tuple[int, int], ...]
    """For each line, the cell's number and the line in the cell."""
    unread: tuple[NotebookCell, ...]


def code_of(notebook: bytes) -> NotebookCode:
    """Read a notebook. Raises ``ValueError`` if the file is not a notebook or its format is too old, and
    ``RecursionError`` if it is nested too deeply."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    unread: list[NotebookCell] = []
    for cell in _cells(notebook):
        if cell.error is not None:
            unread.append(cell)
            continue
        for number, line in enumerate(cell.source.split("\n"), 1):
            lines.append(line)
            places.append((cell.number, number))
    return NotebookCode("\n".join(lines).encode("utf-8", "replace"), tuple(places), tuple(unread))


def is_old(notebook: bytes) -> bool:
    """Whether a file is a notebook of format 3 or older, in which the cells are in worksheets."""
    try:
        document = json.loads(notebook)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("worksheets"), list)


def _cells(notebook: bytes) -> Iterator[NotebookCell]:
    document = json.loads(notebook)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no notebook")
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = _plain_python(_text(cell.get("source")))
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError) as error:
            yield NotebookCell(number, source, error)
        else:
            yield NotebookCell(number, source)


def _text(source: object) -> str:
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ") if isinstance(source, str) else ""


def _plain_python(source: str) -> str:
    """The source with IPython's own syntax replaced by empty lines, so that line numbers stay the same."""
    lines = source.split("\n")
    if source.startswith("%%"):
        if not source.startswith(_MAGICS_OF_PYTHON):
            return ""
        lines[0] = ""
    return "\n".join(_without_magic(line) for line in lines)


def _without_magic(line: str) -> str:
    plain = line.lstrip()
    if plain.startswith(_MAGIC) or plain.rstrip().endswith("?"):
        # A statement is needed, because the line may be the only one in its block.
        return line[: len(line) - len(plain)] + "pass"
    assignment = _ASSIGNED_MAGIC.match(line)
    return f"{assignment['names']}None" if assignment else line
