"""The errors of a runner and its command line, in one tree.

Each class has the HTTP status of its errors, by default that of its base class. A command that fails with one of these
errors exits with code 2.

A message is one line that says what is wrong and what to do. Over HTTP the message becomes RFC 9457 problem details. A
failed check of a case is not an error of a runner. This module imports only the standard library, because the processes
of the cases also raise some of these errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HOW_TO_REPAIR = "repair its installation, or name another Python with --python"
"""The advice if a framework or an interpreter cannot be started."""


class RunnerError(Exception):
    """The base of all errors of a runner. The message says in one line what is wrong and what to do."""

    status = 500
    title = "Runner error"
    exit_code = 2


class RefusedRequestError(RunnerError):
    """The request cannot be carried out. ``members`` become members of the problem details in the response."""

    status = 422
    title = "Not valid"

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__(message)
        self.members = members


class AnotherBootError(RefusedRequestError):
    """The request is for another boot of the runner."""

    status = 409
    title = "Another boot"


class AnotherRevisionError(RefusedRequestError):
    """The jobs belong to another revision of the suite."""

    status = 409
    title = "Another revision"


class BodyTooLargeError(RefusedRequestError):
    """The body is larger than any request needs."""

    status = 413
    title = "Too large"


class TooSlowError(RefusedRequestError):
    """The body of the request did not arrive in time."""

    status = 408
    title = "Too slow"


class ClosedDoorError(RefusedRequestError):
    """The runner was not started with the option that permits this request."""

    status = 403
    title = "Not accepted here"


class BusyError(RefusedRequestError):
    """The request would end work of the runner."""

    status = 409
    title = "Busy"


class TrimmedError(RefusedRequestError):
    """The client asked for events that were already acknowledged and discarded."""

    status = 410
    title = "Trimmed"


class AheadError(RefusedRequestError):
    """The client named an event number that the runner has not issued yet."""

    title = "Not issued yet"


class UsageError(RunnerError):
    """The command line asks for something that is not possible."""


class SetupFailedError(RunnerError):
    """The environment of a framework cannot be built."""


class StubError(SetupFailedError):
    """Stubs for omitted packages cannot be built."""


class StepFailedError(SetupFailedError):
    """A step of building an environment failed. ``words`` are the last lines that it printed."""

    def __init__(self, reason: str, words: Iterable[str]) -> None:
        super().__init__(reason)
        self.words = list(words)


class BundleWriteError(RunnerError):
    """The bundle cannot be written or continued."""


class RecordingError(RunnerError):
    """The calls of a command cannot be recorded."""


class UnservableError(RunnerError):
    """The service cannot start."""


class RefusedError(RunnerError):
    """The coordinator refuses to enroll the runner, now and later."""


class UnansweredError(RunnerError):
    """The coordinator could not respond. A later attempt may succeed."""


class FrameworkError(RunnerError):
    """The framework or its device is not usable."""


class UnknownFrameworkError(FrameworkError):
    """There is no framework, or no device of the framework, with this name."""


class FrameworkBrokenError(FrameworkError):
    """The framework cannot be imported, or its process cannot be forked."""


class NoScratchError(FrameworkBrokenError):
    """No folder for temporary files can be created: the disk is full or not writable."""


class SuiteError(FrameworkError):
    """A user's own suite cannot be served."""


class UntestedError(RunnerError):
    """A case has nothing to test here. The message is the reason."""


class MissingPackageError(UntestedError):
    """A case needs a package that the framework's environment does not have."""


class OtherLineError(UntestedError):
    """An example failed, or gave a wrong value, at a line that does not use its function."""


class FreezingError(RunnerError):
    """A sample of a framework's own tests cannot become a frozen case."""


class UnfreezableError(FreezingError):
    """A value cannot be stored in a case or recording. The message names it."""


class UnjudgedError(FreezingError):
    """No reference agrees with the result. The message says why the last reference does not."""


class LeftOutError(FreezingError):
    """A sample of a framework's own tests is rejected and becomes no case. Rejected samples are counted by ``kind``;
    the message has the details."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class TimingLockError(RunnerError):
    """The host's timing lock cannot be opened. This is not a failure of the case."""


class ChannelLostError(RunnerError):
    """The channel is closed, because the process at its other end has ended, or because a case closed or replaced this
    end."""
