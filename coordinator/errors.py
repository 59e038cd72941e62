"""The errors of the coordinator and its command line, in one tree.

Each class has the HTTP status of its errors, by default that of its base class. A command that fails with one of these
errors exits with code 2.

A message is one line that says what is wrong and what to do. Over HTTP the message becomes RFC 9457 problem details.
The docstring is the message of an error that is raised without one. An exception that only one module raises and
catches is defined in this module, with a name that begins with ``_``.
"""

from __future__ import annotations

import inspect
from typing import ClassVar


class PortolanError(Exception):
    """The base of all errors that a user or an operator can correct."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    exit_code: ClassVar[int] = 2

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((inspect.getdoc(type(self)) or "").split()))


class RequestError(PortolanError):
    """The request is not valid or cannot be carried out."""

    status = 422
    title = "The request cannot be carried out"


class UnknownNameError(RequestError):
    """A name in the request is not known here."""

    title = "Unknown name"

    def __init__(self, message: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """The field of the request that holds the name."""


class QueryError(RequestError):
    """The query cannot be read."""

    title = "The query cannot be read"

    def __init__(self, message: str | None = None, at: int = 0) -> None:
        super().__init__(message)
        self.at = at
        """The place in the query, in characters from its beginning."""


class NotFoundError(RequestError):
    """Nothing has this id."""

    status = 404
    title = "Not found"


class UnauthorizedError(RequestError):
    """The secret is missing or wrong."""

    status = 401
    title = "Not allowed"


class TokenEndedError(UnauthorizedError):
    """The token was revoked or has expired. Its owner is still known, for the audit."""

    def __init__(self, message: str | None = None, *, name: str = "", token_id: int | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.token_id = token_id


class ForbiddenError(RequestError):
    """The coordinator does not offer this, or not to this caller."""

    status = 403
    title = "Not offered here"


class RoleMissingError(ForbiddenError):
    """The caller's role does not allow this request."""

    title = "Not allowed"


class ForeignHostError(RequestError):
    """This coordinator is not known by that name."""

    status = 421
    title = "Unknown host name"


class ForeignSiteError(RequestError):
    """A page of another site sent this request: open the page here and do it there.

    A proxy in front of the coordinator has to pass on the original Host header.
    """

    status = 403
    title = "Request from another site"


class ForgedFormError(RequestError):
    """The form does not come from a page that your browser received here.

    Open the page again, allow its cookie, and send the form from there.
    """

    status = 403
    title = "Invalid form token"


class MediaTypeError(RequestError):
    """This address does not accept bodies of this type."""

    status = 415
    title = "Unsupported media type"


class ConflictError(RequestError):
    """The current state does not allow this."""

    status = 409
    title = "Conflict"


class TooLargeError(RequestError):
    """The request is too large."""

    status = 413
    title = "The request is too large"


class BodyTimeoutError(RequestError):
    """The body of the request did not arrive in time."""

    status = 408
    title = "The request was too slow"


class TooManyError(RequestError):
    """There are too many requests or objects of this kind; try again later."""

    status = 429
    title = "Too many requests"


class BundleError(RequestError):
    """The file is not a bundle that can be imported."""

    title = "Not a usable bundle"


class BundleTooLargeError(BundleError):
    """The bundle is too large."""

    status = 413
    title = "The bundle is too large"


class BundleDisagreesError(BundleError):
    """A case of the bundle differs from the stored case of the same id and suite revision."""

    status = 409
    title = "The revision is stored with other cases"


class UnusableRunnerError(PortolanError):
    """The runner cannot be used."""

    status = 502
    title = "The runner cannot be used"


class RunnerUnreachableError(UnusableRunnerError):
    """The runner does not answer."""

    title = "The runner does not answer"


class RunnerRefusedError(UnusableRunnerError):
    """The runner refused the secret."""

    title = "The runner refused the secret"


class RecordingRefusedError(UnusableRunnerError):
    """The runner did not accept the recording."""

    status = 409
    title = "The runner refused the recording"


