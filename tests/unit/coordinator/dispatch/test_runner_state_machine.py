"""The dispatch state machine keeps its promises for every order of events."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator.configuration.times import Times
from coordinator.dispatch import runner_state_machine as limits
from coordinator.dispatch.events import (
    ClaimedEvent,
    ConnectedEvent,
    DisconnectedEvent,
    Event,
    FinishedEvent,
    HeartbeatEvent,
    PostedEvent,
    PostingEvent,
    RevokedEvent,
    StartedEvent,
    StopAnsweredEvent,
    StoppedEvent,
    StrayLeasesEvent,
    TickEvent,
    UnreadableLineEvent,
    WakeEvent,
)
from coordinator.dispatch.instructions import (
    FELL_SILENT,
    SERVES_ANOTHER,
    Claim,
    GiveBack,
    Instruction,
    Lose,
    Post,
    Quarantine,
    Stop,
    TimeOut,
)
from coordinator.dispatch.leases import Key, Lease
from coordinator.dispatch.runner_state_machine import RunnerState

TIMES = Times()
MARK = "t"
STRANGER = Key(1, 1, "of another database")
FORGOTTEN = Key(2**40, 1, f"{MARK}, before a restore")


class Fleet(RuleBasedStateMachine):
    """A model of the database and the runner around one state machine.

    ``held`` is the set of jobs that the runner holds according to the database. A job leaves this set in exactly one
    way.
    """

    @initialize(limit=st.integers(1, 100))
    def begin(self, limit: int) -> None:
        self.limit = limit
        self.machine = RunnerState(limit, mark=MARK)
        self.lets_go = False
        self.now = 0.0
        self.next_job = 1
        self.queued = 200
        self.held: dict[Key, Lease] = {}
        self.runner: dict[Key, bool] = {}
        self.claims = 0
        self.quarantined = False
        self.feed(ConnectedEvent(self.now, True, ()))

    def feed(self, event: Event) -> None:
        for instruction in self.machine.handle(event):
            self.obey(instruction)

    def obey(self, instruction: Instruction) -> None:
        match instruction:
            case Claim(limit):
                assert 0 < limit <= limits.MAX_AHEAD
                assert not self.claims, "a second claim before the first was answered"
                assert not self.lets_go, "a claim for a runner that serves another"
                self.claims = limit
            case Post(leases):
                for lease in leases:
                    assert lease.key in self.held
            case Stop(key):
                assert key in self.held or key in self.runner or key == FORGOTTEN
            case GiveBack(keys, _, _):
                for key in keys:
                    assert key in self.held, "given back twice, or after it had ended"
                    assert not self.held[key].started, "a started attempt went back uncounted"
                    del self.held[key]
                    self.queued += 1
            case Lose(keys, _):
                for key in keys:
                    del self.held[key]
                    self.queued += 1
            case TimeOut(key, elapsed_s):
                assert elapsed_s > self.held[key].timeout_s
                del self.held[key]
            case Quarantine(seconds, _):
                assert TIMES.quarantine_s <= seconds <= TIMES.longest_quarantine_s
                self.quarantined = True
                self.runner.clear()

    @precondition(lambda self: self.claims)
    @rule(count=st.integers(0, 64), timeout=st.sampled_from([1.0, 60.0, 900.0]))
    def claim_succeeds(self, count: int, timeout: float) -> None:
        job_count, self.claims = min(count, self.claims, self.queued), 0
        leases = []
        for _ in range(job_count):
            lease = Lease(Key(self.next_job, 1, MARK), timeout)
            self.next_job += 1
            self.queued -= 1
            self.held[lease.key] = lease
            leases.append(lease)
        self.feed(ClaimedEvent(self.now, tuple(leases)))

    @precondition(lambda self: self.machine.in_flight and not self.quarantined)
    @rule(data=st.data())
    def post_succeeds(self, data: st.DataObject) -> None:
        waiting = sorted(key for key in self.machine.in_flight if key not in self.runner)
        fate = [data.draw(st.sampled_from(["queued", "queued", "full", "refused"])) for _ in waiting]
        accepted_keys = tuple(key for key, status in zip(waiting, fate, strict=True) if status == "queued")
        self.runner.update(dict.fromkeys(accepted_keys, False))
        self.feed(PostingEvent(self.now, tuple(waiting)))
        self.feed(
            PostedEvent(
                self.now,
                accepted_keys,
                tuple(key for key, status in zip(waiting, fate, strict=True) if status == "full"),
                tuple(key for key, status in zip(waiting, fate, strict=True) if status == "refused"),
                "unknown_case",
            )
        )

    @precondition(lambda self: any(not started for started in self.runner.values()) and self.machine.online)
    @rule(data=st.data())
    def starts(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(key for key, has_started in self.runner.items() if not has_started)))
        self.runner[key] = True
        if key in self.held:
            self.held[key] = Lease(key, self.held[key].timeout_s, started=True)
        self.feed(StartedEvent(self.now, key))

    @precondition(lambda self: self.runner and self.machine.online)
    @rule(data=st.data())
    def finishes(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.runner)))
        del self.runner[key]
        self.feed(FinishedEvent(self.now, key))
        self.held.pop(key, None)

    @precondition(lambda self: self.machine.online)
    @rule(strangers=st.sampled_from([(), (), (), (FORGOTTEN,), (STRANGER,)]))
    def beats(self, strangers: tuple[Key, ...]) -> None:
        running = [*(key for key, has_started in self.runner.items() if has_started), *strangers]
        queued_jobs = sum(not has_started for has_started in self.runner.values())
        self.feed(HeartbeatEvent(self.now, tuple((key, 0.5, 0.0) for key in running), queued_jobs))
        self.lets_go |= STRANGER in strangers

    @rule(seconds=st.sampled_from([0.1, 1.0, 12.0, 31.0, 2000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.feed(TickEvent(self.now))

    @rule()
    def breaks(self) -> None:
        self.feed(DisconnectedEvent(self.now, "broken"))

    @rule(same_boot=st.booleans())
    def connects(self, same_boot: bool) -> None:
        if not same_boot:
            self.runner.clear()
        self.claims = 0
        if self.quarantined:
            self.machine, self.quarantined, self.lets_go = RunnerState(self.limit, mark=MARK), False, False
        leases = tuple(self.held[key] for key in sorted(self.held))
        self.feed(ConnectedEvent(self.now, same_boot, leases))

    @rule()
    def wakes(self) -> None:
        self.feed(WakeEvent(self.now))

    @rule()
    def cancels(self) -> None:
        keys = tuple(self.held)[:3]
        self.feed(RevokedEvent(self.now, keys))
        for key in self.held.keys() - self.machine.in_flight:
            assert key in keys
            assert key not in self.runner, "the runner holds what nobody told it to stop"
            del self.held[key]

    @precondition(lambda self: self.machine.online)
    @rule(data=st.data(), is_known=st.booleans())
    def says_what_cannot_be_read(self, data: st.DataObject, is_known: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.runner))) if is_known and self.runner else None
        self.feed(UnreadableLineEvent(self.now, key, "an unknown word"))
        if key is not None:
            self.held.pop(key, None)
            self.runner.pop(key, None)

    @precondition(lambda self: self.runner and self.machine.online)
    @rule(data=st.data())
    def is_stopped_by_somebody_else(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.runner)))
        del self.runner[key]
        self.feed(StoppedEvent(self.now, key))

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if hasattr(self, "machine"):
            assert self.machine.in_flight == frozenset(self.held)

    @invariant()
    def not_too_many_ahead(self) -> None:
        if hasattr(self, "machine"):
            assert len(self.machine.in_flight) <= max(limits.MAX_AHEAD, self.limit)


Fleet.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestMachine = Fleet.TestCase


def connected_machine(*leases: Lease, ahead: int = 8) -> RunnerState:
    machine = RunnerState(256, ahead=ahead, mark=MARK)
    machine.handle(ConnectedEvent(0.0, True, leases))
    return machine


def test_a_connected_runner_is_given_work_at_once() -> None:
    assert RunnerState(256).handle(ConnectedEvent(0.0, True, ())) == [Claim(8)]


def test_no_more_than_its_queue_holds_is_claimed() -> None:
    assert RunnerState(3).handle(ConnectedEvent(0.0, True, ())) == [Claim(3)]


def test_a_runner_that_drains_quickly_is_given_twice_as_much() -> None:
    machine = connected_machine()
    leases = tuple(Lease(Key(job, 1), 900.0) for job in range(1, 9))
    machine.handle(ClaimedEvent(0.1, leases))
    claims = [instruction for job in range(1, 9) for instruction in machine.handle(FinishedEvent(0.2, Key(job, 1)))]
    assert claims == [Claim(16 - 4)]


def test_a_runner_that_drains_slowly_is_given_half_as_much() -> None:
    machine = connected_machine(ahead=64)
    leases = tuple(Lease(Key(job, 1), 900.0) for job in range(1, 65))
    machine.handle(ClaimedEvent(0.1, leases))
    for lease in leases[:32]:
        machine.handle(FinishedEvent(limits.SLOW_REFILL_S + 1, lease.key))
    assert machine.ahead == 32


def test_a_runner_has_plenty_until_few_of_its_jobs_are_left() -> None:
    leases = tuple(Lease(Key(job, 1), 60.0) for job in range(1, limits.PLENTY + 1))
    machine = RunnerState(512)
    machine.handle(ConnectedEvent(0.0, True, leases))
    assert machine.has_plenty
    machine.handle(FinishedEvent(1.0, leases[0].key))
    assert not machine.has_plenty


def test_an_empty_queue_is_not_asked_again_until_something_wakes_it() -> None:
    machine = connected_machine()
    assert machine.handle(ClaimedEvent(0.1, ())) == []
    assert machine.handle(TickEvent(5.0)) == []
    assert machine.handle(WakeEvent(6.0)) == [Claim(8)]


def test_after_a_break_what_may_not_have_arrived_is_posted_again() -> None:
    waiting, running = Lease(Key(1, 1), 900.0), Lease(Key(2, 1), 900.0, started=True)
    assert RunnerState(2).handle(ConnectedEvent(0.0, True, (waiting, running))) == [Post((waiting,))]


def test_a_restart_loses_what_ran_and_gives_the_rest_back() -> None:
    waiting, running = Lease(Key(2, 1), 900.0), Lease(Key(1, 1), 900.0, started=True)
    out = RunnerState(256).handle(ConnectedEvent(0.0, False, (running, waiting)))
    assert out[:2] == [Lose((running.key,), "restarted"), GiveBack((waiting.key,), "the runner restarted")]


def test_a_job_that_kills_its_runner_before_it_is_seen_to_start_is_counted() -> None:
    head, tail = Lease(Key(1, 1), 900.0), Lease(Key(2, 1), 900.0)
    out = RunnerState(256).handle(ConnectedEvent(0.0, False, (head, tail)))
    assert out[0] == Lose((head.key,), "restarted")


def test_a_runner_that_restarts_again_and_again_is_quarantined_longer_each_time() -> None:
    machine = RunnerState(256)
    running = Lease(Key(1, 1), 900.0, started=True)
    seconds = []
    for boot in range(4):
        out = machine.handle(ConnectedEvent(float(boot), False, (running,)))
        seconds += [instruction.seconds for instruction in out if isinstance(instruction, Quarantine)]
    assert seconds == [10.0, 20.0, 40.0]


def test_a_job_past_its_deadline_is_stopped_and_then_timed_out() -> None:
    machine = connected_machine(Lease(Key(1, 1), 5.0, started=True))
    assert Stop(Key(1, 1)) in machine.handle(TickEvent(5.0 + TIMES.grace_s + 0.1))
    machine.handle(HeartbeatEvent(16.0, ((Key(1, 1), 16.0, 0.0),)))
    out = machine.handle(TickEvent(5.0 + 2 * TIMES.grace_s + 0.3))
    assert isinstance(out[0], TimeOut)
    assert isinstance(out[-1], Quarantine)


def test_a_busy_runner_that_lost_the_report_of_an_end_is_no_proof_of_a_timeout() -> None:
    """The runner sends no heartbeat, because one job ends after another. Only the end of this job is not reported."""
    lost_lease, others = Lease(Key(1, 1), 5.0, started=True), [Lease(Key(job, 1), 5.0) for job in range(2, 60)]
    machine = connected_machine(lost_lease, *others)
    out: list[Instruction] = []
    for second, other in enumerate(others, start=1):
        machine.handle(StartedEvent(float(second), other.key))
        machine.handle(FinishedEvent(second + 0.5, other.key))
        out += (step := machine.handle(TickEvent(second + 0.6)))
        if Stop(lost_lease.key) in step:
            machine.handle(StopAnsweredEvent(second + 0.7, lost_lease.key))
    assert Stop(lost_lease.key) in out
    assert Lose((lost_lease.key,), "its end was not reported") in out
    assert not any(isinstance(instruction, TimeOut) for instruction in out)


def test_a_stop_that_was_not_answered_is_sent_again_after_a_break() -> None:
    running = Lease(Key(1, 1), 5.0, started=True)
    machine = connected_machine(running)
    assert Stop(running.key) in machine.handle(TickEvent(5.0 + TIMES.grace_s + 0.1))
    assert Stop(running.key) in machine.handle(ConnectedEvent(16.0, True, (running,)))
    machine.handle(StopAnsweredEvent(16.1, running.key))
    assert Stop(running.key) not in machine.handle(ConnectedEvent(16.2, True, (running,)))


def test_what_was_stopped_before_its_deadline_is_lost_and_no_timeout() -> None:
    """The database's clock was ahead, so the computed time since the start is wrong."""
    running = Lease(Key(1, 1), 900.0, started=True, ran_s=3600.0)
    machine = connected_machine(running)
    assert Stop(running.key) in machine.handle(TickEvent(TIMES.grace_s + 0.1))
    assert not machine.ran_too_long(running.key, 12.0)
    assert Lose((running.key,), "stopped before its deadline") in machine.handle(StoppedEvent(11.0, running.key))


