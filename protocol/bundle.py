"""A bundle: one file with the outcomes of a suite that ran without a coordinator. A coordinator can import it.

The file is newline-delimited JSON in UTF-8: a ``BundleHeader``, one ``BundledOutcome`` for every case and run, and a
``BundleEnd``. The ``BundleEnd`` contains the SHA-256 of all bytes before its own line. So a truncated or changed file
is rejected, and the digest identifies the bundle.
"""

from typing import Literal

from pydantic import BaseModel, Field

from protocol.catalogue import CatalogueSuite
from protocol.defaults import DEFAULT_TIMEOUT_S, MAX_RUNS, MAX_TIMEOUT_S
from protocol.enums import TimedCases, TimingPolicy
from protocol.limits import MAX_INTEGER, CaseName, Moment, Name
from protocol.model import Message
from protocol.outcomes import Outcome
from protocol.runner import RunnerInfo

FORMAT: Literal[1] = 1
"""The format version. A writer increases it when older readers cannot read its files."""
MAX_BYTES = 1 << 30
MAX_LINE_BYTES = 16 << 20
"""The maximum length of a line in bytes. A header with 20,000 cases has 5 MiB, and an outcome with its whole log has
less than 1 MiB."""


class BundleMark(BaseModel):
    """The members of the header that every version of the format has. Readers check them first."""

    type: Literal["portolan-bundle"]
    format: int = Field(ge=1)
    portolan: str


class BundleHeader(Message):
    """The first line of a bundle. It contains everything that is needed to plan the campaign."""

    type: Literal["portolan-bundle"] = "portolan-bundle"
    format: Literal[1] = FORMAT
    portolan: Name
    """The version of Portolan that wrote the bundle."""
    begun_at: Moment
    """The time at which the run began. All times in the bundle come from the clock of the machine that ran the
    suite."""
    runner: RunnerInfo
    suite: CatalogueSuite
    """The suite with the cases that ran, in their order."""
    functions: list[CaseName] = Field(min_length=1, max_length=1_000)
    """The globs that selected the functions."""
    runs: int = Field(ge=1, le=MAX_RUNS)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S)
    timing: TimingPolicy = TimingPolicy.steady
    timed_cases: TimedCases = TimedCases.all

    @property
    def outcomes(self) -> int:
        """The number of outcomes in a complete bundle."""
        return len(self.suite.cases) * self.runs


class BundledOutcome(Message):
    """The outcome of one case in one run."""

    type: Literal["outcome"] = "outcome"
    case: CaseName
    run: int = Field(ge=1, le=MAX_RUNS)
    finished_at: Moment
    outcome: Outcome


class BundleEnd(Message):
    """The last line of a bundle. A bundle without this line, or whose digest does not match, is incomplete or was
    changed."""

    type: Literal["end"] = "end"
    outcomes: int = Field(ge=1, le=MAX_INTEGER)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
