"""The demands of a wheel's libraries on libraries that the wheel does not have: names, versions and symbols.

``demands`` reads the wheel's files; ``missing`` decides from what was read, and is pure.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import Section

from runners.errors import StubError
from runners.torch.stubs.shared_object import ImportedSymbol, Stub

SectionT = TypeVar("SectionT", bound=Section)

FROM_THE_SYSTEM = re.compile(
    r"ld-linux.*|lib(c|m|dl|rt|nsl|util|pthread|resolv|gcc_s|stdc\+\+|z|expat|atomic|python[0-9.]+)\.so\..*"
)
"""Libraries that a wheel for Linux may expect of the system (PEP 600), or that the interpreter is."""
FROM_THE_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
"""Libraries of NVIDIA's driver: no package has them, and torch goes without them where there is no driver."""
OF_CUDA = re.compile(r"_*(cu(da|File|blas|dnn|fft|pti|rand|solver|sparse)|nv(rtc|tx|shmem|Jit)|p?nccl).*")
"""Symbols of CUDA's libraries, where a wheel asks for them without a version and so without a library. The driver's
begin with ``cu`` and a capital letter."""

_SYMBOL = struct.Struct("<IBBHQQ")
_UNDEFINED, _WEAK = 0, 2
_HIDDEN = 0x7FFF
"""A symbol's version is the other bits."""


@dataclass(frozen=True)
class LibraryTables:
    """The names in a library's file: of what it needs, has and asks for."""

    needed: tuple[str, ...]
    defined: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    """Symbols that it needs, of nobody in particular."""
    asked_by_version: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """The same of the library and the version that it names; a version may be needed without any symbol."""
    looks_here_first: bool = True
    """Whether the loader looks for what it needs in its own folder before it looks in the system's."""


def demands(folder: Path) -> list[Stub]:
    """The libraries that those in a folder need and that neither the folder nor the system has.

    Raises ``StubError`` for files that are no libraries of this kind of machine.
    """
    present = {file.name: read(file) for file in sorted(folder.glob("*.so*")) if file.is_file()}
    if not present:
        raise StubError(f"{folder} holds no libraries")
    return missing(present)


def missing(present: Mapping[str, LibraryTables]) -> list[Stub]:
    """The stubs that make up for what these libraries need and do not have among them."""
    _require_own_folder(present)
    defined_symbols = frozenset[str]().union(*(tables.defined for tables in present.values()))
    symbols: dict[str, set[ImportedSymbol]] = defaultdict(set)
    versions: dict[str, set[str]] = defaultdict(set)
    for tables in present.values():
        absent = _absent(tables, present)
        for soname in absent:
            symbols.setdefault(soname, set())
        for (soname, version), names in tables.asked_by_version.items():
            if soname in absent:
                versions[soname].add(version)
                symbols[soname].update(ImportedSymbol(name, version) for name in names)
        for name in sorted(tables.asked - defined_symbols):
            if absent and OF_CUDA.fullmatch(name):
                symbols[_home(name, absent)].add(ImportedSymbol(name))
    return [Stub(soname, tuple(sorted(symbols[soname])), tuple(sorted(versions[soname]))) for soname in sorted(symbols)]


def _absent(tables: LibraryTables, present: Mapping[str, LibraryTables]) -> list[str]:
    """The libraries that one needs and nobody has."""
    return [
        soname
        for soname in tables.needed
        if soname not in present and soname not in FROM_THE_DRIVER and not FROM_THE_SYSTEM.fullmatch(soname)
    ]


def _require_own_folder(present: Mapping[str, LibraryTables]) -> None:
    """Refuse libraries with which a system's own CUDA could be mixed in."""
    for name, tables in present.items():
        if not tables.looks_here_first and (absent := _absent(tables, present)):
            raise StubError(f"{name} looks for {absent[0]} in the system's folders before its own")


def _home(name: str, sonames: Sequence[str]) -> str:
    """The library of which a symbol's name speaks; the loader takes the symbol from whichever has it."""
    plain = name.lstrip("_").lower()
    spoken = [soname for soname in sonames if plain.startswith(soname.removeprefix("lib").partition(".")[0].lower())]
    return max(spoken, key=len, default=sonames[0])


def read(file: Path) -> LibraryTables:
    """The tables of a library's file. Raises ``StubError``."""
    try:
        with file.open("rb") as stream:
            return _tables(ELFFile(stream))
    except (ELFError, struct.error, ValueError, IndexError, KeyError) as error:
        raise StubError(f"{file.name} cannot be read as a library: {error}") from error


def _tables(elf: ELFFile) -> LibraryTables:
    dynamic = _section(elf, ".dynamic", DynamicSection)
    strings: bytes = _section(elf, ".dynstr", Section).data()
    needed_libraries = tuple(_texts(dynamic, "DT_NEEDED", strings))
    versions = _versions_needed(elf)
    asked_by_version: dict[tuple[str, str], set[str]] = {version: set() for version in versions.values()}
    defined_symbols, asked_symbols = set(), set()
    for name, is_defined, is_weak, number in _symbols(elf, strings):
        if is_defined:
            defined_symbols.add(name)
        elif number in versions:
            asked_by_version[versions[number]].add(name)
        elif not is_weak:
            asked_symbols.add(name)
    return LibraryTables(
        needed_libraries,
        frozenset(defined_symbols),
        frozenset(asked_symbols),
        {version: frozenset(names) for version, names in asked_by_version.items()},
        # DT_RPATH comes before LD_LIBRARY_PATH, and does not count beside DT_RUNPATH, which comes after it.
        any("$ORIGIN" in folders.split(":") for folders in _texts(dynamic, "DT_RPATH", strings))
        and not any(_texts(dynamic, "DT_RUNPATH", strings)),
    )


def _section(elf: ELFFile, name: str, kind: type[SectionT]) -> SectionT:
    section = elf.get_section_by_name(name)
    if not isinstance(section, kind):
        raise ELFError(f"it has no section {name}")
    return section


def _texts(dynamic: DynamicSection, kind: str, strings: bytes) -> Iterator[str]:
    """The texts of the dynamic section's entries of a kind."""
    return (_text(strings, tag.entry.d_val) for tag in dynamic.iter_tags(kind))


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def _versions_needed(elf: ELFFile) -> dict[int, tuple[str, str]]:
    """By number, library and version."""
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {
        version["vna_other"]: (str(library.name), version.name)
        for library, its_versions in section.iter_versions()
        for version in its_versions
    }


def _symbols(elf: ELFFile, strings: bytes) -> Iterator[tuple[str, bool, bool, int]]:
    """Name, whether it is defined, whether it is weak, and the number of its version, of every named symbol.

    Unpacked here, because a library of torch has a hundred thousand.
    """
    table: bytes = _section(elf, ".dynsym", Section).data()
    section = elf.get_section_by_name(".gnu.version")
    numbers: Iterable[int] = _numbers(section.data()) if section is not None else [0] * (len(table) // _SYMBOL.size)
    for (name_at, info, _, at, _, _), number in zip(_SYMBOL.iter_unpack(table), numbers):
        if name_at:
            yield _text(strings, name_at), at != _UNDEFINED, info >> 4 == _WEAK, number & _HIDDEN


def _numbers(content: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(content) // 2}H", content)
