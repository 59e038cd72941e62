"""Faults of runners: killed, silent, refusing jobs, or reporting impossible outcomes."""

from __future__ import annotations

import fcntl
import json
import os
import signal
from collections.abc import Callable
from typing import Any, ClassVar

from protocol.jobs import JobStatus
from tests.coordinator_process import CoordinatorProcess
from tests.faults.matrix.fault import COORDINATOR, POSTGRESQL, REAL, SCRIPTED, Component, Fault
from tests.faults.matrix.kinds.coordinators import submit
from tests.faults.matrix.suite import CAMPAIGN, TIMED
from tests.faults.matrix.world import World
from tests.scripted_runner import Event, ScriptedRunner
from tests.waiting import LIMIT_S

SPOILED_EVENTS = 2


class RealRunnerFault(Fault):
    place = Component.runner
    targets = (REAL,)


class Killed(RealRunnerFault):
    name = "runner killed and started again"
    lasts_s = 1.0

    def inject(self, world: World) -> None:
        world.real.process.kill()
        world.real.process.wait(LIMIT_S)

    def heal(self, world: World) -> None:
        world.restart_real()


class PausedBriefly(RealRunnerFault):
    name = "runner paused"
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        os.kill(world.real.pid, signal.SIGSTOP)

    def heal(self, world: World) -> None:
        os.kill(world.real.pid, signal.SIGCONT)


class Paused(PausedBriefly):
    name = "runner paused for longer than the limit of silence"
    lasts_s = 42.0


class ForkServerKilled(RealRunnerFault):
    name = "runner's fork server killed"
    lasts_s = 0.0

    def inject(self, world: World) -> None:
        for process in world.real.below():
            if process.parent == world.real.pid:
                os.kill(process.pid, signal.SIGKILL)


class TimingLockHeld(RealRunnerFault):
    """Another process on the host holds the timing lock and does not release it."""

    name = "timing lock held by another process"
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        self._lock = world.timing_lock.open("a")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        submit(world.coordinator, **TIMED)

    def heal(self, world: World) -> None:
        self._lock.close()


class ScriptedFault(Fault):
    place = Component.runner
    targets = SCRIPTED

    def runner(self, world: World) -> ScriptedRunner:
        return world.runners[self.target]


class Restarted(ScriptedFault):
    name = "runner restarted under its URL"
    lasts_s = 0.0

    def inject(self, world: World) -> None:
        self.runner(world).restart()


class CatalogueChanged(ScriptedFault):
    name = "runner restarted with another catalogue, then with the old one"

    def inject(self, world: World) -> None:
        self.runner(world).restart(revision="2")

    def heal(self, world: World) -> None:
        self.runner(world).restart(revision="1")


class SecretChanged(ScriptedFault):
    name = "runner's secret changed for a while"

    def inject(self, world: World) -> None:
        self.secret, self.runner(world).secret = self.runner(world).secret, "another"

    def heal(self, world: World) -> None:
        self.runner(world).secret = self.secret


class Switched(ScriptedFault):
    """A switch of the runner's script is on for a while."""

    switch: ClassVar[str]
    value: ClassVar[Any]

    def inject(self, world: World) -> None:
        script = self.runner(world).script
        self.before = getattr(script, self.switch)
        setattr(script, self.switch, self.value)

    def heal(self, world: World) -> None:
        setattr(self.runner(world).script, self.switch, self.before)


def fault_by_switch(name: str, switch: str, value: Any, lasts_s: float = 4.0) -> type[Fault]:
    """The kind of fault that this switch causes."""
    return type(switch, (Switched,), {"name": name, "switch": switch, "value": value, "lasts_s": lasts_s})


SWITCHED = (
    fault_by_switch("runner answers after 3 s", "answer_after_s", 3.0, 8.0),
    fault_by_switch("runner answers every request with 500", "answer_status", 500),
    fault_by_switch("runner accepts jobs and never starts them", "starts", False, 40.0),
    fault_by_switch("runner answers full", "receipt", JobStatus.full, 8.0),
    fault_by_switch("runner answers unknown_case", "receipt", JobStatus.unknown_case, 8.0),
    fault_by_switch("runner answers stale_attempt", "receipt", JobStatus.stale_attempt, 8.0),
    fault_by_switch("runner answers other_case", "receipt", JobStatus.other_case, 8.0),
    fault_by_switch("runner sends no heartbeats", "heartbeats", False, 8.0),
    fault_by_switch("runner's stream open and empty for 42 s", "speaks", False, 42.0),
    fault_by_switch("stream closed after each event", "closes_after_events", 1, 6.0),
    fault_by_switch("acknowledgements refused", "acknowledges", False, 6.0),
    fault_by_switch("runner claims another boot", "claims_boot", "a-boot-that-never-was"),
    fault_by_switch("finishes never reported", "loses_finishes", SPOILED_EVENTS, 30.0),
    fault_by_switch("finishes reported twice", "doubles_finishes", 8, 6.0),
    fault_by_switch("runner kills no case at its limit", "kills", False, 35.0),
)


