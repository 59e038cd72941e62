"""What a slot promises for every order of events, and the decisions that it takes."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocol.enums import Ending, Repetition, TimingPolicy, Verdict
from protocol.outcomes import Evidence, Outcome
from runners.isolation.channel import CHANNEL_LOST, NOT_JSON
from runners.isolation.child_state import FUNCTIONS_PER_CHILD
from runners.isolation.slot_events import (
    LogFullEvent,
    LogRoomEvent,
    MemoryEvent,
    NotRenewedEvent,
)
from runners.isolation.slot_instructions import Break, End, Fork, LookForProcesses, Prime, Renew
from runners.isolation.slot_state import EXIT_GRACE_S, EXPLAIN_LIMIT_S, PRIME_LIMIT_S, SHARED_LIMIT_S
from tests.unit.runners.isolation.slot_world import PASSED, RAISED, World, make_task

TIMINGS = [TimingPolicy.off, TimingPolicy.off, TimingPolicy.off, TimingPolicy.steady, TimingPolicy.paper]
KILLED, SEGFAULT = 9, 11


class Slots(RuleBasedStateMachine):
    """Whatever happens in whatever order: each task starts and finishes once, and the world's own checks hold."""

    @initialize(slots=st.integers(1, 3), overlap=st.booleans())
    def open(self, slots: int, overlap: bool) -> None:
        self.world = World(slots if overlap else 1, overlap=overlap)
        self.submitted = 0

    @rule(function=st.sampled_from("abcdefgh"), timing=st.sampled_from(TIMINGS), count=st.integers(1, 4))
    def submit(self, function: str, timing: TimingPolicy, count: int) -> None:
        tasks = [make_task(str(self.submitted + number), function, timing) for number in range(count)]
        self.submitted += count
        self.world.submit(*tasks)

    @rule(function=st.sampled_from("abcdefgh"), timing=st.sampled_from(TIMINGS))
    def submit_first_use(self, function: str, timing: TimingPolicy) -> None:
        self.world.submit(make_task(str(self.submitted), function, timing, uses_device_first=True))
        self.submitted += 1

    @rule(count=st.integers(10, 40))
    def submit_many_functions(self, count: int) -> None:
        tasks = [make_task(str(self.submitted + number), f"f{number}") for number in range(count)]
        self.submitted += count
        self.world.submit(*tasks)

    @precondition(lambda self: self.world.unanswered)
    @rule(data=st.data(), fails=st.sampled_from([False, False, False, True]))
    def answer(self, data: st.DataObject, fails: bool) -> None:
        self.world.answer(data.draw(st.sampled_from(self.world.unanswered)), fails=fails)

    @precondition(lambda self: self.world.busy)
    @rule(data=st.data(), outcome=st.sampled_from([PASSED, PASSED, RAISED]))
    def finish(self, data: st.DataObject, outcome: Outcome) -> None:
        self.world.finish(data.draw(st.sampled_from(self.world.busy)), outcome)

    @precondition(lambda self: self.world.busy)
    @rule(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.world.begin(data.draw(st.sampled_from(self.world.busy)))

    @precondition(lambda self: self.world.busy)
    @rule(data=st.data(), status=st.sampled_from([0, KILLED, SEGFAULT]), is_heard=st.booleans())
    def exit(self, data: st.DataObject, status: int, is_heard: bool) -> None:
        self.world.exit(data.draw(st.sampled_from(self.world.busy)), status, is_heard=is_heard)

    @precondition(lambda self: self.world.busy)
    @rule(data=st.data(), message=st.sampled_from([{}, {"type": "begun"}, {"type": "finished", "outcome": {}}]))
    def talk_nonsense(self, data: st.DataObject, message: dict[str, object]) -> None:
        number = data.draw(st.sampled_from(self.world.busy))
        self.world.begin(number)
        self.world.say(number, message)

    @precondition(lambda self: self.submitted)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.world.cancel(str(data.draw(st.integers(0, self.submitted - 1))))

    @rule()
    def use_up_memory(self) -> None:
        for run in list(self.world.state.cases()):
            self.world.feed(MemoryEvent(self.world.now, run.number, run.turn, "too much"))

    @rule(seconds=st.sampled_from([0.1, 2.0, 40.0, 200.0]))
    def wait(self, seconds: float) -> None:
        self.world.wait(seconds)

    @precondition(lambda self: self.world.is_zygote_alive)
    @rule()
    def kill_zygote(self) -> None:
        self.world.kill_zygote()

    @rule(is_full=st.booleans())
    def fill_log(self, is_full: bool) -> None:
        self.world.feed((LogFullEvent if is_full else LogRoomEvent)(self.world.now))

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "world"):
            state = self.world.state
            at_work = sum(slot.execution is not None for slot in state.slots)
            assert state.queued + at_work + len(self.world.outcomes) == self.submitted

    def teardown(self) -> None:
        """When all goes well from now on, every task comes to its end and only idle children are kept."""
        if not hasattr(self, "world"):
            return
        world = self.world
        world.feed(LogRoomEvent(world.now))
        world.run_all()
        for _ in range(10 * self.submitted):
            if len(world.outcomes) == self.submitted:
                break
            # What never answered, such as a child that was ended by a limit, is given up in time.
            world.wait(world.state.left_s(world.now))
            world.run_all()
        assert set(world.outcomes) == {str(number) for number in range(self.submitted)}
        assert len(world.children.keys() - world.ended) <= 2 * len(world.state.slots)


