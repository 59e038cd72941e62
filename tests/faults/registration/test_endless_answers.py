"""A response that never ends, or that differs from its description, makes a registration fail. It takes little memory
and little time."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import sys
import time
import zlib
from collections.abc import Iterable

import pytest

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.errors import RunnerAddressError, RunnerIncompatibleError, RunnerUnreachableError, UnusableRunnerError
from coordinator.registry.client import RunnerClient, probe
from coordinator.runner_requests.addresses import RunnerNetworks
from tests.faults.registration.hostile_server import Pieces, answering, head

BLANKS = b" " * (1 << 20)
ENDS_WITHIN_S = 15.0
INFO = json.dumps(
    {
        "boot_id": "b",
        "protocol": 1,
        "framework": "f",
        "version": "1",
        "device": "d",
        "device_class": "cpu",
        "device_count": 1,
        "queue_limit": 1,
        "fingerprint": {"hardware": "h", "environment": "e", "host": "h", "system": "s"},
    }
).encode()


async def failure(pieces: Pieces, *, pause_s: float = 0.0, times: Times = DEFAULT_TIMES) -> UnusableRunnerError:
    async with answering(pieces, pause_s=pause_s) as url, asyncio.timeout(ENDS_WITHIN_S * 8):
        with pytest.raises(UnusableRunnerError) as excinfo:
            await probe(url, "secret", times)
    return excinfo.value


async def test_an_answer_without_end_is_refused() -> None:
    error = await failure(lambda: itertools.chain([head()], itertools.repeat(BLANKS)))
    assert isinstance(error, RunnerIncompatibleError)
    assert "sent an answer of over 4 MiB" in str(error)


async def test_a_catalogue_may_be_larger_and_has_an_end_too() -> None:
    calls = itertools.count()

    def pieces() -> Iterable[bytes]:
        if next(calls) == 0:
            return [head(f"Content-Length: {len(INFO)}", "Connection: close"), INFO]
        return itertools.chain([head()], itertools.repeat(BLANKS))

    assert "sent an answer of over 64 MiB" in str(await failure(pieces))


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, identity"])
async def test_a_packed_answer_is_refused_before_it_is_unpacked(coding: str) -> None:
    error = await failure(lambda: [head(f"Content-Encoding: {coding}", "Content-Length: 4"), b"1234"])
    assert "its response is compressed" in str(error)


PROBE = """
import asyncio, resource, sys
from coordinator.errors import UnusableRunnerError
from coordinator.registry.client import probe
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    asyncio.run(probe(sys.argv[1], "secret"))
except UnusableRunnerError:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


async def _grows_by_kib(url: str) -> int:
    """The memory that a process gains while it probes this URL."""
    child = await asyncio.create_subprocess_exec(*(sys.executable, "-c", PROBE, url), stdout=asyncio.subprocess.PIPE)
    output, _ = await child.communicate()
    return int(output)


async def test_a_bomb_costs_no_memory() -> None:
    """The response is 1 MB of gzip that expands to 1 GB."""
    packer = zlib.compressobj(level=1, wbits=31)
    archive = b"".join(packer.compress(BLANKS) for _ in range(1024)) + packer.flush()
    bomb: list[bytes] = [head("Content-Encoding: gzip", f"Content-Length: {len(archive)}"), archive]
    async with answering(lambda: bomb) as url:
        assert await _grows_by_kib(url) < 100 << 10


def byte_by_byte(whole: bytes) -> Pieces:
    return lambda: (bytes([byte]) for byte in whole)


