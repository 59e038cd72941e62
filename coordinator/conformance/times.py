"""The times of a check: what the check waits for, and for how long its own hung cases hang. Pure.

The contract's own bounds (5 s past a deadline, the clocks of both sides) stand at the checks that hold them.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.configuration.named_seconds import parse_named_seconds
from coordinator.configuration.variables import CHECK_TIMES
from coordinator.errors import SettingError


@dataclass(frozen=True)
class CheckTimes:
    """Every time in seconds, with its default and its reason. ``PORTOLAN_CHECK_TIMES`` changes them by name."""

    answer_s: float = 30.0
    """Maximum wait for the next part of an answer. Longer than a coordinator waits, because no clause is about
    speed."""
    whole_answer_s: float = 90.0
    """Maximum time for the whole answer. Longer than a coordinator waits, as for each part of it."""
    look_s: float = 12.0
    """Maximum wait for an event or heartbeat of a runner that was used before. A heartbeat comes within 10 s."""
    outcome_s: float = 60.0
    """Maximum wait for the outcome of a case that passes at once. The runner may have to make a process first."""
    heartbeat_s: float = 10.0
    """Maximum interval between heartbeats, by the contract."""
    slack_s: float = 1.0
    """Additional time for the transfer of a heartbeat."""
    stop_s: float = 10.0
    """Maximum time from a DELETE or a deadline to the finished event."""
    hanging_s: float = 15.0
    """Deadline of a case that hangs. After it the runner is rid of a case whose check is about something else."""
    running_s: float = 40.0
    """Deadline of the case whose heartbeats are checked. Longer than the three that are waited for."""
    lasting_s: float = 60.0
    """Heartbeats must continue for this time. Longer than a coordinator waits for a silent stream."""
    sample_s: float = 45.0
    """Time to draw and run a sample of the runner's own cases. After it no further case is posted."""
    probe_sample_s: float = 20.0
    """Time to draw and run a sample of the runner's own cases with `--probe`."""
    case_s: float = 5.0
    """Deadline of each case of this sample. A case that takes longer is timed_out, and this outcome can be checked as
    well as any other."""
    restart_s: float = 180.0
    """Maximum time for `--restart-command` and until the restarted runner answers. Importing a framework may take a
    minute."""

    def __post_init__(self) -> None:
        if not self.heartbeat_s < self.lasting_s:
            raise SettingError(
                f"{CHECK_TIMES}: lasting_s is {self.lasting_s:g} and heartbeat_s {self.heartbeat_s:g}: "
                "give a lasting_s that is longer"
            )

    @classmethod
    def parse(cls, text: str) -> CheckTimes:
        """``lasting_s=6, sample_s=5``. Raises ``SettingError``."""
        return parse_named_seconds(cls, text, CHECK_TIMES)

    @property
    def settle_s(self) -> float:
        """Until the runner is rid of a case that a check left hanging, whether it heeds a DELETE or a deadline."""
        return self.hanging_s + self.stop_s


DEFAULT_CHECK_TIMES = CheckTimes()
