"""Finds the libraries that a wheel's shared libraries need but the wheel does not contain, with the needed versions and
symbols. ``demands`` reads the wheel's files. ``missing`` decides from their content, and does no I/O.
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
"""Libraries that a wheel for Linux may expect on the system (PEP 600), or that belong to the interpreter."""
FROM_THE_DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
"""Libraries of NVIDIA's driver. No package contains them, and torch works without them if there is no driver."""
OF_CUDA = re.compile(r"_*(cu(da|File|blas|dnn|fft|pti|rand|solver|sparse)|nv(rtc|tx|shmem|Jit)|p?nccl).*")
"""Matches symbols of CUDA's libraries that a wheel needs without naming a version, and thus without naming a library.
The driver's symbols begin with ``cu`` and a capital letter."""

_SYMBOL = struct.Struct("<IBBHQQ")
_UNDEFINED, _WEAK = 0, 2
_HIDDEN = 0x7FFF
"""The bits of a symbol's version number. The remaining bit marks the symbol as hidden."""


@dataclass(frozen=True)
class LibraryTables:
    """The names in a shared library's file: the libraries that it needs, the symbols that it has, and the symbols that
    it needs."""

    needed: tuple[str, ...]
    defined: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    """Symbols that the library needs without naming another library."""
    asked_by_version: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """Symbols that the library needs, by library and version. A version may be needed without any symbol."""
    looks_here_first: bool = True
    """Whether the loader searches the library's own folder before the system's folders."""


def demands(folder: Path) -> list[Stub]:
    """Find the libraries that the shared libraries in a folder need, but that are neither in the folder nor on the
    system. Return a stub for each of them.

    Raise ``StubError`` for files that are not shared libraries for this kind of machine.
    """
    present = {file.name: read(file) for file in sorted(folder.glob("*.so*")) if file.is_file()}
    if not present:
        raise StubError(f"{folder} has no shared libraries (*.so*): give the folder that directly contains them")
    return missing(present)


def missing(present: Mapping[str, LibraryTables]) -> list[Stub]:
    """Return the stubs that provide the symbols that these libraries need but do not contain."""
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
    """Return the libraries that one library needs and that are missing in the folder."""
    return [
        soname
        for soname in tables.needed
        if soname not in present and soname not in FROM_THE_DRIVER and not FROM_THE_SYSTEM.fullmatch(soname)
    ]


def _require_own_folder(present: Mapping[str, LibraryTables]) -> None:
    """Raise ``StubError`` if a library could load CUDA from the system in addition to the stubs."""
    for name, tables in present.items():
        if not tables.looks_here_first and (absent := _absent(tables, present)):
            raise StubError(
                f"{name} looks for {absent[0]} in the system's folders before its own, so a stub may not be used: "
                "install CUDA's packages as well"
            )


def _home(name: str, sonames: Sequence[str]) -> str:
    """Return the library to which a symbol belongs according to its name. The loader accepts the symbol in any
    library."""
    plain = name.lstrip("_").lower()
    spoken = [soname for soname in sonames if plain.startswith(soname.removeprefix("lib").partition(".")[0].lower())]
    return max(spoken, key=len, default=sonames[0])


def read(file: Path) -> LibraryTables:
    """Return the tables of a library's file. Raise ``StubError`` if the file cannot be read."""
    try:
        with file.open("rb") as stream:
            return _tables(ELFFile(stream))
    except (ELFError, struct.error, ValueError, IndexError, KeyError) as error:
        raise StubError(f"{file.name} cannot be read as a shared library ({error}): install CUDA's packages") from error


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
        # DT_RPATH is searched before LD_LIBRARY_PATH. It is ignored if there is a DT_RUNPATH, which is searched after
        # it.
        any("$ORIGIN" in folders.split(":") for folders in _texts(dynamic, "DT_RPATH", strings))
        and not any(_texts(dynamic, "DT_RUNPATH", strings)),
    )


def _section(elf: ELFFile, name: str, kind: type[SectionT]) -> SectionT:
    section = elf.get_section_by_name(name)
    if not isinstance(section, kind):
        raise ELFError(f"it has no section {name}")
    return section


def _texts(dynamic: DynamicSection, kind: str, strings: bytes) -> Iterator[str]:
    """Return the texts of the dynamic section's entries of this kind."""
    return (_text(strings, tag.entry.d_val) for tag in dynamic.iter_tags(kind))


def _text(strings: bytes, at: int) -> str:
    return strings[at : strings.index(b"\0", at)].decode()


def _versions_needed(elf: ELFFile) -> dict[int, tuple[str, str]]:
    """Return the library and version for each version number."""
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {
        version["vna_other"]: (str(library.name), version.name)
        for library, its_versions in section.iter_versions()
        for version in its_versions
    }


def _symbols(elf: ELFFile, strings: bytes) -> Iterator[tuple[str, bool, bool, int]]:
    """Yield the name of each symbol, whether it is defined, whether it is weak, and the number of its version.

    They are unpacked here, because a library of torch has a hundred thousand symbols.
    """
    table: bytes = _section(elf, ".dynsym", Section).data()
    section = elf.get_section_by_name(".gnu.version")
    numbers: Iterable[int] = _numbers(section.data()) if section is not None else [0] * (len(table) // _SYMBOL.size)
    for (name_at, info, _, at, _, _), number in zip(_SYMBOL.iter_unpack(table), numbers):
        if name_at:
            yield _text(strings, name_at), at != _UNDEFINED, info >> 4 == _WEAK, number & _HIDDEN


def _numbers(content: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(content) // 2}H", content)
