"""Returns free memory to the operating system."""

from __future__ import annotations

import ctypes


def return_free_memory() -> None:
    """Return memory that this process has freed to the system.

    glibc keeps memory that was freed between blocks in use. After a large document was parsed, this can be several
    times as much as the document's objects take. Other C libraries do not have the function; then nothing is done.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