TestSlots = Slots.TestCase


def only_child(world: World) -> int:
    """The one child that has a case to run."""
    (number,) = world.busy
    return number


def begin_cases(*functions: str, timing: TimingPolicy = TimingPolicy.off, slots: int = 1) -> World:
    """A world in which one case of each function was submitted, and the first have begun."""
    world = World(slots)
    world.submit(*(make_task(str(number), function, timing) for number, function in enumerate(functions)))
    world.answer_all()
    for number in world.busy:
        world.begin(number)
    return world


def test_cases_of_one_child_follow_each_other_and_one_is_sent_ahead() -> None:
    world = begin_cases("f", "f", "f")
    assert [order.turn for order in world.orders()] == [0, 1]
    world.run_all()
    assert [order.turn for order in world.orders()] == [0, 1, 2]
    assert len(world.children) == 1


def test_a_case_past_its_deadline_is_timed_out_and_the_next_runs_in_another_child() -> None:
    world = begin_cases("f", "f")
    world.wait(99.0)
    assert not world.ended
    world.wait(1.0)
    world.run_all()
    assert (world.outcomes["0"].ending, world.outcomes["0"].duration_s) == (Ending.timed_out, 100.0)
    assert world.outcomes["0"].log_tail == "last words"
    assert (world.outcomes["1"].ending, len(world.children)) == (Ending.returned, 2)


def test_the_wait_for_the_timing_lock_is_not_charged() -> None:
    world = begin_cases("f", timing=TimingPolicy.steady)
    number = only_child(world)
    world.say(number, {"type": "waiting", "at": world.now})
    world.wait(1_000.0)
    world.say(number, {"type": "resumed", "at": world.now})
    world.wait(99.0)
    assert not world.ended
    world.wait(1.0)
    assert world.ended


def test_beside_others_a_case_gets_a_share_of_its_time_and_alone_the_rest() -> None:
    world = begin_cases("f", "g", slots=2)
    first, second = world.busy
    world.wait(25.0)
    assert world.ended == {first, second}
    world.answer_all()
    (run,) = world.state.cases()
    assert run.alone
    world.wait(74.9)
    assert only_child(world) == run.number
    world.wait(0.1)
    world.answer_all()
    (outcome,) = world.outcomes.values()
    assert (outcome.ending, outcome.duration_s) == (Ending.timed_out, 100.0)