def test_what_was_cancelled_is_stopped_once_and_what_was_not_sent_yet_not_at_all() -> None:
    machine = connected_machine()
    machine.handle(ClaimedEvent(0.1, (ONE, TWO)))
    machine.handle(PostingEvent(0.2, (ONE.key,)))
    assert machine.handle(RevokedEvent(0.3, (ONE.key, TWO.key))) == [Stop(ONE.key)]
    assert machine.handle(RevokedEvent(0.4, (ONE.key, TWO.key))) == []
    assert machine.in_flight == {ONE.key}


def test_a_runner_is_not_late_with_what_was_not_sent_to_it() -> None:
    machine = connected_machine()
    machine.handle(ClaimedEvent(0.1, (ONE, TWO)))
    for second in range(0, int(TIMES.start_s) + 10, 5):
        machine.handle(HeartbeatEvent(float(second), ()))
        assert machine.handle(TickEvent(float(second))) == []
    machine.handle(PostingEvent(second + 1.0, (ONE.key, TWO.key)))
    machine.handle(PostedEvent(second + 2.0, (ONE.key, TWO.key)))
    assert machine.handle(TickEvent(second + 3.0)) == []


def test_waiting_for_the_timing_lock_is_not_charged() -> None:
    machine = connected_machine(Lease(Key(1, 1), 5.0, started=True))
    machine.handle(HeartbeatEvent(14.0, ((Key(1, 1), 1.0, 13.0),)))
    assert machine.handle(TickEvent(16.0)) == []
    machine.handle(HeartbeatEvent(20.0, ((Key(1, 1), 7.0, 13.0),)))
    assert machine.handle(TickEvent(5.0 + 13.0 + TIMES.grace_s + 0.1)) == [Stop(Key(1, 1))]


