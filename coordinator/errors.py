"""Every error that a caller of the coordinator can meet.

::

    PortolanError
    ├── RequestError              the caller asked for something that cannot be done
    │   ├── UnknownNameError          no such suite, function, selector or field value
    │   ├── NotFoundError             no such campaign, runner or job
    │   ├── ConflictError             it exists already, or its state forbids it
    │   └── BundleError               a file is no bundle, or not a whole and unchanged one
    │       └── BundleTooLargeError       it is larger than any bundle may be
    ├── RunnerError               a runner cannot be used
    │   ├── RunnerUnreachableError    no answer, or too slow an answer
    │   ├── RunnerRefusedError        it refused our secret
    │   └── RunnerIncompatibleError   it is no runner, or speaks another protocol version
    └── DatabaseError             PostgreSQL cannot be started, reached or upgraded
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


class NotFoundError(RequestError):
    """There is nothing of this id."""

    status = 404
    title = "Not found"


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


class DatabaseError(PortolanError):
    """The database cannot be used; its log says more."""

    status = 503
    title = "The database cannot be used"


class DirectoryHeldError(DatabaseError):
    """The data directory is held by another portolan; stop that one or choose another directory."""
