"""The source lines of the assessed code: a folder, a file, a notebook or an archive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from coordinator.assess.notebooks import split_cell
from coordinator.assess.statements import StatementLines, statement_at, statements_of
from coordinator.assess.syntax import split_lines
from coordinator.catalogue.usage.sources import sources
from coordinator.errors import CatalogueError

AROUND = 2
"""The number of lines shown before and after a line."""


class SourceLine(NamedTuple):
    number: int
    text: str


class Code:
    """The files below a root folder. A file is read when one of its lines is needed. An unreadable file has no
    lines, and neither has a file that does not contain the text ``containing``."""

    def __init__(self, root: Path, containing: str = "") -> None:
        self._root = root
        self._containing = containing.encode()
        self._lines: dict[str, Sequence[str]] = {}
        self._statements: dict[str, Sequence[StatementLines]] = {}

    def line(self, path: str, number: int) -> str:
        """Return the line with this path and number; an empty text if the file has no such line."""
        lines = self._of(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def line_with_end(self, path: str, number: int) -> str:
        """Return the line, followed by the last line of its statement. A formatter that splits a call over several
        lines leaves a comment behind the closing bracket."""
        line = self.line(path, number)
        if path not in self._statements:
            lines = self._of(path)
            self._statements[path] = (statements_of("\n".join(lines).encode()) if lines else None) or ()
        statement = statement_at(number, self._statements[path])
        if statement is None or statement.last <= number:
            return line
        return f"{line}\n{self.line(path, statement.last)}"

    def excerpt(self, path: str, number: int) -> list[SourceLine]:
        """The line with its neighboring lines."""
        first = max(number - AROUND, 1)
        lines = self._of(path)[first - 1 : number + AROUND]
        return [SourceLine(at, text) for at, text in enumerate(lines, first)]

    def _of(self, path: str) -> Sequence[str]:
        if path not in self._lines:
            try:
                self._lines[path] = self._read(path)
            except (OSError, ValueError, KeyError, TypeError, IndexError):
                self._lines[path] = ()
        return self._lines[path]

    def _read(self, path: str) -> Sequence[str]:
        file, cell = split_cell(path)
        content = self._content(file)
        if self._containing not in content:
            return ()
        if cell is not None:
            source = json.loads(content)["cells"][cell - 1]["source"]
            return split_lines(source if isinstance(source, str) else "".join(source))
        return split_lines(content.decode(errors="replace"))

    def _content(self, file: str) -> bytes:
        if self._root.is_dir():
            return (self._root / file).read_bytes()
        return self._members[file] if file in self._members else self._root.read_bytes()

    @cached_property
    def _members(self) -> dict[str, bytes]:
        """The files of an archive; empty if the file is not an archive."""
        try:
            return {
                source.name.rpartition("!")[2]: source.content if self._containing in source.content else b""
                for source in sources(self._root)
            }
        except CatalogueError:
            return {}


class CodeInMemory(Code):
    """The source lines of a single file whose content is in memory."""

    def __init__(self, content: bytes) -> None:
        super().__init__(Path())
        self._bytes = content

    def _content(self, file: str) -> bytes:
        return self._bytes
