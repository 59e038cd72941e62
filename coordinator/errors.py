"""The errors that the rooms of the coordinator share.

An error of one room alone stands in that room, and is one of these: its status over HTTP comes from here.

::

    PortolanError
    ├── RequestError              the caller asked for something that cannot be done
    │   ├── UnknownNameError          no such suite, function, selector or field value
    │   ├── QueryError                a query of the matrix cannot be read
    │   ├── UnauthorizedError         the secret that it asks for is missing or wrong
    │   ├── ForbiddenError            this coordinator does not offer it
    │   ├── NotFoundError             no such campaign, runner or job
    │   ├── ConflictError             it exists already, or its state forbids it
    │   └── BundleError               a file is no bundle, or not a whole and unchanged one
    │       ├── BundleTooLargeError       it is larger than any bundle may be
    │       └── BundleDisagreesError      a case of it is another one than is stored
    ├── RunnerError               a runner cannot be used
    │   ├── RunnerUnreachableError    no answer, or too slow an answer
    │   ├── RunnerRefusedError        it refused our secret
    │   ├── RunnerIncompatibleError   it is no runner, or speaks another protocol version
    │   └── SuiteChangedError         its suite is another one than is stored under the revision
    ├── DrawingError              a figure cannot be drawn
    ├── SettingError              a setting cannot be used as it stands
    └── DatabaseError             PostgreSQL cannot be started, reached or upgraded
        ├── DatabaseAwayError         it takes no connection at present
        └── DirectoryHeldError        another portolan holds the data directory

A message is one line that says what is wrong and what to do. Over HTTP it becomes RFC 9457
problem details, on the command line one line and exit code 2. Raised without a message, an
error says its docstring.
"""

from __future__ import annotations

import inspect


class PortolanError(Exception):
    """Something went wrong that the person in front of the screen can do something about."""

    status = 500
    title = "Internal error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((inspect.getdoc(type(self)) or "").split()))


class RequestError(PortolanError):
    """The request cannot be carried out as it stands."""

    status = 422
    title = "The request cannot be carried out"


class UnknownNameError(RequestError):
    """A name in the request is not known here."""

    title = "Unknown name"

    def __init__(self, message: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """In which field of the request it stands."""


class QueryError(RequestError):
    """The query cannot be read."""

    title = "The query cannot be read"

    def __init__(self, message: str | None = None, at: int = 0) -> None:
        super().__init__(message)
        self.at = at
        """Where in the query, in characters from its beginning."""


class NotFoundError(RequestError):
    """There is nothing of this id."""

    status = 404
    title = "Not found"


class UnauthorizedError(RequestError):
    """The secret is missing or wrong."""

    status = 401
    title = "Not allowed"


class ForbiddenError(RequestError):
    """This coordinator does not offer it."""

    status = 403
    title = "Not offered here"


class ConflictError(RequestError):
    """The state of things forbids this."""

    status = 409
    title = "Conflict"


class BundleError(RequestError):
    """The file is not a bundle that can be imported."""

    title = "Not a usable bundle"


class BundleTooLargeError(BundleError):
    """The bundle is larger than bundles may be."""

    status = 413
    title = "The bundle is too large"


class BundleDisagreesError(BundleError):
    """A case of the bundle is another one than the one that is stored under the suite's revision."""

    status = 409
    title = "Another suite has this revision"


class RunnerError(PortolanError):
    """The runner cannot be used."""

    status = 502
    title = "The runner cannot be used"


class RunnerUnreachableError(RunnerError):
    """The runner does not answer."""

    title = "The runner does not answer"


class RunnerRefusedError(RunnerError):
    """The runner refused the secret."""

    title = "The runner refused the secret"


class RunnerIncompatibleError(RunnerError):
    """What answers there is not a runner of this protocol version."""

    title = "Not a compatible runner"


class SuiteChangedError(RunnerError):
    """The runner's suite has the revision of a stored one, and other cases."""

    status = 409
    title = "Another suite has this revision"


class DatabaseError(PortolanError):
    """The database cannot be used; its log says more."""

    status = 503
    title = "The database cannot be used"


class DatabaseAwayError(DatabaseError):
    """PostgreSQL takes no connection at present."""


class DrawingError(PortolanError):
    """The figure could not be drawn; the coordinator's log says more, and its table has the numbers."""

    title = "The figure cannot be drawn"


class SettingError(PortolanError):
    """A setting cannot be used as it stands."""

    status = 503
    title = "A setting of the coordinator cannot be used"


class DirectoryHeldError(DatabaseError):
    """The data directory is held by another portolan; stop that one or choose another directory."""
