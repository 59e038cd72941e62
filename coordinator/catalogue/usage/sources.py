"""Reads the Python files of a corpus or a project one by one, within limits: from a folder, an archive or lines of
JSON.

Archives are not extracted to disk, and links are not followed. If a file cannot be read, the reason is reported, and
the other files are read nevertheless. The order of the files is always the same, so that an interrupted count can
resume.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coordinator.errors import CatalogueError

LARGEST_FILE = 4_000_000
"""The maximum size of a file in bytes. A larger file contains data, and not a program that a person wrote."""
LARGEST_LINE = 3 * LARGEST_FILE
"""The maximum length of a line of a .jsonl file in bytes. A line contains one source file, with JSON escapes."""
MOST_EXPANDED = 300
"""The maximum ratio of an archive's unpacked size to its packed size. Python sources have a ratio of about 5."""
ALWAYS_EXPANDED = 256_000_000
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_ZIP = (".zip", ".whl", ".egg")
_LINES = (".jsonl", ".jsonl.gz", ".json.gz", ".ndjson", ".ndjson.gz")
_MEMBERS = ("content", "code", "text")
"""The members of a JSON line that may contain the source."""
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-.+\.whl|(?P<sdist>.+)-(?P<of>[0-9][^-]*)\.(?:tar\.\w+|zip)")
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, NotImplementedError)
_UNREADABLE = (*_BROKEN, RuntimeError, ValueError, OverflowError, MemoryError)
"""Errors that damaged archives raise."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One Python file, or the reason why it cannot be read."""

    name: str
    package: str
    """The archive that contains the file: ``name version`` if the archive's file name has both, otherwise the file
    name. Empty for a file in a plain folder."""
    content: bytes = b""
    refusal: str | None = None


def _every_folder(folder: os.DirEntry[str]) -> bool:
    return True


@dataclass(frozen=True)
class FileFilter:
    """Selects the files to read."""

    suffixes: tuple[str, ...] = (".py",)
    """The suffixes of the files and archive members to read."""
    names_linked_folders: bool = False
    opens_archives: bool = True
    """Whether archives in a folder are opened."""
    enters: Callable[[os.DirEntry[str]], bool] = _every_folder

    def takes(self, name: str) -> bool:
        return name.endswith(self.suffixes) or (self.opens_archives and _reader_of(name) is not None)


LINK = "a link"
"""The reason why a link is not followed."""
CORPUS = FileFilter()
"""Selects every Python file of a corpus."""


def sources(corpus: Path, choice: FileFilter = CORPUS) -> Iterator[SourceFile]:
    """Yield every Python file of a corpus, always in the same order."""
    if corpus.is_dir():
        yield from _folder(corpus, corpus, choice)
    elif corpus.is_file() and _reader_of(corpus.name) is not None:
        yield from _archive(corpus, corpus.name, choice)
    elif corpus.exists():
        raise CatalogueError(f"{corpus} is not a corpus: name a folder, a .zip, .whl or .tar.* file, or a .jsonl file")
    else:
        raise CatalogueError(f"{corpus} does not exist: name a folder, an archive or a .jsonl file")


def package_of(archive: str) -> str:
    """The package and version in an archive's file name. If the file name does not contain both, the file name
    itself."""
    match = _WHEEL.fullmatch(archive)
    if match is None:
        return archive
    name, version = match["name"] or match["sdist"], match["version"] or match["of"]
    return f"{name.replace('_', '-').lower()} {version}"