def test_a_silent_runner_loses_its_attempts_and_is_quarantined() -> None:
    machine = connected_machine(Lease(Key(1, 1), 900.0, started=True), Lease(Key(2, 1), 900.0))
    out = machine.handle(TickEvent(TIMES.silence_s + 1))
    assert out == [
        Lose((Key(1, 1),), "silent"),
        GiveBack((Key(2, 1),), FELL_SILENT),
        Quarantine(10.0, "the runner was silent for 30 s"),
    ]


def test_quarantine_doubles_up_to_an_hour() -> None:
    assert [TIMES.quarantine.pause_s(strikes) for strikes in (1, 2, 3, 20)] == [10.0, 20.0, 40.0, 3600.0]


ONE, TWO = Lease(Key(1, 1, "t"), 5.0), Lease(Key(2, 1, "t"), 5.0)
RUNNING = Lease(Key(1, 1, "t"), 5.0, started=True)


def quarantines(out: list[Instruction]) -> list[str]:
    return [instruction.reason for instruction in out if isinstance(instruction, Quarantine)]


def machine_with_queued(*leases: Lease) -> RunnerState:
    """A state machine whose runner has answered ``queued`` to these jobs."""
    machine = connected_machine()
    keys = tuple(lease.key for lease in leases)
    machine.handle(ClaimedEvent(0.0, leases))
    machine.handle(PostingEvent(0.0, keys))
    machine.handle(PostedEvent(0.0, keys))
    return machine


