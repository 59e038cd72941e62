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
    """For the next part of an answer. Longer than a coordinator waits, because no clause is about speed."""
    whole_answer_s: float = 90.0
    """For the whole answer. Longer than a coordinator waits, as for each part of it."""
    look_s: float = 12.0
    """For a sign of life of a runner that was used before. A heartbeat comes within 10 s."""
    outcome_s: float = 60.0
    """For the outcome of a case that passes at once. A process may have to be made first."""
    heartbeat_s: float = 10.0
    """Between heartbeats, by the contract."""
    slack_s: float = 1.0
    """For the transfer of a heartbeat."""
    stop_s: float = 10.0
    """From a DELETE or a deadline to the finished event."""
    hanging_s: float = 15.0
    """Deadline of a hung case. Past it the runner is rid of a case whose check is about something else."""
    running_s: float = 40.0
    """Deadline of the case whose heartbeats are checked. Longer than the three that are waited for."""
    lasting_s: float = 60.0
    """During which heartbeats must continue. Longer than a coordinator waits for a silent stream."""
    sample_s: float = 45.0
    """To draw and run the runner's own cases. Past it no further one is posted."""
    probe_sample_s: float = 20.0
    """The same, with `--probe`."""
    case_s: float = 5.0
    """Deadline of each of these. One that takes longer is timed_out, which is as good an outcome to look at."""
    restart_s: float = 180.0
    """For `--restart-command`, and for the new boot to answer. Importing a framework may take a minute."""

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
