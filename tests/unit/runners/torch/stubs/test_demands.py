"""The libraries for which stubs are made, according to the tables of existing libraries."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from runners.errors import StubError
from runners.torch.stubs import place
from runners.torch.stubs.answers import NO_DRIVER, Number, answers
from runners.torch.stubs.demands import LibraryTables, demands, missing, read
from runners.torch.stubs.shared_object import ImportedSymbol, Stub, shared_object

CUDA = LibraryTables(
    ("libcudart.so.12", "libnccl.so.2", "libown.so", "libcuda.so.1", "libc.so.6", "ld-linux-x86-64.so.2"),
    asked=frozenset({"ncclSend", "own", "PyObject_Call", "cuLaunchKernel"}),
    asked_by_version={
        ("libcudart.so.12", "libcudart.so.12"): frozenset({"cudaMalloc"}),
        ("libc.so.6", "GLIBC_2.14"): frozenset({"memcpy"}),
    },
)
OWN = LibraryTables(("libc.so.6",), defined=frozenset({"own"}))


def test_what_nobody_has_is_made_up_for_and_nothing_else() -> None:
    assert missing({"libcuda_user.so": CUDA, "libown.so": OWN}) == [
        Stub("libcudart.so.12", (ImportedSymbol("cudaMalloc", "libcudart.so.12"),), ("libcudart.so.12",)),
        Stub("libnccl.so.2", (ImportedSymbol("ncclSend"),), ()),
    ]


def test_a_build_for_the_cpu_needs_no_stub() -> None:
    assert missing({"libown.so": OWN}) == []


def test_a_library_without_versions_gets_the_symbols_of_its_name() -> None:
    tables = LibraryTables(
        ("libcusparse.so.12", "libcusparseLt.so.0", "libcudnn.so.9"),
        asked=frozenset({"cusparseLtInit", "cusparseCreate", "cudnnCreate", "__cudaRegister"}),
    )
    assert {stub.soname: [symbol.name for symbol in stub.symbols] for stub in missing({"libone.so": tables})} == {
        "libcudnn.so.9": ["cudnnCreate"],
        "libcusparse.so.12": ["__cudaRegister", "cusparseCreate"],
        "libcusparseLt.so.0": ["cusparseLtInit"],
    }


def test_a_system_s_own_cuda_is_not_mixed_in() -> None:
    looks_elsewhere = LibraryTables(("libcudart.so.12",), looks_here_first=False)
    with pytest.raises(StubError, match=r"libone.so looks for libcudart.so.12 in the system's folders"):
        missing({"libone.so": looks_elsewhere})
    assert missing({"libone.so": LibraryTables(("libc.so.6",), looks_here_first=False)}) == []


def test_a_library_of_this_machine_is_read() -> None:
    extension = next(Path(sys.modules["_ctypes"].__file__ or "").parent.glob("_ctypes.*.so"))
    tables = read(extension)
    assert "PyInit__ctypes" in tables.defined
    assert "libc.so.6" in tables.needed
    assert any(library == "libc.so.6" for library, _ in tables.asked_by_version)


def test_a_wheel_of_another_layout_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StubError, match="has no shared libraries"):
        demands(tmp_path / "torch" / "lib")
    (tmp_path / "libtorch.so").write_bytes(b"\x7fELF, and then something else")
    with pytest.raises(StubError, match=r"libtorch.so cannot be read as a shared library") as refusal:
        demands(tmp_path)
    assert "\n" not in str(refusal.value)
    (tmp_path / "libtorch.so").write_bytes(shared_object(Stub("libtorch.so", ()), {}))
    with pytest.raises(StubError, match=r"libtorch.so cannot be read as a shared library"):
        demands(tmp_path)


def test_another_machine_s_code_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(place, "demands", lambda folder: [Stub("libcudart.so.12", ())])
    with pytest.raises(StubError, match="only be made for x86_64"):
        place.place(tmp_path)


def test_cuda_s_runtime_says_that_there_is_no_driver_and_others_are_not_asked() -> None:
    answers_of_runtime = answers("libcudart.so.12", ["cudaMalloc", "__cudaRegisterFatBinary", "cudaGetLastError"])
    assert answers_of_runtime == {
        "cudaMalloc": NO_DRIVER,
        "__cudaRegisterFatBinary": Number(0),
        "cudaGetLastError": Number(0),
    }
    assert answers("libcublas.so.12", ["cublasCreate_v2"]) == {}
