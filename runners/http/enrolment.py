"""Enrollment: a runner sends its address to a coordinator and receives its own secret.

The runner repeats this until the coordinator has sent a request with this secret. If the coordinator does not respond,
the runner waits. If the coordinator refuses, the runner ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import ipaddress
import random
import re
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError

from protocol.enrolment import MAX_URL, NAME, PATH, Enrolled, Enrolment, web_address
from protocol.enrolment_tokens import EnrolmentToken
from protocol.problems import Problem
from runners.errors import RefusedError, UnansweredError
from runners.http.access import Access
from runners.isolation.observations import printable

MAX_NAME = 64
MAX_ANSWER = 4 << 20
MAX_TOKEN_FILE = 4 << 10
ANSWER_S = 60.0
"""The maximum seconds until the whole response has arrived. Before the coordinator responds, it sends a request to this
runner, and to the runner that had the name before."""
TRY_AGAIN = frozenset({408, 425, 429})

Address = tuple[str, int]
Value = TypeVar("Value")


@dataclass(frozen=True)
class EnrolmentOptions:
    """The coordinator at which to enroll, the token file, and the runner's name and address."""

    coordinator: str
    token_file: Path
    name: str
    advertise: str | None = None
    """The URL at which the coordinator reaches the runner. If None, the runner uses the address of its own connection
    to the coordinator."""
    confirmed_within_s: float = 60.0
    """The seconds to wait for the coordinator's first request. The request arrives immediately, unless another
    coordinator was killed and this one must take over first (30 s)."""
    first_pause_s: float = 0.5
    """If the coordinator does not respond, the seconds until the next request. This pause doubles each time, up to
    ``longest_pause_s``."""
    longest_pause_s: float = 10.0


def enrolment_options(coordinator: str, token_file: Path, name: str, advertise: str) -> EnrolmentOptions:
    """Check the options for enrollment before anything else is started. Raises ``RefusedError``."""
    address = _require_url("--enrol", coordinator)
    if re.fullmatch(NAME, name) is None:
        raise RefusedError(f"--name is '{_line(name)}': give 1 to {MAX_NAME} letters, digits, '_', '.' or '-'")
    read_token(token_file)
    return EnrolmentOptions(
        address, token_file, name, None if advertise == "auto" else _require_url("--advertise", advertise)
    )


def default_name(host: str, framework: str, device: str) -> str:
    """A default name for a runner. It is the same at every start on this host."""
    target = f"-{framework}-{device}"
    return re.sub(r"[^A-Za-z0-9_.-]", "-", host)[: MAX_NAME - len(target)] + target


def read_token(path: Path) -> str:
    """Read the enrollment token. It is read at every attempt, so that the file can be changed while the runner
    waits."""
    try:
        with path.open() as file:
            token = file.read(MAX_TOKEN_FILE).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RefusedError(
            f"--enrolment-token-file {path} cannot be read ({reason.lower()}): name a file that contains the output of "
            "`portolan runner token`"
        ) from error
    try:
        return str(EnrolmentToken.parse(token))
    except ValueError as error:
        raise RefusedError(
            f"--enrolment-token-file {path} has no enrollment token: write the output of `portolan runner token` there"
        ) from error


def reached_at(listening: Address, local: str) -> str:
    """Return the runner's URL for the coordinator. ``local`` is the address from which the runner connects to it.

    Raises ``RefusedError`` if the coordinator cannot reach the runner.
    """
    host, port = listening
    own, outgoing = ipaddress.ip_address(host.partition("%")[0]), ipaddress.ip_address(local.partition("%")[0])
    if own.is_loopback and not outgoing.is_loopback:
        raise RefusedError(
            f"the coordinator is on another machine and cannot reach {host}, where the runner listens: "
            "listen on another address with --host 0.0.0.0, or name one with --advertise URL"
        )
    address = outgoing if own.is_unspecified else own
    if own.is_unspecified and own.version < outgoing.version:
        raise RefusedError(
            f"the runner listens on {host}, which is IPv4, but reaches the coordinator over IPv6: use --host ::"
        )
    if address.is_link_local and address.version == 6:
        raise RefusedError(f"{address} is a link-local address: give another with --advertise URL")
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


