"""The times of a conformance check: the limits of its waits, and how long its own hung cases hang.

The contract's own limits (5 s past a deadline, differences of clocks) are in the checks that use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.configuration.named_seconds import parse_named_seconds
from coordinator.configuration.variables import CHECK_TIMES
from coordinator.errors import SettingError


@dataclass(frozen=True)
class CheckTimes:
    """Times of a check in seconds, each with its default and its reason. ``PORTOLAN_CHECK_TIMES`` changes single
    times by name."""

    answer_s: float = 30.0
    """Maximum wait for the next part of a runner's answer. It is longer than a coordinator's, because no clause is
    about speed."""
    whole_answer_s: float = 90.0
    """Maximum time until a runner's answer is complete. It is longer than a coordinator's, because no clause is
    about speed."""
    look_s: float = 12.0
    """Maximum wait for an event or heartbeat of a runner that was already in use before the check. A heartbeat comes
    within 10 s."""
    outcome_s: float = 60.0
    """Maximum wait for the outcome of a case that passes immediately. The runner may have to start a process
    first."""
    heartbeat_s: float = 10.0
    """Maximum interval between heartbeats that the contract allows."""
    slack_s: float = 1.0
    """Additional time for the transfer of a heartbeat."""
    stop_s: float = 10.0
    """Maximum time from a DELETE or a deadline to the finished event."""
    hanging_s: float = 15.0
    """Time limit of a case that hangs. After this time the runner has ended a hung case in checks of other
    clauses."""
    running_s: float = 40.0
    """Time limit of the case whose heartbeats are checked. The check waits for three heartbeats, which take less
    time."""
    lasting_s: float = 60.0
    """Heartbeats must continue for this time. It is longer than a coordinator waits for a silent stream."""
    sample_s: float = 45.0
    """Time to choose and run a sample of the runner's own cases. After this time no further case is posted."""
    probe_sample_s: float = 20.0
    """Time to choose and run a sample of the runner's own cases with `--probe`."""
    case_s: float = 5.0
    """Time limit of each case of the sample of the runner's own cases. A case that takes longer is timed_out. This
    outcome can be checked like any other."""
    restart_s: float = 180.0
    """Maximum time of `--restart-command`, and then again the maximum wait until the runner answers. Importing a
    framework may take a minute."""

    def __post_init__(self) -> None:
        if not self.heartbeat_s < self.lasting_s:
            raise SettingError(
                f"{CHECK_TIMES}: lasting_s is {self.lasting_s:g} and heartbeat_s {self.heartbeat_s:g}: "
                "give a longer lasting_s"
            )

    @classmethod
    def parse(cls, text: str) -> CheckTimes:
        """Parse a text such as ``lasting_s=6, sample_s=5``. Raises ``SettingError``."""
        return parse_named_seconds(cls, text, CHECK_TIMES)

    @property
    def settle_s(self) -> float:
        """The seconds after which the runner has ended a case that a check left hanging, by a DELETE or at the
        deadline."""
        return self.hanging_s + self.stop_s


DEFAULT_CHECK_TIMES = CheckTimes()