def _folder(folder: Path, corpus: Path, choice: FileFilter) -> Iterator[SourceFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield SourceFile(_relative_name(folder, corpus), "", refusal=_reason(error))
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            if choice.takes(entry.name) or (choice.names_linked_folders and _leads_to_folder(entry)):
                yield SourceFile(_relative_name(path, corpus), "", refusal=LINK)
        elif entry.is_dir(follow_symlinks=False):
            if choice.enters(entry):
                yield from _folder(path, corpus, choice)
        elif choice.takes(entry.name):
            if not entry.is_file(follow_symlinks=False):
                yield SourceFile(_relative_name(path, corpus), "", refusal="no plain file")
            elif choice.opens_archives and _reader_of(entry.name) is not None:
                yield from _archive(path, _relative_name(path, corpus), choice)
            else:
                yield read_file(path, _relative_name(path, corpus))


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:
        # The link leads to itself, or through an unreadable folder.
        return False


def read_file(path: Path, name: str) -> SourceFile:
    """Read one file outside of an archive."""
    try:
        with path.open("rb") as stream:
            content, refusal = _read_bounded(stream)
    except OSError as error:
        return SourceFile(name, "", refusal=_reason(error))
    return SourceFile(name, "", content, refusal)


def _relative_name(path: Path, corpus: Path) -> str:
    return path.relative_to(corpus).as_posix()


def _reader_of(name: str) -> str | None:
    for kind, suffixes in (("tar", _TAR), ("zip", _ZIP), ("lines", _LINES)):
        if name.lower().endswith(suffixes):
            return kind
    return None


def _archive(path: Path, name: str, choice: FileFilter) -> Iterator[SourceFile]:
    package = package_of(path.name)
    reader = _reader_of(path.name)
    assert reader is not None
    read = {"tar": _tar, "zip": _zip, "lines": _json_lines}[reader]
    try:
        for member, content, refusal in read(path, choice.suffixes):
            source_name = f"{name}!{member}" if member else name
            yield SourceFile(source_name, package, content, refusal)
    except _UNREADABLE as error:
        yield SourceFile(name, package, refusal=f"damaged archive ({type(error).__name__})")


Member = tuple[str, bytes, str | None]


def _zip(path: Path, suffixes: tuple[str, ...]) -> Iterator[Member]:
    allowance = _allowance(path)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.is_dir() or not info.filename.endswith(suffixes):
                continue
            if (info.external_attr >> 28) == 0xA:
                yield info.filename, b"", LINK
                continue
            try:
                with archive.open(info) as stream:
                    content, refusal = _read_bounded(stream)
            except _UNREADABLE as error:
                content, refusal = b"", f"damaged member ({type(error).__name__})"
            allowance -= len(content)
            if allowance < 0:
                yield "", b"", "archive expands too far"
                return
            yield info.filename, content, refusal


def _tar(path: Path, suffixes: tuple[str, ...]) -> Iterator[Member]:
    allowance = _allowance(path)
    with tarfile.open(path, "r:*") as archive:
        while (info := archive.next()) is not None:
            # The archive keeps every header that it has read. Only the last one is needed.
            archive.members = archive.members[-1:]  # type: ignore[attr-defined]
            if info.offset_data > allowance:
                yield "", b"", "archive expands too far"
                return
            if not info.name.endswith(suffixes) or info.isdir():
                if info.offset_data + info.size > allowance:
                    yield "", b"", "archive expands too far"
                    return
                continue
            if not info.isfile():
                yield info.name, b"", LINK if info.issym() or info.islnk() else "no plain file"
            elif (stream := archive.extractfile(info)) is not None:
                with stream:
                    yield info.name, *_read_bounded(stream)


def _json_lines(path: Path, _: tuple[str, ...]) -> Iterator[Member]:
    allowance = _allowance(path)
    with _open_unpacked(path) as stream:
        number = 0
        while line := stream.readline(LARGEST_LINE):
            number += 1
            allowance -= len(line)
            if allowance < 0:
                yield "", b"", "archive expands too far"
                return
            if not line.endswith(b"\n") and len(line) == LARGEST_LINE:
                while (rest := stream.readline(LARGEST_LINE)) and not rest.endswith(b"\n"):
                    allowance -= len(rest)
                    if allowance < 0:
                        break
                yield f"line {number}", b"", "too large"
            else:
                yield f"line {number}", *_content_of(line)


def _content_of(line: bytes) -> tuple[bytes, str | None]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return b"", "no JSON"
    text = next((value[name] for name in _MEMBERS if name in value), None) if isinstance(value, dict) else None
    if not isinstance(text, str):
        return b"", "a line without a source"
    content = text.encode("utf-8", "surrogatepass")
    return (b"", "too large") if len(content) > LARGEST_FILE else (content, None)


def _open_unpacked(path: Path) -> Any:
    with path.open("rb") as stream:
        start = stream.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path)
    if start.startswith(b"BZh"):
        return bz2.open(path)
    return lzma.open(path) if start == b"\xfd7zXZ\x00" else path.open("rb")


def _allowance(path: Path) -> int:
    return ALWAYS_EXPANDED + MOST_EXPANDED * path.stat().st_size


def _read_bounded(stream: IO[bytes]) -> tuple[bytes, str | None]:
    content = stream.read(LARGEST_FILE + 1)
    return (b"", "too large") if len(content) > LARGEST_FILE else (content, None)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