async def enrol(options: EnrolmentOptions, listening: Address, access: Access, say: Callable[[str], object]) -> None:
    """Send enrollment requests until the coordinator has sent a request with the runner's new secret. Raises
    ``RefusedError`` if the coordinator refuses."""
    last, pause_s = "", options.first_pause_s
    while not access.confirmed.is_set():
        try:
            enrolment = await _in_thread(partial(_request, options, listening, access.propose()))
        except UnansweredError as error:
            now, wait_s = f"not enrolled yet: {error}; trying again", pause_s * random.uniform(0.5, 1)
            # The random part keeps runners that wait for one coordinator from asking at the same moment.
            pause_s = min(pause_s * 2, options.longest_pause_s)
        else:
            access.adopt(enrolment.secret)
            now, wait_s = f"enrolled at {options.coordinator} as {options.name}", options.confirmed_within_s
            pause_s = options.first_pause_s
        if now != last:
            say(now)
            last = now
        try:
            async with asyncio.timeout(wait_s):
                await access.confirmed.wait()
        except TimeoutError:
            continue


def _request(options: EnrolmentOptions, listening: Address, provisional: str) -> Enrolled:
    """Send one enrollment request, and wait for the response in this thread."""
    coordinator = urlsplit(options.coordinator)
    connect = http.client.HTTPSConnection if coordinator.scheme == "https" else http.client.HTTPConnection
    connection = connect(coordinator.hostname or "", coordinator.port, timeout=ANSWER_S)
    late = threading.Event()
    # A socket's timeout applies to each read, so an answer of one byte a second would never end.
    cutting = threading.Timer(ANSWER_S, _cut, (connection, late))
    cutting.daemon = True
    cutting.start()
    try:
        connection.connect()
        url = options.advertise or reached_at(listening, connection.sock.getsockname()[0])
        body = Enrolment(name=options.name, url=url, secret=provisional).model_dump_json()
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {read_token(options.token_file)}",
        }
        connection.request("POST", coordinator.path + PATH, body, headers)
        response = connection.getresponse()
        content = response.read(MAX_ANSWER)
        if late.is_set():
            raise TimeoutError
        return _answer(options.coordinator, response.status, content)
    except (OSError, http.client.HTTPException) as error:
        slow = late.is_set() or isinstance(error, TimeoutError)
        why = "too slow" if slow else getattr(error, "strerror", None) or str(error)
        why = why or type(error).__name__
        raise UnansweredError(
            f"the coordinator at {options.coordinator} does not answer ({_line(why)}): check that it runs"
        ) from error
    finally:
        cutting.cancel()
        connection.close()


def _cut(connection: http.client.HTTPConnection, late: threading.Event) -> None:
    """Close the connection, even while a request is being sent."""
    late.set()
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _answer(coordinator: str, status: int, body: bytes) -> Enrolled:
    """Return the coordinator's response if it is a success. If it is an error, raises ``UnansweredError`` if another
    attempt may help, and ``RefusedError`` if not."""
    stranger = RefusedError(
        f"the program at {coordinator} does not enroll runners (it answered {status}): check --enrol"
    )
    try:
        if status in (200, 201):
            return Enrolled.model_validate_json(body)
        problem = _line(Problem.model_validate_json(body).detail.removeprefix("body."))
    except ValidationError as error:
        if status >= 500:
            raise UnansweredError(f"the coordinator at {coordinator} answers {status}: read its log") from error
        raise stranger from error
    if status >= 500 or status in TRY_AGAIN:
        raise UnansweredError(problem)
    if status in (404, 405):
        raise stranger
    raise RefusedError(problem)


def _require_url(option: str, url: str) -> str:
    try:
        address = web_address(url)
        if len(address) > MAX_URL or "?" in address or "#" in address:
            raise ValueError(f"give an address like http://host:8642, of at most {MAX_URL} letters")
    except ValueError as error:
        raise RefusedError(f"{option} '{_line(url)}': {error}") from error
    return address


async def _in_thread(work: Callable[[], Value]) -> Value:
    """Run ``work`` as ``asyncio.to_thread`` does. When the runner stops, it does not wait for the thread."""
    future: Future[Value] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, name="enrolment", daemon=True).start()
    return await asyncio.wrap_future(future)


def _line(text: str) -> str:
    """Make a text of another program safe for a one-line message."""
    return printable(" ".join(text.split()), 500)
