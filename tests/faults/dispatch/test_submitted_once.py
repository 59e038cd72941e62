"""A client sends a submission again because the response was lost. Only one campaign is created."""

from __future__ import annotations

from pathlib import Path

from tests.coordinator_process import CoordinatorProcess
from tests.enrolling_runner import Relay
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess


def test_a_campaign_whose_answer_is_lost_is_submitted_once(
    coordinator: CoordinatorProcess, runner: RunnerProcess, tmp_path: Path
) -> None:
    lost_pieces: list[bytes] = []

    def passes(piece: bytes) -> bool:
        if b"201 Created" not in piece or lost_pieces:
            return True
        lost_pieces.append(piece)
        return False

    relay = Relay(coordinator.port, passes)
    try:
        portolan = Portolan(tmp_path, PORTOLAN_URL=relay.url)
        output = portolan.ask("submit", "--suite", "hazards", "--functions", "hazards.add", "--timing", "off")
    finally:
        relay.close()
    assert lost_pieces
    assert output.split() == ["1"]
    assert [campaign["id"] for campaign in coordinator.http.get("/campaigns").json()["campaigns"]] == [1]
