"""Writes a shared library of stubs, in which the loader finds each symbol that it needs. If a stub is called, it
reports its name.

The file is ELF for x86-64 Linux, in the format of the generic ABI and of GNU symbol versions. It has read-only tables,
code, and the dynamic section. It needs no relocation and no other library. The functions return bytes, and do no I/O.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runners.torch.stubs.answers import Answer, Number, TextPointer, Zero

MACHINE = "x86_64"
"""The machine of the code, as named by ``platform.machine()``."""
CALLED = 69
"""The exit status of a process that called a symbol without a result."""

_PAGE = 0x1000
_CODE_ALIGNMENT = 16
_EM_X86_64 = 62
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_READ, _WRITE, _EXECUTE = 4, 2, 1
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_SONAME = 4, 5, 6, 10, 11, 14
_DT_VERSYM, _DT_VERDEF, _DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
_GLOBAL_FUNCTION = 1 << 4 | 2
_SECTION_OF_CODE = 1
"""Any section number except the one for undefined symbols. The file has no section headers."""
_VERSION_BASE = 1
_HEADER, _PROGRAM_HEADER = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
_SYMBOL, _DYNAMIC = struct.Struct("<IBBHQQ"), struct.Struct("<qQ")
_VERDEF, _VERDAUX = struct.Struct("<HHHHIII"), struct.Struct("<II")


@dataclass(frozen=True, order=True)
class ImportedSymbol:
    """A function that the library must have. ``version`` is empty if no particular version is needed."""

    name: str
    version: str = ""


@dataclass(frozen=True)
class Stub:
    """A library to create."""

    soname: str
    symbols: tuple[ImportedSymbol, ...]
    versions: tuple[str, ...] = ()
    """All needed versions: those of symbols, and those that are needed without a symbol."""


def message(stub: Stub, name: str) -> bytes:
    """Return the line that is printed on stderr when a symbol without a result is called."""
    return f"portolan: {name} of {stub.soname} was called, and its package is not installed here\n".encode()


def shared_object(stub: Stub, answers: dict[str, Answer]) -> bytes:
    """Return the content of a stub's file. A call of a symbol returns the symbol's result. A call of a symbol without a
    result prints the symbol's name and ends the process."""
    strings = _Strings()
    versions = tuple(dict.fromkeys([*stub.versions, *(symbol.version for symbol in stub.symbols if symbol.version)]))
    numbers = {"": _VERSION_BASE} | {version: number for number, version in enumerate(versions, _VERSION_BASE + 1)}
    tables = _Layout(_HEADER.size + 5 * _PROGRAM_HEADER.size)
    names = [strings.add(symbol.name) for symbol in stub.symbols]
    soname, version_names = strings.add(stub.soname), [strings.add(version) for version in versions]
    definitions = _version_definitions([stub.soname, *versions], [soname, *version_names])
    hash_at = tables.add(_hash_table([symbol.name for symbol in stub.symbols]), 8)
    versym_at = tables.add(
        struct.pack(f"<{1 + len(names)}H", 0, *(numbers[symbol.version] for symbol in stub.symbols)), 8
    )
    verdef_at = tables.add(definitions, 8)
    strings_at = tables.add(strings.content, 8)
    texts = [_text_of(stub, symbol, answers) for symbol in stub.symbols]
    texts_at = [tables.add(text, 1) for text in texts]
    symbols_at = tables.end(8)
    code_at = _align(symbols_at + _SYMBOL.size * (1 + len(names)), _PAGE)
    code, entries = _code(stub.symbols, answers, [at - code_at for at in texts_at], [len(text) for text in texts])
    tables.add(_symbol_table(names, [code_at + entry for entry in entries]), 8)
    dynamic_at = _align(code_at + len(code), _PAGE)
    dynamic = b"".join(
        _DYNAMIC.pack(tag, value)
        for tag, value in (
            *((_DT_SONAME, soname), (_DT_HASH, hash_at), (_DT_STRTAB, strings_at), (_DT_SYMTAB, symbols_at)),
            *((_DT_STRSZ, len(strings.content)), (_DT_SYMENT, _SYMBOL.size), (_DT_VERSYM, versym_at)),
            *((_DT_VERDEF, verdef_at), (_DT_VERDEFNUM, 1 + len(versions)), (0, 0)),
        )
    )
    head = _headers(len(tables.content), (code_at, len(code)), (dynamic_at, len(dynamic)))
    file = bytearray(dynamic_at + len(dynamic))
    for at, content in ((0, tables.content), (0, head), (code_at, code), (dynamic_at, dynamic)):
        file[at : at + len(content)] = content
    return bytes(file)


class _Strings:
    """A string table."""

    def __init__(self) -> None:
        self.content = b"\0"

    def add(self, text: str) -> int:
        """Add a string. Return its offset in the table."""
        place = len(self.content)
        self.content += text.encode() + b"\0"
        return place


class _Layout:
    """Content that grows part by part. Each part is aligned."""

    def __init__(self, size: int) -> None:
        self.content = bytes(size)

    def end(self, alignment: int) -> int:
        """Return the offset at which the next part would be added."""
        return _align(len(self.content), alignment)

    def add(self, part: bytes, alignment: int) -> int:
        """Add a part. Return its offset."""
        place = self.end(alignment)
        self.content = self.content.ljust(place, b"\0") + part
        return place


