"""Errors of the operating system become one line that says what to do, with the path as the user wrote it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from coordinator.cli.output import writing
from coordinator.cli.system_complaints import system_complaint


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "no space left on the disk of {path}: free some space, or choose another disk"),
        (errno.EDQUOT, "your quota of the disk of {path} is used up: free some space, or choose another disk"),
        (errno.EEXIST, "{path} exists already: move it away, or name another"),
        (errno.EBUSY, "{path} is in use, as the mount point of a disk is: name another"),
        (errno.ELOOP, "the links at {path} lead in a circle: remove one of them, or name another path"),
        (errno.EFBIG, "file too large ({path})"),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path: Path, number: int, sentence: str) -> None:
    path = tmp_path / "Site"
    assert system_complaint(OSError(number, os.strerror(number), str(path))) == sentence.format(path=path)


def test_a_path_keeps_its_capitals_where_the_system_gives_no_number() -> None:
    assert system_complaint(shutil.SpecialFileError("`/tmp/Site/pipe` is a named pipe")) == (
        "`/tmp/Site/pipe` is a named pipe"
    )


def test_an_output_whose_links_lead_in_a_circle_is_refused_and_stays(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    with pytest.raises(OSError, match="Too many levels of symbolic links") as failure, writing(circle):
        pass
    assert system_complaint(failure.value).startswith(f"the links at {circle} lead in a circle")
    assert circle.is_symlink()
