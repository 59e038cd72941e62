"""Stubs as files: pyelftools reads the requested content from them, and this machine's loader loads them."""

from __future__ import annotations

import ctypes
import io
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.torch.stubs.answers import Answer, Number, TextPointer, Zero
from runners.torch.stubs.shared_object import CALLED, MACHINE, ImportedSymbol, Stub, elf_hash, message, shared_object

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,40}", fullmatch=True)
SYMBOLS = st.lists(
    st.builds(ImportedSymbol, NAMES, st.sampled_from(["", "libone.so.12", "ONE_2"])), unique=True, max_size=30
)
ANSWERS = st.dictionaries(NAMES, st.one_of(st.builds(Number, st.integers(-(2**31), 2**31 - 1)), st.just(Zero())))

ONLY_HERE = pytest.mark.skipif(platform.machine() != MACHINE, reason=f"its code is for {MACHINE}")


def segments(file: bytes) -> ELFFile:
    return ELFFile(io.BytesIO(file))


@settings(max_examples=50)
@given(SYMBOLS, ANSWERS)
def test_the_file_says_what_was_asked_for(symbols: list[ImportedSymbol], answers: dict[str, Answer]) -> None:
    stub = Stub("libone.so.12", tuple(symbols), ("libone.so.12", "EMPTY"))
    (dynamic,) = [
        iter_segment
        for iter_segment in segments(shared_object(stub, answers)).iter_segments()
        if iter_segment["p_type"] == "PT_DYNAMIC"
    ]
    assert [tag.soname for tag in dynamic.iter_tags("DT_SONAME")] == [stub.soname]
    symbol_names = [symbol.name for symbol in dynamic.iter_symbols() if symbol.name]
    assert symbol_names == [symbol.name for symbol in symbols]


@given(NAMES)
def test_the_hash_of_a_name_has_28_bits(name: str) -> None:
    assert 0 <= elf_hash(name) < 2**28


def test_the_hash_is_that_of_the_generic_abi() -> None:
    assert elf_hash("printf") == 0x077905A6
    assert elf_hash("GLIBC_2.2.5") == 0x09691A75


@pytest.fixture
def library(tmp_path: Path) -> Path:
    stub = Stub(
        "libone.so.12",
        (
            ImportedSymbol("unanswered"),
            ImportedSymbol("numbered", "ONE_2"),
            ImportedSymbol("zeroes"),
            ImportedSymbol("speaks", "ONE_2"),
        ),
        ("ONE_2", "EMPTY"),
    )
    answers: dict[str, Answer] = {"numbered": Number(-35), "zeroes": Zero(), "speaks": TextPointer("no driver")}
    file = tmp_path / stub.soname
    file.write_bytes(shared_object(stub, answers))
    return file


@ONLY_HERE
def test_a_symbol_with_an_answer_gives_it(library: Path) -> None:
    stub_library = ctypes.CDLL(str(library))
    assert stub_library.numbered() == -35
    value = ctypes.c_int(7)
    assert (stub_library.zeroes(ctypes.byref(value)), value.value) == (0, 0)
    stub_library.speaks.restype = ctypes.c_char_p
    assert stub_library.speaks() == b"no driver"


@ONLY_HERE
def test_the_loader_finds_a_symbol_under_its_version(library: Path) -> None:
    loader = ctypes.CDLL(None)
    loader.dlvsym.restype = ctypes.c_void_p
    loader.dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    handle = ctypes.CDLL(str(library))._handle
    assert loader.dlvsym(handle, b"numbered", b"ONE_2")
    assert not loader.dlvsym(handle, b"numbered", b"ONE_1")
    assert not loader.dlvsym(handle, b"absent", b"ONE_2")


@ONLY_HERE
def test_a_call_without_an_answer_ends_the_process_and_names_the_symbol(library: Path) -> None:
    program = f"import ctypes; ctypes.CDLL({str(library)!r}).unanswered(); print('went on')"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (process.returncode, process.stdout) == (CALLED, b"")
    assert process.stderr == message(Stub("libone.so.12", ()), "unanswered")