def test_a_runner_that_took_jobs_and_begins_none_loses_them_and_the_first_is_counted() -> None:
    machine = machine_with_queued(ONE, TWO)
    for second in range(1, int(TIMES.start_s)):
        machine.handle(HeartbeatEvent(float(second), (), queued=2))
        assert machine.handle(TickEvent(float(second))) == []
    out = machine.handle(TickEvent(TIMES.start_s + 1))
    backs = [(i.keys, i.refused) for i in out if isinstance(i, GiveBack)]
    assert backs == [((ONE.key,), True), ((TWO.key,), False)]
    assert quarantines(out) == ["the runner accepted jobs and started none within 180 s"]


def test_a_stall_is_seen_however_often_the_stream_breaks() -> None:
    machine = machine_with_queued(ONE)
    stalls: list[str] = []
    for second in range(1, int(TIMES.start_s) + 3):
        machine.handle(DisconnectedEvent(float(second), "closed"))
        machine.handle(ConnectedEvent(float(second), True, (ONE,)))
        stalls += quarantines(machine.handle(TickEvent(float(second))))
    assert len(stalls) == 1


def test_a_deadline_is_not_renewed_by_a_new_stream() -> None:
    machine = connected_machine(RUNNING)
    stops: list[float] = []
    for second in range(1, 40):
        machine.handle(DisconnectedEvent(float(second), "closed"))
        machine.handle(ConnectedEvent(float(second), True, (RUNNING,)))
        stops += [float(second) for i in machine.handle(TickEvent(float(second))) if isinstance(i, Stop)]
    assert stops == [RUNNING.timeout_s + TIMES.grace_s + 1]