class Spoiled(ScriptedFault):
    """Some of the next finish events are unreadable, cannot be stored, or belong to other jobs."""

    spoil: Callable[[Event], bytes]
    lasts_s = 3.0

    def inject(self, world: World) -> None:
        self.runner(world).script.spoils += [type(self).spoil] * SPOILED_EVENTS

    def heal(self, world: World) -> None:
        self.runner(world).script.spoils.clear()


def spoiling_fault(name: str, spoil: Callable[[Event], bytes]) -> type[Fault]:
    """The kind of fault that changes the lines of finish events in this way."""
    return type("SpoiledFinish", (Spoiled,), {"name": name, "spoil": staticmethod(spoil)})


def _with_outcome(**fields: Any) -> Callable[[Event], bytes]:
    return lambda event: json.dumps(event | {"outcome": event["outcome"] | fields}).encode()


def _with_timing(**fields: Any) -> Callable[[Event], bytes]:
    return _with_outcome(timing=fields)


SPOILED = (
    spoiling_fault("event with an extra field", lambda event: json.dumps(event | {"mood": "good"}).encode()),
    spoiling_fault("event with an unknown enum value", _with_outcome(ending="evaporated")),
    spoiling_fault("event of an unknown type", lambda event: json.dumps(event | {"type": "paused"}).encode()),
    spoiling_fault(
        "event in bad UTF-8", lambda event: json.dumps(event).encode().replace(b"returned", b"return\xff\xfe")
    ),
    spoiling_fault("event truncated", lambda event: json.dumps(event).encode()[:-40]),
    spoiling_fault("gap in the event numbers", lambda event: json.dumps(event | {"n": event["n"] + 2}).encode()),
    spoiling_fault("event number too small", lambda event: json.dumps(event | {"n": 1}).encode()),
    spoiling_fault("duration NaN", _with_outcome(duration_s=float("nan"))),
    spoiling_fault("duration negative", _with_outcome(duration_s=-1.0)),
    spoiling_fault("duration of a billion years", _with_outcome(duration_s=3.2e16)),
    spoiling_fault("samples infinite", _with_timing(samples_ms=[1.0, float("inf")])),
    spoiling_fault("samples negative", _with_timing(samples_ms=[1.0, -1.0])),
    spoiling_fault("integers too large for their columns", _with_timing(position=2**40, calls_per_sample=2**70)),
    spoiling_fault("finish with an unknown id", lambda event: json.dumps(event | {"id": "nobody-s.4711"}).encode()),
    spoiling_fault(
        "finish of a later attempt", lambda event: json.dumps(event | {"attempt": event["attempt"] + 1}).encode()
    ),
)


class Impostor(ScriptedFault):
    """A runner reports the jobs of another runner as its own."""

    name = "finish of another runner's job"
    lasts_s = 1.0

    def inject(self, world: World) -> None:
        for other in world.runners.values():
            entry = other.last_started()
            if other.name != self.target and entry is not None:
                runner = self.runner(world)
                runner.say(
                    {"type": "started", "id": entry.id, "attempt": entry.attempt},
                    runner.finish_of(entry.id, entry.attempt, entry.case, entry.run),
                )


class Guesser(ScriptedFault):
    """A runner reports job ids that it guesses."""

    name = "finish of a guessed id"
    lasts_s = 1.0

    def inject(self, world: World) -> None:
        runner = self.runner(world)
        entry = runner.last_started()
        if entry is None:
            return
        number = entry.id.rpartition(".")[2]
        guesses = [
            number,
            f"0.{number}",
            f"{'0' * 32}.{number}",
            f".{number}",
            f"{entry.id}.{number}",
            entry.id.upper(),
        ]
        runner.say(*(runner.finish_of(guess, entry.attempt, entry.case, entry.run) for guess in guesses))


class Shared(ScriptedFault):
    """A second coordinator with another database registers the runner and sends it jobs."""

    name = "second installation uses the same runner"
    needs = COORDINATOR | POSTGRESQL
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        world.execute("DROP DATABASE IF EXISTS second WITH (FORCE)", "CREATE DATABASE second")
        other: CoordinatorProcess = world.start_other(world.upgraded_dsn("second"))
        world.register(self.target, other)
        other.http.post("/campaigns", json=CAMPAIGN)

    def heal(self, world: World) -> None:
        for other in world.others:
            other.kill()
        world.stop_others()


KINDS: tuple[type[Fault], ...] = (
    Killed,
    PausedBriefly,
    Paused,
    ForkServerKilled,
    TimingLockHeld,
    Restarted,
    CatalogueChanged,
    SecretChanged,
    *SWITCHED,
    *SPOILED,
    Impostor,
    Guesser,
    Shared,
)
