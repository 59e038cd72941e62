"""Progress elsewhere than on a terminal is a line now and then, and the last state always."""

from __future__ import annotations

import io

from coordinator.cli.local import RESTART
from coordinator.cli.options import split
from coordinator.cli.progress import RATE_OVER_S, Bar, Board, Pace


def bar(done: int, **more: float | None) -> Bar:
    return Bar("torch/cpu", done, 10, 1, 0, more.get("rate"), more.get("left_s"))


def test_a_bar_says_done_failing_rate_and_time_left() -> None:
    assert str(bar(4, rate=2.0, left_s=3.0)) == "torch/cpu: 4/10 done, 1 failing, 2.0/s, 3 s left"
    assert str(bar(4)) == "torch/cpu: 4/10 done, 1 failing, time left unknown"
    assert str(bar(10, rate=2.0)) == "torch/cpu: 10/10 done, 1 failing"


def test_the_rate_is_of_late_and_unknown_at_first() -> None:
    pace = Pace()
    assert pace.rate(0.0, 0) is None
    assert pace.rate(1.0, 10) == 10.0
    assert pace.rate(10.0, 100) == 10.0
    assert pace.rate(10.0 + 2 * RATE_OVER_S, 100 + int(2 * RATE_OVER_S)) == 1.0


def test_the_first_and_the_last_state_are_printed_and_a_flood_is_not() -> None:
    stream = io.StringIO()
    with Board(stream) as board:
        for done in range(11):
            board.show([bar(done)])
    lines = stream.getvalue().splitlines()
    assert [line.split(" done")[0] for line in lines] == ["torch/cpu: 0/10", "torch/cpu: 10/10"]


def test_a_runner_that_keeps_ending_is_started_ever_more_slowly() -> None:
    assert [RESTART.pause_s(n) for n in (1, 2, 3, 7, 2000)] == [1.0, 2.0, 4.0, 60.0, 60.0]


def test_an_option_may_hold_several_values() -> None:
    assert split(["torch/cpu torch/xla", "jax/*,tensorflow/*", " "]) == [
        "torch/cpu",
        "torch/xla",
        "jax/*",
        "tensorflow/*",
    ]
    assert split(None) == []