def test_a_coordinator_that_comes_back_reckons_from_when_the_job_began() -> None:
    old = Lease(Key(1, 1, "t"), 60.0, started=True, ran_s=50.0)
    machine = connected_machine(old)
    assert machine.handle(TickEvent(10.0 + TIMES.grace_s - 0.1)) == []
    assert machine.handle(TickEvent(10.0 + TIMES.grace_s + 0.1)) == [Stop(old.key)]


def test_elapsed_time_that_stands_still_ends_a_job_all_the_same() -> None:
    machine = connected_machine(RUNNING)
    out: list[Instruction] = []
    for second in range(1, 60):
        machine.handle(HeartbeatEvent(float(second), ((RUNNING.key, 0.0, 0.0),)))
        out += machine.handle(TickEvent(float(second)))
    assert [type(i) for i in out] == [Stop, TimeOut, Quarantine]
    assert isinstance(out[1], TimeOut)
    assert out[1].elapsed_s <= RUNNING.timeout_s + 2 * TIMES.grace_s + 2


def test_nobody_waits_for_the_timing_lock_for_ever() -> None:
    machine = connected_machine(RUNNING)
    out: list[Instruction] = []
    for second in range(1, int(TIMES.lock_wait_s) + 60, 5):
        machine.handle(HeartbeatEvent(float(second), ((RUNNING.key, 0.0, float(second)),)))
        out += machine.handle(TickEvent(float(second)))
    assert [type(i) for i in out] == [Stop, TimeOut, Quarantine]


