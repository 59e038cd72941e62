"""Turns errors of the operating system into one line that says what to do."""

from __future__ import annotations

import errno
from pathlib import Path

_WORDS = {
    errno.EACCES: "you may not read or write {path}: change its permissions, or name another",
    errno.EBUSY: "{path} is in use, as the mount point of a disk is: name another",
    errno.EDQUOT: "your quota of the disk of {path} is used up: free some space, or choose another disk",
    errno.EEXIST: "{path} exists already: move it away, or name another",
    errno.EISDIR: "{path} is a folder: name a file",
    errno.ELOOP: "the links at {path} lead in a circle: remove one of them, or name another path",
    errno.ENAMETOOLONG: "the name {path} is too long: choose a shorter one",
    errno.ENOENT: "there is no file {path}: check its name",
    errno.ENOSPC: "no space left on the disk of {path}: free some space, or choose another disk",
    errno.ENOTDIR: "{path} is below a file: name a path below a folder",
    errno.EPERM: "you may not read or write {path}: change its permissions, or name another",
    errno.EROFS: "{path} is on a read-only disk: choose another disk",
}


def system_complaint(error: OSError) -> str:
    """A sentence about the file that could not be used. If the error is not about a file, the system's message."""
    words = _WORDS.get(error.errno or 0)
    if words is None or not isinstance(error.filename, str):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror.lower() if error.strerror else error}{where}"
    folder = Path(error.filename).parent
    if error.errno == errno.ENOENT and not folder.exists():
        return f"there is no folder {folder}: make it, or name another"
    return words.format(path=error.filename)
