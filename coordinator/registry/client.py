"""An HTTP client for one runner, for version 1 of the runner API.

Each runner has its own httpx client, on a transport that checks addresses and limits responses
(``runner_requests/transport.py``). Every failure is a kind of ``UnusableRunnerError``. Its message contains the
runner's URL and the remedy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from coordinator.configuration.settings import runner_networks
from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.errors import (
    EventsAheadError,
    RecordingRefusedError,
    RunnerIncompatibleError,
)
from coordinator.runner_requests.addresses import RunnerNetworks
from coordinator.runner_requests.answers import (
    AnswerNumbers,
    excerpt,
    problem_detail,
    raise_for_status,
    unreachable,
)
from coordinator.runner_requests.transport import ENDLESS, MAX_BODY, RunnerTransport
from coordinator.text.plain_text import plain_text
from protocol import PROTOCOL_VERSION
from protocol.catalogue import Catalogue
from protocol.events import Acknowledgement
from protocol.jobs import JobBatch, JobReceipts
from protocol.lines import EndlessLineError, LineReader
from protocol.model import first_fault
from protocol.recording import AcceptedRecording, Recording
from protocol.runner import RunnerInfo

MAX_ANSWER = 4 * 1024 * 1024
"""The maximum size of every response except a catalogue."""
CONNECT_S = 5.0
"""The time limit for connecting. A reachable host accepts at once."""

_NO_RECORDINGS = frozenset({404, 405})
_REFUSED = frozenset({403, 409, 413, 422})
"""The response statuses of a runner that does not accept a recording."""

M = TypeVar("M", bound=BaseModel)


class RunnerClient:
    """A connection to the runner at ``url``, used as an async context manager.

    Without ``networks``, the settings of this process determine at which addresses runners are allowed.
    """

    def __init__(
        self, url: str, secret: str, networks: RunnerNetworks | None = None, *, times: Times = DEFAULT_TIMES
    ) -> None:
        self.url = url
        self._times = times
        try:
            _ = httpx.URL(url).host  # raises for an invalid international name
            self._http = httpx.AsyncClient(
                base_url=url,
                headers={b"Authorization": b"Bearer " + secret.encode()} if secret else {},
                timeout=httpx.Timeout(times.answer_s, connect=CONNECT_S),
                transport=RunnerTransport(networks or runner_networks(), answer_s=times.whole_answer_s),
                trust_env=False,
            )
        except (httpx.InvalidURL, UnicodeError) as error:
            raise unreachable(self.url, error, self._times.answer_s) from error

    async def __aenter__(self) -> RunnerClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def info(self) -> RunnerInfo:
        """Read the runner's description. Raises ``RunnerIncompatibleError`` for another protocol version."""
        body = await self._read("GET", "/v1/runner")
        # Another version may have other members, so the rest of the answer is not read.
        protocol = AnswerNumbers.read(body).protocol
        if protocol not in (None, PROTOCOL_VERSION):
            raise RunnerIncompatibleError(
                f"the runner at {self.url} speaks protocol {protocol}, this coordinator {PROTOCOL_VERSION}: "
                "use runner and coordinator of the same release"
            )
        return self._parse(RunnerInfo, body)

    async def catalogue(self) -> Catalogue:
        body = await self._read("GET", "/v1/catalogue", most=MAX_BODY)
        # In a thread, because a catalogue may have very many cases, and the event loop serves other runners meanwhile.
        return await asyncio.to_thread(self._parse, Catalogue, body)

    async def post(self, batch: JobBatch) -> JobReceipts:
        """Post jobs. Raises ``RunnerChangedError`` if the runner has another boot or suite revision than the batch."""
        body = await self._read("POST", "/v1/jobs", content=batch.model_dump_json())
        return self._parse(JobReceipts, body)

    async def acknowledge(self, boot_id: str, n: int) -> None:
        await self._read("POST", "/v1/events/ack", content=Acknowledgement(boot_id=boot_id, n=n).model_dump_json())

    async def stop(self, job: str, attempt: int) -> None:
        # A runner may hold jobs of another client, with any ids.
        await self._read("DELETE", f"/v1/jobs/{quote(job, safe='')}/{attempt}")

    async def send_recording(self, recording: Recording) -> AcceptedRecording:
        """Send a recording. Raises ``RecordingRefusedError`` if the runner does not accept it."""
        answer = await self._answer("POST", "/v1/recordings", recording.model_dump_json())
        if answer.status_code in _NO_RECORDINGS:
            raise RecordingRefusedError(
                f"the runner at {self.url} accepts no recordings: use a runner of this release of Portolan"
            )
        if answer.status_code in _REFUSED:
            raise RecordingRefusedError(f"the runner at {self.url} refused the recording: {problem_detail(answer)}")
        raise_for_status(answer, self.url)
        return self._parse(AcceptedRecording, answer.content)

    async def event_lines(self, boot_id: str, after: int) -> AsyncIterator[list[bytes]]:
        """Yield the raw lines of the event stream in the batches in which they arrive.

        Ends when the runner ends the stream. Raises an ``UnusableRunnerError`` when the stream breaks.
        """
        timeout = httpx.Timeout(self._times.answer_s, connect=CONNECT_S, read=self._times.stream_silence_s)
        parameters = {"boot_id": boot_id, "after": str(after)}
        try:
            async with self._http.stream(
                "GET", "/v1/events", params=parameters, timeout=timeout, extensions=ENDLESS
            ) as response:
                if response.status_code != 200:
                    answer = await self._read_body(response)
                    if answer.status_code == 422:
                        raise EventsAheadError(
                            f"the runner at {self.url} has issued no event {after}: {excerpt(answer)}"
                        )
                    raise_for_status(answer, self.url)
                reader = LineReader(MAX_BODY)
                async for chunk in response.aiter_raw():
                    if lines := [line for line in reader.feed(chunk) if line]:
                        yield lines
        except EndlessLineError as error:
            raise RunnerIncompatibleError(
                f"the runner at {self.url} sent an event line of over {MAX_BODY >> 20} MiB, which is the limit: "
                "repair the runner"
            ) from error
        except httpx.HTTPError as error:
            raise unreachable(self.url, error, self._times.answer_s) from error

    async def _read(self, method: str, path: str, content: str | None = None, most: int = MAX_ANSWER) -> bytes:
        answer = await self._answer(method, path, content, most)
        raise_for_status(answer, self.url)
        return answer.content

    async def _answer(
        self, method: str, path: str, content: str | None = None, most: int = MAX_ANSWER
    ) -> httpx.Response:
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            async with self._http.stream(method, path, content=content, headers=headers) as response:
                return await self._read_body(response, most)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise unreachable(self.url, error, self._times.answer_s) from error

    async def _read_body(self, response: httpx.Response, most: int = MAX_ANSWER) -> httpx.Response:
        """Read the body of a response, at most ``most`` bytes, and return the response."""
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > most:
                raise RunnerIncompatibleError(
                    f"the runner at {self.url} sent an answer of over {most >> 20} MiB, which is the limit: "
                    "repair the runner"
                )
        return httpx.Response(response.status_code, content=bytes(body), request=response.request)

    def _parse(self, model: type[M], body: bytes) -> M:
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            fault = plain_text(first_fault(error))
            raise RunnerIncompatibleError(
                f"the server at {self.url} is not a runner of protocol {PROTOCOL_VERSION} ({fault}): "
                "check the URL, or correct the runner"
            ) from error


async def probe(url: str, secret: str, times: Times = DEFAULT_TIMES) -> tuple[RunnerInfo, Catalogue]:
    """Read a runner's description and catalogue. Raises an ``UnusableRunnerError``."""
    async with RunnerClient(url, secret, times=times) as client:
        try:
            async with asyncio.timeout(times.probe_s):
                return await client.info(), await client.catalogue()
        except TimeoutError as error:
            raise unreachable(url, httpx.ReadTimeout("too slow"), times.probe_s) from error