def test_that_share_is_limited_in_seconds() -> None:
    world = World(2)
    world.submit(make_task("0", "f", timeout_s=14_400.0))
    world.answer_all()
    world.wait(SHARED_LIMIT_S)
    assert world.ended


def test_a_closed_channel_is_followed_by_the_exit_if_that_comes_soon() -> None:
    world = begin_cases("f")
    world.exit(only_child(world), SEGFAULT)
    world.run_all()
    evidence = world.outcomes["0"].evidence
    assert evidence is not None
    assert (evidence.signal, evidence.reason) == ("SIGSEGV", None)


def test_a_closed_channel_without_an_exit_is_an_end_all_the_same() -> None:
    world = begin_cases("f")
    world.lose_channel(only_child(world))
    assert not world.ended
    world.wait(EXIT_GRACE_S)
    world.answer_all()
    evidence = world.outcomes["0"].evidence
    assert world.outcomes["0"].ending is Ending.exited
    assert evidence is not None
    assert evidence.reason == "the case closed the channel to its runner"


def test_a_channel_that_cannot_be_read_is_no_fault_of_the_device() -> None:
    world = begin_cases("f")
    world.lose_channel(only_child(world), NOT_JSON)
    world.exit(only_child(world), KILLED, is_heard=False)
    world.answer_all()
    assert world.outcomes["0"].verdict is Verdict.incomplete


def test_a_child_that_could_not_report_says_so_by_its_exit_code() -> None:
    world = begin_cases("f")
    world.exit(only_child(world), CHANNEL_LOST << 8)
    world.answer_all()
    evidence = world.outcomes["0"].evidence
    assert evidence is not None
    assert (evidence.exit_code, evidence.reason) == (CHANNEL_LOST, "the case closed the channel to its runner")


@pytest.mark.parametrize(
    ("status", "kernel_killed", "ending"),
    [(KILLED, True, Ending.out_of_memory), (KILLED, False, Ending.signalled), (SEGFAULT, True, Ending.signalled)],
)
def test_only_the_kernels_kill_is_a_lack_of_memory(status: int, kernel_killed: bool, ending: Ending) -> None:
    world = begin_cases("f")
    number = only_child(world)
    world.exit(number, status)
    world.answer(End(number, 0), fails=kernel_killed)
    assert world.outcomes["0"].ending is ending


def test_a_failure_that_was_reported_stands_however_its_explanation_ends() -> None:
    world = begin_cases("f")
    number = only_child(world)
    world.say(number, {"type": "failed", "at": world.now, "outcome": RAISED.model_dump()})
    world.wait(EXPLAIN_LIMIT_S)
    assert number in world.ended
    world.answer_all()
    assert world.outcomes["0"].ending is Ending.raised


def test_each_step_of_an_explanation_has_its_own_time_and_stands_if_the_next_does_not_end() -> None:
    world = begin_cases("f")
    number = only_child(world)
    explained = RAISED.model_copy(update={"evidence": Evidence(on_host=Repetition.failed_alike)})
    for outcome in (RAISED, explained):
        world.say(number, {"type": "failed", "at": world.now, "outcome": outcome.model_dump()})
        world.wait(EXPLAIN_LIMIT_S - 1)
        assert number not in world.ended
    world.wait(1)
    assert number in world.ended
    world.answer_all()
    assert world.outcomes["0"].evidence == explained.evidence


def test_a_failure_is_taken_back_if_its_explanation_finds_another_line_to_blame() -> None:
    world = begin_cases("f")
    number = only_child(world)
    world.say(number, {"type": "failed", "at": world.now, "outcome": RAISED.model_dump()})
    world.finish(number, Outcome(verdict=Verdict.skipped, ending=Ending.not_applicable, duration_s=0.5))
    world.answer_all()
    assert world.outcomes["0"].verdict is Verdict.skipped