def headers_without_end() -> Iterable[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in itertools.count():
        yield f"X-{number}: 1\r\n".encode()


@pytest.mark.parametrize(
    "pieces",
    [
        byte_by_byte(head() + b" " * 10_000),
        lambda: itertools.chain([head()], itertools.repeat(b" ")),
        lambda: itertools.chain([head("Transfer-Encoding: chunked")], itertools.repeat(b"1\r\n \r\n")),
        headers_without_end,
        lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["the head", "the body", "chunks", "headers", "go on"],
)
async def test_a_byte_at_a_time_ends_at_the_total(pieces: Pieces) -> None:
    """The total time is limited, although each single read succeeds quickly."""
    began = time.monotonic()
    error = await failure(pieces, pause_s=0.05, times=Times(probe_s=1.0))
    assert isinstance(error, RunnerUnreachableError)
    assert "did not answer within 1 s" in str(error)
    assert time.monotonic() - began < ENDS_WITHIN_S


async def test_every_call_has_a_total_and_the_stream_of_events_has_none() -> None:
    times = Times(whole_answer_s=1.0)
    async with answering(lambda: itertools.chain([head()], itertools.repeat(b" ")), pause_s=0.05) as url:
        client = RunnerClient(url, "secret", times=times)
        with pytest.raises(RunnerUnreachableError):
            await asyncio.wait_for(client.acknowledge("boot", 1), ENDS_WITHIN_S)
        await client.__aexit__()
    beats = [head(), *[b'{"type": "heartbeat"}\n'] * 50]
    async with answering(lambda: beats, pause_s=0.05) as url, RunnerClient(url, "secret", times=times) as client:
        lines = [line async for some in client.event_lines("boot", 0) for line in some]
    assert len(lines) == 50


@pytest.mark.parametrize(
    "lines",
    [[f"X-{number}: 1" for number in range(200)], [f"X-Long: {'x' * 40_000}"]],
    ids=["many", "long"],
)
async def test_headers_are_bounded(lines: list[str]) -> None:
    error = await failure(lambda: [head(*lines, f"Content-Length: {len(INFO)}"), INFO])
    assert "over 100 headers, or over 32 KiB" in str(error)


async def test_headers_that_no_memory_holds_are_not_collected() -> None:
    assert isinstance(await failure(headers_without_end), UnusableRunnerError)


@pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent"])
async def test_a_redirect_leads_nowhere(status: str) -> None:
    calls = []

    def answer_elsewhere() -> Iterable[bytes]:
        calls.append(1)
        return [head(f"Content-Length: {len(INFO)}"), INFO]

    async with answering(answer_elsewhere) as elsewhere:
        error = await failure(lambda: [head(f"Location: {elsewhere}/v1/runner", "Content-Length: 0", status=status)])
    assert re.search(r"is not a runner: GET /v1/runner answered 30\d", str(error))
    assert calls == []


async def test_a_name_is_checked_each_time_that_it_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name leads to this machine at registration, and to a cloud's metadata service a moment later."""
    from coordinator.runner_requests import transport as runner_transport

    answers = iter(["127.0.0.1", "169.254.169.254", "127.0.0.2"])
    looked_up: list[str] = []

    def look_up(host: str, port: int) -> list[object]:
        looked_up.append(host)
        return [(0, 0, 0, "", (next(answers), port))]

    monkeypatch.setattr(runner_transport, "_look_up", look_up)
    info = [head(f"Content-Length: {len(INFO)}", "Connection: close"), INFO]
    async with answering(lambda: info) as url:
        port = url.rpartition(":")[2]
        networks = RunnerNetworks.parse("127.0.0.1/32")
        async with RunnerClient(f"http://runner.example:{port}", "secret", networks) as client:
            assert (await client.info()).boot_id == "b"
            assert len(looked_up) == 1, "the connection was made to what was checked"
            with pytest.raises(RunnerAddressError, match=r"169\.254\.169\.254 is link-local"):
                await client.info()
            with pytest.raises(RunnerAddressError, match=r"127\.0\.0\.2 is outside the allowed networks"):
                await client.info()


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[::ffff:127.0.0.1]", "0", "0x0", "[fe80::1]", "8.8.8.8", "134744072", "[64:ff9b::7f00:1]"],
)
async def test_an_address_is_no_runners_however_it_is_written(host: str) -> None:
    with pytest.raises(RunnerAddressError, match="may not connect to the runner"):
        await probe(f"http://{host}:9", "secret")