def test_a_runner_that_is_silent_past_a_deadline_is_silent_and_its_job_no_timeout() -> None:
    machine = connected_machine(RUNNING)
    out: list[Instruction] = []
    for second in range(1, 60):
        out += machine.handle(TickEvent(float(second)))
    assert [type(i) for i in out] == [Stop, Lose, Quarantine]


def test_a_job_that_heartbeats_no_longer_name_is_no_longer_there() -> None:
    machine = machine_with_queued(ONE, TWO)
    machine.handle(StartedEvent(1.0, ONE.key))
    assert machine.handle(HeartbeatEvent(2.0, (), queued=0)) == []
    assert machine.handle(HeartbeatEvent(2.1, (), queued=0)) == [], "it may have left before the jobs came"
    out = machine.handle(HeartbeatEvent(2.1 + TIMES.absent_s, (), queued=0))
    assert out[:2] == [
        Lose((ONE.key,), "no longer there"),
        GiveBack((TWO.key,), "the runner accepted the job and no longer has it", refused=True),
    ]


def test_a_job_that_waits_or_runs_is_there() -> None:
    machine = machine_with_queued(ONE, TWO)
    for second in range(1, 15):
        assert machine.handle(HeartbeatEvent(float(second), ((ONE.key, 1.0, 0.0),), queued=1)) == []


def test_what_this_installation_has_forgotten_is_stopped() -> None:
    machine = machine_with_queued(ONE)
    assert machine.handle(StartedEvent(1.0, FORGOTTEN)) == [Stop(FORGOTTEN)]
    assert machine.handle(HeartbeatEvent(2.0, ((FORGOTTEN, 1.0, 0.0),), queued=1)) == [Stop(FORGOTTEN)]


@pytest.mark.parametrize("stranger", [STRANGER, Key(0, 1, "17")])
@pytest.mark.parametrize(
    "shows",
    [
        lambda key: StartedEvent(2.0, key),
        lambda key: FinishedEvent(2.0, key),
        lambda key: HeartbeatEvent(2.0, ((key, 1.0, 0.0), (ONE.key, 1.0, 0.0)), queued=1),
    ],
    ids=["begins", "ends", "runs"],
)
def test_a_runner_that_serves_another_is_let_go_when_what_it_runs_has_ended(
    stranger: Key, shows: Callable[[Key], Event]
) -> None:
    machine = machine_with_queued(ONE, TWO)
    machine.handle(StartedEvent(1.0, ONE.key))
    assert machine.handle(shows(stranger)) == [Stop(TWO.key), GiveBack((TWO.key,), SERVES_ANOTHER)]
    assert machine.handle(WakeEvent(3.0)) == []
    assert machine.handle(TickEvent(4.0)) == []
    assert machine.handle(FinishedEvent(5.0, ONE.key)) == []
    assert machine.handle(TickEvent(6.0)) == [Quarantine(TIMES.elsewhere_s, SERVES_ANOTHER)]