class RunnerIncompatibleError(UnusableRunnerError):
    """The server at this address is not a runner of this protocol version."""

    title = "Incompatible runner"


class RunnerAddressError(UnusableRunnerError):
    """Runners are not allowed at this address."""

    status = 422
    title = "The address is not allowed"


class RunnerIdentityError(UnusableRunnerError):
    """The runner has another identity than registered: the boot of another registration, or another target's device."""

    status = 409
    title = "The runner is already registered"


class SuiteChangedError(UnusableRunnerError):
    """The runner's suite has the revision of a stored suite, but other cases."""

    status = 409
    title = "The revision is stored with other cases"


class GapError(RunnerIncompatibleError):
    """Events are missing in the stream; requesting them again may help."""


class RunnerChangedError(UnusableRunnerError):
    """The runner's boot, or its suite's revision, is not the requested one."""


class EventsTrimmedError(UnusableRunnerError):
    """The runner no longer has the events that were requested, because another client acknowledged them."""

    def __init__(self, message: str, last_acknowledged: int | None) -> None:
        super().__init__(message)
        self.acknowledged = last_acknowledged
        """The number of the last acknowledged event, if the runner states it. The stream can be read after this
        number."""


class EventsAheadError(UnusableRunnerError):
    """The runner has not issued the event after which its stream was requested."""


class StreamClosedError(UnusableRunnerError):
    """The runner closed its event stream, which must stay open while the runner runs."""


class DatabaseError(PortolanError):
    """The database cannot be used; its log says more."""

    status = 503
    title = "The database cannot be used"


class DatabaseAwayError(DatabaseError):
    """PostgreSQL accepts no connection at present."""


class AtlasPendingError(PortolanError):
    """The atlas is being built; try again in a moment."""

    status = 503
    title = "The atlas is being put together"


class DrawingError(PortolanError):
    """The figure could not be drawn; the coordinator's log says more, and its table has the numbers."""

    title = "The figure cannot be drawn"


class CatalogueError(PortolanError):
    """A file of the catalogue cannot be read, or does not fit another file."""


class AssessmentError(PortolanError):
    """The code could not be assessed: nothing could be read, or there are no outcomes to compare it with."""


class PublicationError(PortolanError):
    """The atlas could not be published in this folder."""


class SettingError(PortolanError):
    """A setting has an invalid value."""

    status = 503
    title = "A setting is not valid"


class DirectoryHeldError(DatabaseError):
    """The data directory is held by another portolan; stop that one or choose another directory."""


class CoordinatorError(PortolanError):
    """The coordinator does not answer, or refused the request."""


class CoordinatorAwayError(CoordinatorError):
    """No coordinator answers, the connection ended in the middle of an answer, or the coordinator's database is
    unreachable."""


class ListenError(PortolanError):
    """The coordinator cannot listen at this address."""


class InstanceError(PortolanError):
    """The local instance cannot be started."""


class RulesError(PortolanError):
    """The file of rules is invalid; none of its rules is used."""


class PatternError(RulesError):
    """A regular expression cannot be used."""


class ConformanceError(PortolanError):
    """A promise of the runner API is not proven."""


class BrokenError(ConformanceError):
    """A runner broke a promise of the runner API; the message says what the check observed."""


class NotRunError(ConformanceError):
    """The promise cannot be checked on this runner; the message says why."""


class FleetError(PortolanError):
    """The fleet cannot be brought to the desired state."""


class StuckError(FleetError):
    """The container cannot be stopped."""


class EngineError(FleetError):
    """The Docker Engine cannot be used, or refused."""


class GoneError(EngineError):
    """There is no such container, image or network."""


class PortTakenError(EngineError):
    """Another program listens on the port."""


class DeviceMissingError(FleetError):
    """This host has no such device."""


def reason_of(error: BaseException) -> str:
    """The message of any error in one line; the name of its type if it has no message."""
    message = str(getattr(error, "orig", None) or error)
    return " ".join(message.split()) or type(error).__name__
