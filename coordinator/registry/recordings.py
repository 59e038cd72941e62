"""Sends a recording to a runner. From its next boot on, the runner serves the recording as a suite."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.errors import NotFoundError
from coordinator.registry import store
from coordinator.registry.client import RunnerClient
from protocol.recording import AcceptedRecording, Recording


async def send(
    engine: AsyncEngine, runner_id: int, recording: Recording, times: Times = DEFAULT_TIMES
) -> AcceptedRecording:
    """Send the recording, and return the suite that the runner will make from it. Raises an ``UnusableRunnerError`` if
    the runner does not accept it.

    If the runner accepts, it begins a new boot, and the coordinator registers the new suite as after any restart.
    """
    async with engine.connect() as connection:
        address = await store.find_address(connection, runner_id)
    if address is None:
        raise NotFoundError(f"there is no runner {runner_id}: `portolan runner list` shows the registered runners")
    async with RunnerClient(*address, times=times) as client:
        return await client.send_recording(recording)
