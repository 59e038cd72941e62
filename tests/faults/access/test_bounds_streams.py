"""The number of event streams is limited, one database reader serves all of them, and hundreds of streams do not delay
other requests."""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.event_loop import EventLoop
from tests.faults.access.raw_http import allow_files, answer, connect, get, read_body
from tests.scripted_runner import Case, Script, ScriptedRunner
from tests.waiting import until

STREAMS = 300
MOST = 200
PROMPT_S = 60.0


@pytest.fixture
def runner() -> Iterator[ScriptedRunner]:
    events = EventLoop()
    cases = [Case(f"scripted.f{number}/0", f"scripted.f{number}") for number in range(8)]
    script = Script(starts=False)
    runner = ScriptedRunner("scripted", "scripted", cases, run=events.run, script=script, heartbeat_s=0.3)
    runner.start()
    yield runner
    runner.stop()
    events.close()


@pytest.fixture
def coordinator(database: str) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database, PORTOLAN_LIMITS=f"streams={MOST}")
    yield coordinator
    coordinator.stop()


def test_hundreds_of_streams_leave_room_for_a_request(coordinator: CoordinatorProcess, runner: ScriptedRunner) -> None:
    allow_files(2 * STREAMS + 200)
    assert coordinator.register(runner.url, runner.secret).status_code == 201
    campaign = coordinator.submit("*", suite="scripted", runs=100)
    path = get(f"/api/v1/campaigns/{campaign}/events", f"Authorization: Bearer {ADMIN_TOKEN}")
    with contextlib.ExitStack() as open_streams:
        streams = [open_streams.enter_context(connect(coordinator.port, path)) for _ in range(STREAMS)]
        heads = [answer(stream) for stream in streams]
        waits = []
        for _ in range(5):
            began = time.monotonic()
            response = httpx.get(f"{coordinator.url}/api/v1/campaigns", headers=AS_ADMIN, timeout=120.0)
            waits.append(time.monotonic() - began)
            assert response.status_code == 200, (response.status_code, waits)
        assert max(waits) < PROMPT_S, waits
        statuses = Counter(head.status for head in heads)
        assert statuses == {200: MOST, 429: STREAMS - MOST}
        stream, refusal = next(pair for pair in zip(streams, heads, strict=True) if pair[1].status == 429)
        assert int(refusal.headers["retry-after"]) >= 1
        assert f"{MOST}" in json.loads(read_body(stream, refusal))["detail"]
        # Each of them is told how the campaign ends, from one reading.
        coordinator.http.post(f"/campaigns/{campaign}/cancel")
        for stream, head in zip(streams, heads, strict=True):
            if head.status == 200:
                events = b""
                while b"event: ended" not in events:
                    piece = stream.recv(65536)
                    assert piece, events[-300:]
                    events += piece
    # Those that are gone leave their places.
    until(lambda: _status(coordinator, campaign) == 200, "there is room for a stream again")


def _status(coordinator: CoordinatorProcess, campaign: int) -> int:
    address = f"{coordinator.url}/api/v1/campaigns/{campaign}/events"
    with httpx.stream("GET", address, headers=AS_ADMIN, timeout=60.0) as response:
        return response.status_code
