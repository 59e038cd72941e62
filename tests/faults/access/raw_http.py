"""HTTP over plain sockets: requests that no client library would send, and hundreds of connections."""

from __future__ import annotations

import resource
import socket
from dataclasses import dataclass

PATIENCE_S = 60.0
LENGTH = "Content-Length: {}"


@dataclass(frozen=True)
class Answer:
    """The head of a response. Its body must still be read from the connection."""

    status: int
    headers: dict[str, str]


def allow_files(count: int) -> None:
    """Raise this process's limit of open files, if it is lower."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def connect(port: int, request: bytes = b"", *, patience_s: float = PATIENCE_S) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=patience_s)
    connection.sendall(request)
    return connection


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


def post(path: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A POST request whose body has the declared number of bytes, unless a header says something else."""
    length_header = (
        [] if any("ength" in header or "Transfer" in header for header in headers) else [LENGTH.format(len(body))]
    )
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}", *length_header, *headers, "", ""]
    return "\r\n".join(head).encode() + body


def answer(connection: socket.socket) -> Answer:
    """Read the head of the next response. Raises ``ConnectionError`` if there is none."""
    head = b""
    # Byte by byte: what follows the head belongs to the body, or to the next answer of the connection.
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError(f"closed without an answer, after {head!r}")
        head += byte
    first, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return Answer(int(first.split()[1]), {name.lower(): value for name, _, value in pairs})


def read_body(connection: socket.socket, head: Answer) -> bytes:
    """Read the response's body, by its declared length or to the end of the connection."""
    if "content-length" not in head.headers:
        return b"".join(iter(lambda: connection.recv(1 << 20), b""))
    length = int(head.headers["content-length"])
    body = b""
    while len(body) < length and (piece := connection.recv(length - len(body))):
        body += piece
    return body


def whole(connection: socket.socket) -> tuple[Answer, bytes]:
    """Read the next response with its body."""
    head = answer(connection)
    return head, read_body(connection, head)
