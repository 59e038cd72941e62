"""Drawing many functions in one process: one that ends the process costs itself alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from freezing.common.parts import ENDED, write_part
from freezing.jax.variants import draw_in_turn
from runners.suite.frozen import Pack, PackWriter

NAMES = ("first", "deadly", "exits", "last")


def draw(name: str, path: Path) -> None:
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "exits":
        os._exit(3)
    write_part(PackWriter(), [(name, "", "drawn", str(os.getpid()))], path)


def left_out(folder: Path) -> list[list[str]]:
    return [Pack(folder / f"{number:04}.npz").about["left_out"][0] for number in range(len(NAMES))]


def test_a_function_that_ends_the_process_is_listed_and_the_others_are_drawn(tmp_path: Path) -> None:
    draw_in_turn(tmp_path, NAMES, draw)
    first, deadly, exits, last = left_out(tmp_path)
    assert (first[2], last[2]) == ("drawn", "drawn")
    assert deadly == ["deadly", "", ENDED, "its process was ended by signal 9"]
    assert exits == ["exits", "", ENDED, "its process ended with 3"]
    assert len({first[3], last[3], str(os.getpid())}) == 3


def test_what_is_drawn_already_is_not_drawn_again(tmp_path: Path) -> None:
    draw_in_turn(tmp_path, NAMES, draw)
    before = left_out(tmp_path)
    (tmp_path / "0003.npz").unlink()
    draw_in_turn(tmp_path, NAMES, draw)
    assert left_out(tmp_path)[:3] == before[:3]
    assert left_out(tmp_path)[3] != before[3]
