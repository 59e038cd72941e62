"""A runner that hangs is ended, so that it can be restarted. A runner that works is not ended."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.runner_process import RunnerProcess, alive
from tests.waiting import LIMIT_S, until

CAN_BE_HUNG = """
import signal, sys, time
from runners.http import watchdog
from runners.cli import main
signal.signal(signal.SIGUSR1, lambda number, frame: time.sleep(3600))
watchdog.LIMIT_S = 5.0
sys.exit(main(["serve", "hazards", "cpu", "--port", "0"]))
"""


def test_a_runner_whose_loop_hangs_ends_itself_and_all_below_it_and_says_where_it_hung() -> None:
    runner = RunnerProcess(command=[sys.executable, "-c", CAN_BE_HUNG])
    assert runner.run("add/0").verdict == "passed"
    below = [process.pid for process in runner.below()]
    runner.process.send_signal(signal.SIGUSR1)
    _, complaint = runner.process.communicate(timeout=LIMIT_S)
    runner.http.close()
    assert runner.process.returncode == 1
    assert "Timeout" in complaint
    assert "<lambda>" in complaint
    until(lambda: not [pid for pid in below if alive(pid)], "everything below the runner is gone")


def test_a_loop_that_turns_outlives_the_limit() -> None:
    turning = "import asyncio; from runners.http.watchdog import watch; asyncio.run(asyncio.wait_for(watch(5.0), 8.0))"
    process = subprocess.run(
        [sys.executable, "-c", turning], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert process.stderr.splitlines()[-1] == "TimeoutError", process.stderr
