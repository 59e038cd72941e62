"""Writes files atomically: readers see the old content or the new one, even after a crash.

Also writes files that only their owner can read, whatever the umask: secrets and logs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

PRIVATE = 0o600
"""The mode of a file that only its owner can read."""


@contextmanager
def replacing(path: Path, mode: int = 0o666, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a stream whose content becomes the file ``path`` at the end of the block, unless the block raises an error.

    A file that can be made again need not be ``durable``. A file that is not ``durable`` is not flushed to the disk.
    """
    # Several processes may write the file at the same time, and processes in different containers can have one pid.
    part = path.with_name(f"{path.name}.{token_hex(4)}.part")
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        if error.filename == str(part):
            error.filename = str(path)  # the name that the caller knows
        raise
    finally:
        part.unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    with replacing(path, PRIVATE) as stream:
        stream.write(text.encode())


def open_log(path: Path, limit_bytes: int) -> FileIO:
    """Open a log for appending. Only its owner can read it. A log above the limit is first renamed to ``path.1``."""
    before = path.with_name(f"{path.name}.1")
    if path.exists() and path.stat().st_size > limit_bytes:
        path.replace(before)
    # An earlier release may have created logs that everybody can read.
    for log_file in (path, before):
        if log_file.exists():
            log_file.chmod(PRIVATE)
    return FileIO(path, "ab", opener=lambda name, flags: os.open(name, flags, PRIVATE))
