"""Marks the sites that a program run reached, using data from coverage.py.

A site is reached if any line of its statement ran, because for a statement of several lines coverage.py counts only
some of its lines. For files without data, such as notebooks, it is unknown whether a site was reached.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coordinator.assess.sites import AssessedSource, Site
from coordinator.assess.statements import StatementLines, statement_at, statements_of
from coordinator.errors import AssessmentError

_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class ExecutedLines:
    """The lines that ran, by the absolute path of each measured file."""

    lines: Mapping[Path, frozenset[int]]

    @classmethod
    def read(cls, file: Path) -> ExecutedLines:
        """Read the data file of coverage.py (``.coverage``), or its JSON report.

        Raises ``AssessmentError`` for a file of another kind, and ``OSError`` for an unreadable file.
        """
        content = file.read_bytes()
        try:
            lines_by_name = _of_database(file) if content.startswith(_SQLITE) else _of_json(content)
            # The paths in a report are relative to the folder where it was made: the working directory, or the report's
            # folder.
            return cls({path: lines for name, lines in lines_by_name for path in _candidate_paths(name, file.parent)})
        except (ValueError, KeyError, TypeError, AttributeError, sqlite3.Error) as error:
            raise AssessmentError(
                f"--coverage {file} is not a data file of coverage.py: pass the file .coverage, "
                "or the report of `coverage json`"
            ) from error


def with_reached(source: AssessedSource, coverage: ExecutedLines, root: Path) -> AssessedSource:
    """The source with ``reached`` set for each site in a measured file. The paths of sites are relative to ``root``.

    Raises ``AssessmentError`` if no file was measured, because the data then belong to another project.
    """
    statements: dict[str, list[StatementLines] | None] = {}
    sites = []
    for site in source.sites:
        file = (root / site.path).resolve()
        ran = coverage.lines.get(file)
        if ran is not None and site.path not in statements:
            statements[site.path] = _statements(file)
        own_statements = statements.get(site.path)
        sites.append(
            site
            if ran is None or own_statements is None
            else replace(site, reached=_is_reached(site, own_statements, ran))
        )
    if source.sites and not any(site.reached is not None for site in sites):
        raise AssessmentError(
            "the data of --coverage contain none of the files that use the framework: measure the assessed program"
        )
    return replace(source, sites=tuple(sites))


def _is_reached(site: Site, statements: list[StatementLines], ran: frozenset[int]) -> bool | None:
    statement = statement_at(site.line, statements)
    if statement is None:
        return None
    return any(line in ran for line in range(statement.first, max(statement.last, site.line) + 1))


def _statements(file: Path) -> list[StatementLines] | None:
    """The statements of a file; None if the file cannot be read."""
    try:
        return statements_of(file.read_bytes())
    except OSError:
        return None


def _candidate_paths(name: str, folder: Path) -> Iterator[Path]:
    path = Path(name)
    yield from dict.fromkeys([path.resolve(), (folder / path).resolve()])


def _of_json(content: bytes) -> Iterator[tuple[str, frozenset[int]]]:
    for name, file in json.loads(content)["files"].items():
        yield name, frozenset(map(int, file["executed_lines"]))


def _of_database(file: Path) -> Iterator[tuple[str, frozenset[int]]]:
    """Read the executed lines from coverage.py's tables.

    If coverage.py ran without ``--branch``, a table has one bit per line, eight bits in a byte. If it ran with
    ``--branch``, a table has the two lines of each executed jump (arc); for jumps into and out of a code block, one of
    the numbers is negative.
    """
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        lines: dict[str, set[int]] = {path: set() for (path,) in connection.execute("SELECT path FROM file")}
        bits = connection.execute("SELECT path, numbits FROM line_bits JOIN file ON file.id = file_id")
        for path, numbits in bits:
            lines[path] |= {8 * at + bit for at, byte in enumerate(numbits) for bit in range(8) if byte >> bit & 1}
        arcs = connection.execute("SELECT path, fromno, tono FROM arc JOIN file ON file.id = file_id")
        for path, start, end in arcs:
            lines[path] |= {line for line in (start, end) if line > 0}
    finally:
        connection.close()
    return iter([(path, frozenset(ran)) for path, ran in lines.items()])