def test_a_failure_after_other_cases_is_confirmed_in_a_fresh_child() -> None:
    world = begin_cases("f", "f", "f")
    number = only_child(world)
    world.finish(number)
    world.answer_all()
    world.finish(number, RAISED)
    world.answer_all()
    second = only_child(world)
    assert second != number
    assert "1" not in world.outcomes
    world.finish(second, PASSED)
    world.run_all()
    evidence = world.outcomes["1"].evidence
    assert world.outcomes["1"].verdict is Verdict.passed
    assert evidence is not None
    assert evidence.after_others is Repetition.failed_otherwise


def test_a_failure_of_the_first_case_stands() -> None:
    world = begin_cases("f")
    world.finish(only_child(world), RAISED)
    world.answer_all()
    assert world.outcomes["0"].ending is Ending.raised
    assert len(world.children) == 1


def test_a_confirmation_that_time_no_longer_allows_is_not_begun() -> None:
    world = begin_cases("f", "f")
    number = only_child(world)
    world.finish(number)
    world.answer_all()
    world.begin(number)
    world.wait(60.0)
    world.finish(number, RAISED.model_copy(update={"duration_s": 60.0}))
    world.answer_all()
    assert world.outcomes["1"].duration_s == 60.0


def test_what_a_case_leaves_behind_costs_the_child() -> None:
    world = begin_cases("f", "f")
    number = only_child(world)
    world.finish(number)
    world.answer(LookForProcesses(number, 0), fails=True)
    assert number in world.ended
    assert "0" not in world.outcomes
    world.run_all()
    assert world.outcomes["1"].verdict is Verdict.passed
    assert len(world.children) == 2


def test_a_case_of_the_papers_rule_has_its_child_to_itself() -> None:
    world = begin_cases("f", "f", timing=TimingPolicy.paper)
    world.run_all()
    assert len(world.children) == 2


def test_a_running_case_that_is_cancelled_ends_with_its_child_and_the_next_runs_in_another() -> None:
    world = begin_cases("f", "f")
    world.cancel("0")
    world.run_all()
    assert [world.outcomes[id].ending for id in "01"] == [Ending.cancelled, Ending.returned]


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("timing", [TimingPolicy.off, TimingPolicy.steady])
def test_a_case_that_uses_the_device_first_has_a_process_of_its_own(slots: int, timing: TimingPolicy) -> None:
    world = World(slots)
    tasks = [make_task(f"{number}", timing=timing, uses_device_first=number == 1) for number in range(4)]
    world.submit(*tasks)
    world.run_all()
    assert all(world.outcomes[task.job.id].verdict is Verdict.passed for task in tasks)
    cases = [[order.message["case"] for order in world.orders() if order.number == child] for child in world.children]
    assert ["1"] in cases
    primings = [instruction for instruction in world.instructions if isinstance(instruction, Prime)]
    assert [priming.task for priming in primings if priming.task is not None] == [tasks[1]]


def test_a_process_that_was_primed_for_a_cancelled_case_runs_no_other_case() -> None:
    world = World()
    world.submit(make_task("0", uses_device_first=True))
    world.answer(Fork(1))
    world.cancel("0")
    world.run_all()
    world.submit(make_task("1"))
    world.run_all()
    assert [order.number for order in world.orders()] == [2]


def test_a_failure_after_a_first_use_is_explained_at_once() -> None:
    world = World()
    world.submit(make_task("0"), make_task("1", uses_device_first=True))
    world.answer_all()
    world.finish(1)
    world.answer_all()
    world.finish(2, RAISED)
    world.answer_all()
    assert world.outcomes["1"].verdict is Verdict.failed
    assert world.orders()[-1].message["explain"]
    assert len(world.orders()) == 2


def test_a_case_that_was_sent_ahead_is_cancelled_when_its_turn_comes() -> None:
    world = begin_cases("f", "f", "f")
    world.cancel("1")
    assert "1" not in world.outcomes
    world.run_all()
    assert [world.outcomes[id].ending for id in "012"] == [Ending.returned, Ending.cancelled, Ending.returned]
    assert len(world.children) == 2


