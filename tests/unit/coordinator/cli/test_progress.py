"""If the output is no terminal, progress is printed as a line at intervals, and the last state is always printed."""

from __future__ import annotations

import io
import re

from rich.console import Console

from coordinator.campaigns.models import CampaignTarget, Counters, TimeEstimate
from coordinator.cli.local import RESTART
from coordinator.cli.progress import RATE_OVER_S, BarsOfTargets, Board, tail
from coordinator.cli.shared_options import split


def target(
    done_jobs: int,
    total: int = 10,
    *,
    name: str = "torch/cpu",
    environment: str = "e",
    failed_jobs: int = 1,
    incomplete: int = 0,
    left_s: float | None = None,
    is_lower_bound: bool = False,
    live_runners: int = 1,
) -> CampaignTarget:
    counters = Counters.model_construct(
        done=done_jobs, total=total, failed=failed_jobs, incomplete=incomplete, cancelled=0
    )
    estimate = TimeEstimate(seconds=left_s, measured_jobs=0, is_lower_bound=is_lower_bound)
    return CampaignTarget.model_construct(
        target=name, environment=environment, live_runners=live_runners, counters=counters, estimate=estimate
    )


def test_a_tail_says_failing_rate_and_time_left() -> None:
    assert tail(target(4, left_s=3.0), 2.0) == "1 failing, 2.0/s, 3 s left"
    assert tail(target(4, left_s=3.0, is_lower_bound=True), 2.0) == "1 failing, 2.0/s, at least 3 s left"
    assert tail(target(4), None) == "1 failing, time left unknown"
    assert tail(target(4, is_lower_bound=True), None) == "1 failing, time left unknown"
    assert tail(target(10), 2.0) == "1 failing"


def test_a_target_without_a_runner_says_so_instead_of_a_time() -> None:
    assert tail(target(4, live_runners=0), None) == "1 failing, no runner serves it now"
    assert tail(target(10, live_runners=0), None) == "1 failing"


def test_the_rate_is_of_late_and_unknown_at_first() -> None:
    stream, now = io.StringIO(), [0.0]
    with Board(stream, lambda: now[0], plain_every_s=5.0) as board:
        for done_jobs, at in (
            (0, 0.0),
            (100, 10.0),
            (200, 20.0),
            (210, 20.0 + RATE_OVER_S),
            (240, 20.0 + 2 * RATE_OVER_S),
        ):
            now[0] = at
            board.show([target(done_jobs, 1_000)])
    rates = [re.search(r"([\d.]+)/s", line) for line in stream.getvalue().splitlines()]
    assert [rate and rate[1] for rate in rates] == [None, None, "10.0", "0.7", "2.0"]


def test_targets_of_one_name_have_a_bar_each_and_one_that_is_gone_has_none() -> None:
    stream = io.StringIO()
    two = [target(1, environment="one"), target(2, environment="two")]
    with Board(stream) as board:
        board.show(two)
        board.show(two[:1])
    assert [line.split(" ")[1] for line in stream.getvalue().splitlines()] == ["1/10", "2/10"]


def test_a_bar_and_its_tail_fit_into_eighty_columns() -> None:
    out = Console(file=io.StringIO(), width=80)
    bars = BarsOfTargets(out, lambda: 0.0)
    wide = target(12_345, 67_890, name="tensorflow@2.21.0/cpu", failed_jobs=1_234, incomplete=56, left_s=7_800.0)
    bars.show([wide])
    out.print(bars.get_renderable())
    assert isinstance(out.file, io.StringIO)
    (first, second) = out.file.getvalue().splitlines()
    assert re.fullmatch(r"tensorflow@2\.21\.0/cpu ━[━╸╺ ]* 12,345/67,890", first.rstrip())
    assert second == "  1,234 failing, 56 incomplete, 2 h 10 min left"


def test_the_first_and_the_last_state_are_printed_and_a_flood_is_not() -> None:
    stream = io.StringIO()
    with Board(stream) as board:
        for done_jobs in range(11):
            board.show([target(done_jobs)])
    lines = stream.getvalue().splitlines()
    assert [line.split(" done")[0] for line in lines] == ["torch/cpu: 0/10", "torch/cpu: 10/10"]


def test_a_log_has_a_line_a_minute_for_each_target() -> None:
    stream, now = io.StringIO(), [0.0]
    with Board(stream, lambda: now[0]) as board:
        for second in range(181):
            now[0] = float(second)
            board.show([target(second, 200)])
    assert len(stream.getvalue().splitlines()) == 4


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