def test_a_runner_that_served_another_is_given_work_when_its_first_heartbeat_shows_none() -> None:
    machine = RunnerState(256, mark=MARK, cautious=True)
    assert machine.handle(ConnectedEvent(0.0, True, ())) == []
    assert machine.handle(HeartbeatEvent(1.0, (), queued=0)) == [Claim(8)]


def test_a_refusal_is_counted_and_quarantines() -> None:
    machine = connected_machine()
    machine.handle(ClaimedEvent(0.0, (ONE,)))
    out = machine.handle(PostedEvent(0.0, (), (), (ONE.key,), "unknown_case"))
    assert out[0] == GiveBack((ONE.key,), "the runner refused the job: unknown_case", refused=True)
    assert quarantines(out) == ["the runner refuses jobs that its catalogue offers (unknown_case)"]


def test_a_queue_full_of_other_jobs_is_waited_for_and_not_for_ever() -> None:
    machine, posts = RunnerState(256), 0
    todo = machine.handle(ConnectedEvent(0.0, True, ()))
    for second in range(1, 2 * int(TIMES.start_s)):
        while any(isinstance(instruction, Claim) for instruction in todo) and not quarantines(todo):
            posts += 1
            todo = machine.handle(ClaimedEvent(float(second), (ONE,)))
            todo += machine.handle(PostedEvent(float(second), (), (ONE.key,)))
        if quarantines(todo):
            break
        todo = machine.handle(WakeEvent(float(second)))
    assert TIMES.start_s < second < TIMES.start_s + 10
    assert posts <= 2 * second / TIMES.full_pause_s + 2, "it is not asked without pause"
    assert GiveBack((ONE.key,), "the runner's queue stayed full of other jobs", refused=True) in todo
    assert quarantines(todo) == ["the runner's queue stays full of other jobs"]


def test_events_that_cannot_be_read_one_after_the_other_quarantine() -> None:
    machine = connected_machine()
    reasons: list[str] = []
    for number in range(limits.UNREADABLE_LIMIT):
        reasons += quarantines(machine.handle(UnreadableLineEvent(float(number), None, "an unknown word")))
    assert reasons == ["the runner's events cannot be read: an unknown word"]


def test_conversations_that_come_to_nothing_quarantine_and_one_that_does_not_is_forgiven() -> None:
    machine = machine_with_queued(ONE)
    for _ in range(limits.FRUITLESS_LIMIT - 1):
        assert machine.handle(DisconnectedEvent(1.0, "it closed its stream", fruitless=True)) == []
    machine.handle(StartedEvent(1.5, ONE.key))
    reasons = [
        quarantines(machine.handle(DisconnectedEvent(2.0, "it closed its stream", fruitless=True)))
        for _ in range(limits.FRUITLESS_LIMIT)
    ]
    assert reasons == [[], [], [], [], ["it closed its stream"]]


def test_a_stop_that_nobody_here_asked_for_is_a_loss() -> None:
    machine = machine_with_queued(ONE, TWO)
    machine.handle(StartedEvent(0.5, ONE.key))
    assert machine.wants(ONE.key)
    assert Lose((ONE.key,), "stopped by somebody else") in machine.handle(StoppedEvent(1.0, ONE.key))
    machine.handle(RevokedEvent(2.0, (TWO.key,)))
    assert not machine.wants(TWO.key)


def test_a_lease_that_nobody_knew_of_is_posted_and_one_that_ran_is_watched() -> None:
    machine = connected_machine()
    running = Lease(Key(3, 1, "t"), 5.0, started=True)
    assert machine.handle(StrayLeasesEvent(1.0, (ONE, running))) == [Post((ONE,))]
    assert machine.in_flight == {ONE.key, running.key}
    assert machine.handle(StrayLeasesEvent(2.0, (ONE, running))) == [], "what is known is no stray"
    machine.handle(PostedEvent(2.0, (ONE.key,)))
    machine.handle(HeartbeatEvent(3.0, (), queued=1))
    assert machine.handle(HeartbeatEvent(3.1 + TIMES.absent_s, (), queued=1)) == [
        Lose((running.key,), "no longer there")
    ]