def test_a_case_that_waits_is_cancelled_at_once() -> None:
    world = begin_cases("f", "g", "h")
    world.cancel("2")
    assert world.outcomes["2"].ending is Ending.cancelled


def test_one_that_waits_to_be_alone_can_be_cancelled_and_holds_up_nobody() -> None:
    world = begin_cases("f", slots=2)
    world.submit(make_task("timed", "g", TimingPolicy.steady), make_task("untimed", "h"))
    world.answer_all()
    assert len(world.busy) == 1
    world.cancel("timed")
    assert world.outcomes["timed"].ending is Ending.cancelled
    world.run_all()
    assert world.outcomes["untimed"].verdict is Verdict.passed


@pytest.mark.parametrize("uses_device_first", [False, True])
def test_a_timed_case_waits_for_the_process_of_a_cancelled_case_in_another_slot(uses_device_first: bool) -> None:
    world = World(slots=2, overlap=True)
    world.submit(make_task("0", timing=TimingPolicy.steady))
    world.answer(Fork(1))
    world.cancel("0")
    world.submit(make_task("1", uses_device_first=uses_device_first))
    world.submit(make_task("2", timing=TimingPolicy.steady))
    world.answer(End(1, -1))
    world.cancel("1")
    others_fork = next(instruction for instruction in world.unanswered if isinstance(instruction, Fork))
    while others := [instruction for instruction in world.unanswered if instruction != others_fork]:
        world.answer(others[0])
    assert not world.busy
    world.run_all()
    assert world.outcomes["2"].verdict is Verdict.passed


def test_a_device_that_is_not_primed_in_time_fails_the_harness() -> None:
    world = World()
    world.submit(make_task("0"))
    world.answer(Fork(1))
    world.wait(PRIME_LIMIT_S)
    world.answer(End(1, -1))
    evidence = world.outcomes["0"].evidence
    assert evidence is not None
    assert (evidence.reason, evidence.stage) == ("the device was not primed within 120 s", "prime")


def test_a_child_that_dies_with_its_zygote_before_the_case_began_is_replaced_once() -> None:
    world = World()
    world.submit(make_task("0"))
    world.answer(Fork(1))
    assert Prime(1, None) in world.unanswered
    world.kill_zygote()
    world.run_all()
    assert world.outcomes["0"].verdict is Verdict.passed
    assert sum(isinstance(instruction, Renew) for instruction in world.instructions) == 1


def test_a_task_for_which_no_child_can_be_forked_twice_is_incomplete() -> None:
    world = World()
    world.submit(make_task("0"), make_task("1"))
    world.answer(Fork(1), fails=True)
    world.answer(Renew())
    world.answer(Fork(2), fails=True)
    assert world.outcomes["0"].verdict is Verdict.incomplete
    world.run_all()
    assert world.outcomes["1"].verdict is Verdict.passed


def test_without_a_new_zygote_nothing_can_be_executed() -> None:
    world = World()
    world.submit(make_task("0"))
    world.answer(Fork(1), fails=True)
    assert world.state.handle(NotRenewedEvent(world.now)) == [Break()]


def test_a_spare_is_made_before_the_childs_last_function() -> None:
    world = World()
    world.submit(*(make_task(str(number), f"f{number}") for number in range(FUNCTIONS_PER_CHILD + 1)))
    world.answer_all()
    forked_after = {}
    while world.busy:
        world.finish(world.busy[0])
        world.answer_all()
        forked_after[len(world.outcomes)] = len(world.children)
    assert len(world.children) == 2
    assert forked_after[FUNCTIONS_PER_CHILD - 1] == 2


def test_a_full_log_holds_up_the_next_task_and_not_the_present_one() -> None:
    world = begin_cases("f", "g")
    world.feed(LogFullEvent(world.now))
    world.run_all()
    assert list(world.outcomes) == ["0"]
    world.feed(LogRoomEvent(world.now))
    world.run_all()
    assert list(world.outcomes) == ["0", "1"]