def _align(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


def _headers(tables: int, code: tuple[int, int], dynamic: tuple[int, int]) -> bytes:
    """Return the file's header, and its segments. Each part has the same position in memory as in the file."""
    identity = b"\x7fELF" + bytes([2, 1, 1])
    segments = (
        (_PT_LOAD, _READ, 0, tables, _PAGE),
        (_PT_LOAD, _READ | _EXECUTE, *code, _PAGE),
        (_PT_LOAD, _READ | _WRITE, *dynamic, _PAGE),
        (_PT_DYNAMIC, _READ | _WRITE, *dynamic, 8),
        (_PT_GNU_STACK, _READ | _WRITE, 0, 0, 16),
    )
    file_type, current, program_headers_at = 3, 1, _HEADER.size
    sizes = (_HEADER.size, _PROGRAM_HEADER.size, len(segments), 0, 0, 0)
    header = _HEADER.pack(identity, file_type, _EM_X86_64, current, 0, program_headers_at, 0, 0, *sizes)
    return header + b"".join(
        _PROGRAM_HEADER.pack(kind, flags, at, at, at, size, size, alignment)
        for kind, flags, at, size, alignment in segments
    )


def _symbol_table(names: Sequence[int], values: Sequence[int]) -> bytes:
    symbols = (
        _SYMBOL.pack(name, _GLOBAL_FUNCTION, 0, _SECTION_OF_CODE, value, 0) for name, value in zip(names, values)
    )
    return bytes(_SYMBOL.size) + b"".join(symbols)


def _hash_table(names: Sequence[str]) -> bytes:
    """Return the hash table of the ABI, with which the loader finds symbols. The null symbol comes before the first
    symbol."""
    buckets, chains = [0] * max(1, len(names)), [0] * (1 + len(names))
    for index, name in enumerate(names, 1):
        bucket = elf_hash(name) % len(buckets)
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<II{len(buckets)}I{len(chains)}I", len(buckets), len(chains), *buckets, *chains)


def elf_hash(name: str) -> int:
    """Return the generic ABI's hash of a symbol's or version's name."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _version_definitions(names: Sequence[str], places: Sequence[int]) -> bytes:
    """Return the versions that the library has. The first is the version of the library itself."""
    content = b""
    for number, (name, place) in enumerate(zip(names, places), _VERSION_BASE):
        is_base, is_last = number == _VERSION_BASE, number == len(names)
        following = 0 if is_last else _VERDEF.size + _VERDAUX.size
        content += _VERDEF.pack(1, int(is_base), number, 1, elf_hash(name), _VERDEF.size, following)
        content += _VERDAUX.pack(place, 0)
    return content


def _text_of(stub: Stub, symbol: ImportedSymbol, answers: dict[str, Answer]) -> bytes:
    """Return the text to which a symbol's code points: the text that the function returns, or the message that the
    function was called."""
    answer = answers.get(symbol.name)
    if answer is None:
        return message(stub, symbol.name)
    return answer.text.encode() + b"\0" if isinstance(answer, TextPointer) else b""


def _code(
    symbols: Iterable[ImportedSymbol], answers: dict[str, Answer], texts: Sequence[int], lengths: Sequence[int]
) -> tuple[bytes, list[int]]:
    """Return the machine code of all symbols, and the offset in it at which each symbol's code begins.

    ``texts`` are the offsets of the texts to which the symbols' code points, from the start of the code. ``lengths``
    are the lengths of these texts.
    """
    code = bytearray(_END)
    entries = []
    for symbol, text, length in zip(symbols, texts, lengths):
        code += b"\xcc" * (_align(len(code), _CODE_ALIGNMENT) - len(code))
        entries.append(len(code))
        code += _body(answers.get(symbol.name), len(code), text, length)
    return bytes(code), entries


def _body(answer: Answer | None, at: int, text: int, length: int) -> bytes:
    """Return the code of one symbol, which is placed at ``at``."""
    if isinstance(answer, Number):
        return b"\xb8" + struct.pack("<i", answer.value) + b"\xc3"  # mov eax, value; ret
    if isinstance(answer, Zero):
        return b"\xc7\x07\0\0\0\0" + b"\x31\xc0\xc3"  # mov dword [rdi], 0; xor eax, eax; ret
    if isinstance(answer, TextPointer):
        return b"\x48\x8d\x05" + struct.pack("<i", text - (at + 7)) + b"\xc3"  # lea rax, [text]; ret
    lea = b"\x48\x8d\x35" + struct.pack("<i", text - (at + 7))  # lea rsi, [text]
    mov = b"\xba" + struct.pack("<I", length)  # mov edx, length
    return lea + mov + b"\xe9" + struct.pack("<i", -(at + 17))  # jmp to the code's begin


_END = b"".join(
    itertools.chain(
        (b"\xbf", struct.pack("<I", 2), b"\xb8", struct.pack("<I", 1), b"\x0f\x05"),  # write(2, rsi, rdx)
        (b"\xbf", struct.pack("<I", CALLED), b"\xb8", struct.pack("<I", 231), b"\x0f\x05"),  # exit_group(CALLED)
        (b"\xf4",),
    )
)
"""Code that writes the line that ``rsi`` points to, with the length in ``rdx``, and ends the process."""
