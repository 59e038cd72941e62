"""Output files that a user names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.cli.output import require_folder, writing


def test_a_pipe_gets_the_output_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with writing(pipe) as sink:
            sink.write(b"outcomes")
        assert reader.communicate()[0] == b"outcomes"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "kept" / "file", tmp_path / "link"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to(file)
    with pytest.raises(TypeError), writing(link) as sink:
        sink.write("no bytes")  # type: ignore[arg-type]
    assert file.read_text() == "old"
    with writing(link) as sink:
        sink.write(b"new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_a_link_to_nothing_makes_the_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    with writing(link) as sink:
        sink.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_the_name_of_stdout_is_stdout() -> None:
    program = """
from pathlib import Path
from coordinator.cli.output import require_folder, writing
with writing(Path("/dev/stdout")) as sink:
    sink.write(b"outcomes")
"""
    assert subprocess.check_output([sys.executable, "-c", program]) == b"outcomes"
    assert Path("/dev/stdout").is_symlink()


def test_a_missing_folder_is_told_before_the_output_is_made(tmp_path: Path) -> None:
    for file in (None, tmp_path / "report", Path("report"), Path("/dev/stdout")):
        require_folder(file)
    with pytest.raises(FileNotFoundError) as excinfo:
        require_folder(tmp_path / "none" / "report")
    assert excinfo.value.filename == str(tmp_path / "none" / "report")
