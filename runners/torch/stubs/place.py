"""Puts stubs of missing CUDA libraries next to torch's own libraries."""

from __future__ import annotations

import platform
from pathlib import Path

from runners.errors import StubError
from runners.torch.stubs.answers import answers
from runners.torch.stubs.demands import demands
from runners.torch.stubs.shared_object import MACHINE, shared_object


def place(packages: Path) -> dict[str, str]:
    """Create a stub for each library that torch needs and that is missing. Return an entry that tells how many were
    created, or nothing if none. Raise ``StubError`` if a stub cannot be made."""
    folder = packages / "torch" / "lib"
    stubs = demands(folder)
    if stubs and platform.machine() != MACHINE:
        raise StubError(
            f"stubs of CUDA's libraries can only be made for {MACHINE}, and this machine is {platform.machine()}: "
            "install CUDA's packages"
        )
    for stub in stubs:
        names = [symbol.name for symbol in stub.symbols]
        (folder / stub.soname).write_bytes(shared_object(stub, answers(stub.soname, names)))
    return {"CUDA": f"not installed, stubs of {len(stubs)} libraries"} if stubs else {}
