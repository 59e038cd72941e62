"""What the dispatch machine promises, for every order of events."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator.dispatch import machine as m
from coordinator.dispatch.machine import Key, Lease, RunnerMachine


class Fleet(RuleBasedStateMachine):
    """A model of the database and the runner around one machine.

    ``held`` is what the database says the runner holds; a job leaves it in exactly one way.
    """

    @initialize(limit=st.integers(1, 100))
    def begin(self, limit: int) -> None:
        self.limit = limit
        self.machine = RunnerMachine(limit)
        self.now = 0.0
        self.next_job = 1
        self.queued = 200
        self.held: dict[Key, Lease] = {}
        self.runner: dict[Key, bool] = {}
        self.claims = 0
        self.quarantined = False
        self.feed(m.Connected(self.now, True, ()))

    def feed(self, event: m.Event) -> None:
        for instruction in self.machine.handle(event):
            self.obey(instruction)

    def obey(self, instruction: m.Instruction) -> None:
        match instruction:
            case m.Claim(limit):
                assert 0 < limit <= m.MAX_AHEAD
                assert not self.claims, "a second claim before the first was answered"
                self.claims = limit
            case m.Post(leases):
                for lease in leases:
                    assert lease.key in self.held
            case m.Stop(key):
                assert key in self.held
            case m.GiveBack(keys, _):
                for key in keys:
                    assert key in self.held, "given back twice, or after it had ended"
                    assert not self.held[key].started, "a started attempt went back uncounted"
                    del self.held[key]
                    self.queued += 1
            case m.Lose(keys, _):
                for key in keys:
                    del self.held[key]
                    self.queued += 1
            case m.TimeOut(key, elapsed):
                assert elapsed > self.held[key].timeout_s
                del self.held[key]
            case m.Quarantine(seconds, _):
                assert m.FIRST_QUARANTINE_S <= seconds <= m.LONGEST_QUARANTINE_S
                self.quarantined = True
                self.runner.clear()

    @precondition(lambda self: self.claims)
    @rule(count=st.integers(0, 64), timeout=st.sampled_from([1.0, 60.0, 900.0]))
    def claimed(self, count: int, timeout: float) -> None:
        wanted, self.claims = min(count, self.claims, self.queued), 0
        leases = []
        for _ in range(wanted):
            lease = Lease(Key(self.next_job, 1), timeout)
            self.next_job += 1
            self.queued -= 1
            self.held[lease.key] = lease
            leases.append(lease)
        self.feed(m.Claimed(self.now, tuple(leases)))

    @precondition(lambda self: self.machine.in_flight)
    @rule(data=st.data())
    def posted(self, data: st.DataObject) -> None:
        waiting = sorted(key for key in self.machine.in_flight if key not in self.runner)
        fate = [data.draw(st.sampled_from(["queued", "queued", "full", "refused"])) for _ in waiting]
        accepted = tuple(key for key, each in zip(waiting, fate, strict=True) if each == "queued")
        self.runner.update(dict.fromkeys(accepted, False))
        self.feed(
            m.Posted(
                self.now,
                accepted,
                tuple(key for key, each in zip(waiting, fate, strict=True) if each == "full"),
                tuple(key for key, each in zip(waiting, fate, strict=True) if each == "refused"),
            )
        )

    @precondition(lambda self: any(not started for started in self.runner.values()) and self.machine.online)
    @rule(data=st.data())
    def starts(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(key for key, started in self.runner.items() if not started)))
        self.runner[key] = True
        if key in self.held:
            self.held[key] = Lease(key, self.held[key].timeout_s, started=True)
        self.feed(m.StartSeen(self.now, key))

    @precondition(lambda self: self.runner and self.machine.online)
    @rule(data=st.data())
    def finishes(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.runner)))
        del self.runner[key]
        self.feed(m.FinishSeen(self.now, key))
        self.held.pop(key, None)

    @precondition(lambda self: self.machine.online)
    @rule()
    def beats(self) -> None:
        running = tuple((key, 0.5) for key, started in self.runner.items() if started)
        self.feed(m.Beat(self.now, running))

    @rule(seconds=st.sampled_from([0.1, 1.0, 12.0, 31.0, 2000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.feed(m.Tick(self.now))

    @rule()
    def breaks(self) -> None:
        self.feed(m.Disconnected(self.now, "broken"))

    @rule(same_boot=st.booleans())
    def connects(self, same_boot: bool) -> None:
        if not same_boot:
            self.runner.clear()
        self.claims = 0
        self.quarantined = False
        leases = tuple(self.held[key] for key in sorted(self.held))
        self.feed(m.Connected(self.now, same_boot, leases))

    @rule()
    def wakes(self) -> None:
        self.feed(m.Woken(self.now))

    @rule()
    def cancels(self) -> None:
        self.feed(m.Cancelled(self.now, tuple(self.held)[:3]))

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if hasattr(self, "machine"):
            assert self.machine.in_flight == frozenset(self.held)

    @invariant()
    def not_too_many_ahead(self) -> None:
        if hasattr(self, "machine"):
            assert len(self.machine.in_flight) <= max(m.MAX_AHEAD, self.limit)


Fleet.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestMachine = Fleet.TestCase


def connected(*leases: Lease, ahead: int = 8) -> RunnerMachine:
    machine = RunnerMachine(256, ahead=ahead)
    machine.handle(m.Connected(0.0, True, leases))
    return machine


def test_a_connected_runner_is_given_work_at_once() -> None:
    assert RunnerMachine(256).handle(m.Connected(0.0, True, ())) == [m.Claim(8)]


def test_no_more_than_its_queue_holds_is_claimed() -> None:
    assert RunnerMachine(3).handle(m.Connected(0.0, True, ())) == [m.Claim(3)]


def test_a_runner_that_drains_quickly_is_given_twice_as_much() -> None:
    machine = connected()
    leases = tuple(Lease(Key(job, 1), 900.0) for job in range(1, 9))
    machine.handle(m.Claimed(0.1, leases))
    claims = [each for job in range(1, 9) for each in machine.handle(m.FinishSeen(0.2, Key(job, 1)))]
    assert claims == [m.Claim(16 - 4)]


def test_an_empty_queue_is_not_asked_again_until_something_wakes_it() -> None:
    machine = connected()
    assert machine.handle(m.Claimed(0.1, ())) == []
    assert machine.handle(m.Tick(5.0)) == []
    assert machine.handle(m.Woken(6.0)) == [m.Claim(8)]


def test_after_a_break_what_may_not_have_arrived_is_posted_again() -> None:
    waiting, running = Lease(Key(1, 1), 900.0), Lease(Key(2, 1), 900.0, started=True)
    assert RunnerMachine(2).handle(m.Connected(0.0, True, (waiting, running))) == [m.Post((waiting,))]


def test_a_restart_loses_what_ran_and_gives_the_rest_back() -> None:
    waiting, running = Lease(Key(2, 1), 900.0), Lease(Key(1, 1), 900.0, started=True)
    out = RunnerMachine(256).handle(m.Connected(0.0, False, (running, waiting)))
    assert out[:2] == [m.Lose((running.key,), "restarted"), m.GiveBack((waiting.key,), "the runner restarted")]


def test_a_job_that_kills_its_runner_before_it_is_seen_to_start_is_counted() -> None:
    head, tail = Lease(Key(1, 1), 900.0), Lease(Key(2, 1), 900.0)
    out = RunnerMachine(256).handle(m.Connected(0.0, False, (head, tail)))
    assert out[0] == m.Lose((head.key,), "restarted")


def test_a_runner_that_restarts_again_and_again_is_quarantined_longer_each_time() -> None:
    machine = RunnerMachine(256)
    running = Lease(Key(1, 1), 900.0, started=True)
    seconds = []
    for boot in range(4):
        out = machine.handle(m.Connected(float(boot), False, (running,)))
        seconds += [each.seconds for each in out if isinstance(each, m.Quarantine)]
    assert seconds == [10.0, 20.0, 40.0]


def test_a_job_past_its_deadline_is_stopped_and_then_timed_out() -> None:
    machine = connected(Lease(Key(1, 1), 5.0, started=True))
    assert m.Stop(Key(1, 1)) in machine.handle(m.Tick(5.0 + m.GRACE_S + 0.1))
    machine.handle(m.Beat(16.0, ()))
    out = machine.handle(m.Tick(5.0 + 2 * m.GRACE_S + 0.3))
    assert isinstance(out[0], m.TimeOut)
    assert isinstance(out[-1], m.Quarantine)


def test_waiting_for_the_timing_lock_is_not_charged() -> None:
    machine = connected(Lease(Key(1, 1), 5.0, started=True))
    machine.handle(m.Beat(14.0, ((Key(1, 1), 1.0),)))
    assert machine.handle(m.Tick(16.0)) == []


def test_a_silent_runner_loses_its_attempts_and_is_quarantined() -> None:
    machine = connected(Lease(Key(1, 1), 900.0, started=True), Lease(Key(2, 1), 900.0))
    out = machine.handle(m.Tick(m.SILENCE_S + 1))
    assert out == [
        m.Lose((Key(1, 1),), "silent"),
        m.GiveBack((Key(2, 1),), "the runner fell silent"),
        m.Quarantine(10.0, "it was silent for 30 s"),
    ]


def test_quarantine_doubles_up_to_an_hour() -> None:
    assert [m.quarantine_s(times) for times in (1, 2, 3, 20)] == [10.0, 20.0, 40.0, 3600.0]
