"""What goes wrong between a command and the Docker Engine: the SDK's exceptions, as errors of ours.

The engine says in words what it refuses; the words that matter here are held by tests on a real one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from coordinator.fleet.containers import FleetError

_NO_DEVICE = ("could not select device driver", "error gathering device information", "unresolvable CDI devices")
_PORT_TAKEN = ("port is already allocated", "address already in use")
_DID_NOT_END = ("did not receive an exit event", "did not exit", "is zombie and can not be killed")


class EngineError(FleetError):
    """The Docker Engine cannot be used, or refused."""


class EngineAwayError(EngineError):
    """No Docker Engine answers."""


class GoneError(EngineError):
    """There is no such container any more; somebody else has removed it."""


class NameTakenError(EngineError):
    """A container or network of this name has just been made by somebody else."""


class PortTakenError(EngineError):
    """Another program listens on the port."""


class UnkillableError(EngineError):
    """The container did not end."""


@contextmanager
def told(subject: str, *, ending: bool = False) -> Iterator[None]:
    """Whatever the SDK raises, as one of ours."""
    try:
        yield
    except (NotFound, ImageNotFound) as error:
        raise GoneError(f"{subject}: it is no longer there ({_said(error)})") from error
    except APIError as error:
        raise _refused(subject, _said(error), error) from error
    except requests.exceptions.Timeout as error:
        if ending:
            raise UnkillableError(f"{subject}: it does not end, something holds one of its processes") from error
        raise EngineError(f"{subject}: the Docker Engine does not answer in time; try again") from error
    except (DockerException, requests.exceptions.RequestException, OSError) as error:
        raise _away(error) from error


def _refused(subject: str, said: str, error: APIError) -> EngineError:
    if (error.status_code == requests.codes.conflict and "is already in use by container" in said) or (
        "is ambiguous" in said
    ):
        return NameTakenError(f"{subject}: somebody else has just made it")
    if any(each in said for each in _PORT_TAKEN):
        return PortTakenError(f"{subject}: its port is taken by another program")
    if any(each in said for each in _DID_NOT_END):
        return UnkillableError(f"{subject}: it does not end ({said})")
    if any(each in said for each in _NO_DEVICE):
        return EngineError(f"{subject}: it cannot have its device, is that still there? ({said})")
    if "no space left on device" in said:
        return EngineError(f"{subject}: the disk of the Docker Engine is full: free some with `docker system prune`")
    return EngineError(f"{subject}: the Docker Engine refuses: {said}")


def _away(error: Exception) -> EngineAwayError:
    causes = list(_causes(error))
    if any(isinstance(each, PermissionError) for each in causes):
        return EngineAwayError("this user may not use the Docker Engine's socket: ask as root, or join its group")
    if any(isinstance(each, FileNotFoundError | ConnectionRefusedError) for each in causes):
        return EngineAwayError("no Docker Engine answers: start it, or say in $DOCKER_HOST where it listens")
    if any(isinstance(each, requests.exceptions.Timeout) for each in causes):
        return EngineAwayError("the Docker Engine does not answer in time: look at its log")
    return EngineAwayError(f"the Docker Engine cannot be used: {error}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Every exception inside: the SDK wraps urllib3's, which hold the system's among their arguments."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        inside = [each.__cause__, each.__context__, *each.args]
        waiting += [one for one in inside if isinstance(one, BaseException)]


def _said(error: APIError) -> str:
    return " ".join(str(error.explanation or error).split())
