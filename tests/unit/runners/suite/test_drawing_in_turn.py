"""Drawing many functions in one process: one that ends the process costs itself alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from freezing.common.parts import ENDED, LISTED_VARIANTS, list_left_out, write_part
from freezing.jax.variants import draw_in_turn, functions_with
from runners.suite.frozen import VARIANTS_PACK, Pack, PackWriter

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


def test_a_function_that_the_suite_has_variants_of_is_not_drawn_and_the_others_keep_their_files(tmp_path: Path) -> None:
    draw_in_turn(tmp_path, NAMES, draw, without={"first", "deadly"})
    assert sorted(path.name for path in tmp_path.glob("[0-9]*")) == ["0002.npz", "0003.npz"]
    assert Pack(tmp_path / "0003.npz").about["left_out"][0][:3] == ["last", "", "drawn"]


def test_the_functions_of_a_kind_are_those_with_a_variant_of_it_and_those_whose_drawing_never_ended(
    tmp_path: Path,
) -> None:
    writer = PackWriter()
    for function, dtype, tags in (
        ("jax.numpy.sin", "float32", ["plain", "sized-odd"]),
        ("jax.numpy.cos", "bfloat16", ["plain", "low-precision"]),
        ("jax.numpy.tan", "float32", ["plain", "gradient", "tails"]),
    ):
        writer.cases.append({"name": f"{function}-0", "function": function, "dtype": dtype, "tags": tags})
    writer.write(tmp_path / VARIANTS_PACK, {"jax": "0.10.2"})
    left_out_calls = [("jax.numpy.poly", "", ENDED, "its process was ended by signal 27")]
    (tmp_path / LISTED_VARIANTS).write_text(list_left_out(left_out_calls, "jax", "0.10.2"))
    assert functions_with(["sized-odd"], tmp_path) == {"jax.numpy.sin", "jax.numpy.poly"}
    assert functions_with(["dtypes"], tmp_path) == {"jax.numpy.cos", "jax.numpy.poly"}
    assert functions_with(["gradient", "jit"], tmp_path) == {"jax.numpy.tan", "jax.numpy.poly"}
