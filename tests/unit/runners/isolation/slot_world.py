"""A world around the state of the slots: children, their processes and the event log, as a driver would show them.

It holds what the machine may rely on: orders go to primed children turn by turn, each child ends once, each task starts
once and finishes once, and nothing goes on beside a case that runs alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.enums import Ending, Placement, TimingPolicy, Verdict
from protocol.jobs import Job
from protocol.outcomes import Evidence, Outcome
from runners.isolation.attempts import Task
from runners.isolation.slot_events import (
    CancelledEvent,
    ChannelLostEvent,
    EndedEvent,
    ExitedEvent,
    ForkedEvent,
    MessageEvent,
    NotForkedEvent,
    OpenedEvent,
    ProcessesEvent,
    RenewedEvent,
    SlotEvent,
    SlotTickEvent,
    SubmittedEvent,
    ZygoteDiedEvent,
)
from runners.isolation.slot_instructions import (
    Break,
    End,
    Fork,
    LookForProcesses,
    Order,
    Prime,
    Renew,
    ReportFinish,
    ReportStart,
    SlotInstruction,
)
from runners.isolation.supervisor_state import SupervisorState

PASSED = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=0.5, placement=Placement.on_device)
RAISED = Outcome(
    verdict=Verdict.failed,
    ending=Ending.raised,
    duration_s=0.5,
    evidence=Evidence(exception="builtins.RuntimeError", message="no kernel"),
)
TIMEOUT_S = 100.0


def make_task(
    id: str,
    function: str = "f",
    timing: TimingPolicy = TimingPolicy.off,
    timeout_s: float = TIMEOUT_S,
    *,
    uses_device_first: bool = False,
) -> Task:
    job = Job(id=id, attempt=1, case=id, run=1, timeout_s=timeout_s, timing=timing)
    return Task(job, "suite", function, uses_device_first)


@dataclass
class WorldChild:
    """A forked process, as it is."""

    is_primed: bool = False
    own_case: str | None = None
    """The case that decided how the device was primed."""
    ordered: list[bool] = field(default_factory=list)
    """By turn: whether the case runs alone."""
    begun: int = 0
    finished: int = 0
    is_dead: bool = False

    @property
    def has_case(self) -> bool:
        return not self.is_dead and len(self.ordered) > self.finished


class World:
    """Takes instructions at once, and answers those that take time when it is told to."""

    def __init__(self, slots: int = 1, *, overlap: bool = True) -> None:
        self.now = 0.0
        self.state = SupervisorState()
        self.children: dict[int, WorldChild] = {}
        self.unanswered: list[SlotInstruction] = []
        self.ended: set[int] = set()
        self.instructions: list[SlotInstruction] = []
        self.started: Counter[str] = Counter()
        self.outcomes: dict[str, Outcome] = {}
        self.is_zygote_alive = True
        self.feed(OpenedEvent(self.now, slots, 1 if slots > 1 else None, overlap))

    # What the machine does

    def feed(self, event: SlotEvent) -> None:
        for instruction in self.state.handle(event):
            self.instructions.append(instruction)
            self._take(instruction)
        runs = list(self.state.cases())
        assert len(runs) == 1 or not any(run.alone for run in runs), "a case runs beside one that runs alone"

    def _take(self, instruction: SlotInstruction) -> None:
        match instruction:
            case Fork(number):
                assert number not in self.children
                self.unanswered.append(instruction)
            case Prime(number, _, task):
                child = self.children[number]
                assert not child.is_primed
                child.own_case = None if task is None else task.job.case
                assert instruction not in self.unanswered, "primed twice at once"
                self.unanswered.append(instruction)
            case Order(number, turn, message):
                own_case = self.children[number].own_case
                assert own_case in (None, message["case"]), "the process belongs to another case"
                self._take_order(self.children[number], number, turn, is_timed=message["timing"] != TimingPolicy.off)
            case LookForProcesses() | Renew():
                assert instruction not in self.unanswered
                self.unanswered.append(instruction)
            case End(number, _):
                assert number in self.children, "ended before it was forked"
                assert number not in self.ended, "ended twice"
                self.ended.add(number)
                # Whatever else it was asked for, it says nothing any more.
                self.unanswered = [
                    other for other in self.unanswered if not (isinstance(other, Prime) and other.number == number)
                ]
                self.unanswered.append(instruction)
            case ReportStart(task):
                assert task.job.id not in self.outcomes, "started after it had finished"
                self.started[task.job.id] += 1
                assert self.started[task.job.id] == 1, "started twice"
            case ReportFinish(task, outcome):
                assert task.job.id not in self.outcomes, "finished twice"
                assert self.started[task.job.id] or outcome.ending is Ending.cancelled, "finished and never started"
                self.outcomes[task.job.id] = outcome
            case Break():
                raise AssertionError("nothing can be executed any more")

    def _take_order(self, child: WorldChild, number: int, turn: int, *, is_timed: bool) -> None:
        assert number not in self.ended, "an order to a child that is being ended"
        assert child.is_primed, "an order to a child that is not primed"
        assert turn == len(child.ordered), "a turn was left out"
        assert len(child.ordered) <= child.finished + 1 or child.is_dead, "more than one case ahead"
        if is_timed:
            making = [other for other in self.unanswered if isinstance(other, (Fork, Prime, End))]
            assert not making, "a process is made or ended beside a timed case"
        child.ordered.append(is_timed)

    # What happens around it

    def submit(self, *tasks: Task) -> None:
        self.feed(SubmittedEvent(self.now, tasks))

    def cancel(self, id: str) -> None:
        self.feed(CancelledEvent(self.now, id, 1))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.feed(SlotTickEvent(self.now))

    def answer(self, instruction: SlotInstruction, *, fails: bool = False) -> None:
        """Answer an instruction; ``fails`` is the unwelcome answer."""
        self.unanswered.remove(instruction)
        match instruction:
            case Fork(number) if fails or not self.is_zygote_alive:
                self.feed(NotForkedEvent(self.now, number, "the zygote is gone"))
            case Fork(number):
                self.children[number] = WorldChild()
                self.feed(ForkedEvent(self.now, number))
            case Prime(number, _, _) if fails:
                self.say(number, {"type": "unprimed", "reason": "no device"})
            case Prime(number, _, _) if not self.children[number].is_dead:
                self.children[number].is_primed = True
                self.say(number, {"type": "primed", "ms": 1.0})
            case LookForProcesses(number, _):
                self.feed(ProcessesEvent(self.now, number, fails, (b"printed", 7)))
            case End(number, _):
                self.children[number].is_dead = True
                self.feed(EndedEvent(self.now, number, (b"last words", 10), fails))
            case Renew():
                if self.is_zygote_alive:
                    self.kill_zygote()
                self.is_zygote_alive = True
                self.feed(RenewedEvent(self.now))

    def answer_all(self) -> None:
        """Answer whatever is asked, as if nothing failed."""
        while self.unanswered:
            self.answer(self.unanswered[0])

    def kill_zygote(self) -> None:
        self.is_zygote_alive = False
        for number, child in self.children.items():
            if not child.is_dead:
                child.is_dead = True
                self.feed(ExitedEvent(self.now, number, None))
        self.feed(ZygoteDiedEvent(self.now))

    def say(self, number: int, message: dict[str, object]) -> None:
        self.feed(MessageEvent(self.now, number, message))

    @property
    def busy(self) -> list[int]:
        """The children that have a case to run."""
        return [number for number, child in self.children.items() if child.has_case]

    def begin(self, number: int) -> None:
        """The child begins its case, if it has not."""
        child = self.children[number]
        if child.begun == child.finished:
            child.begun += 1
            self.say(number, {"type": "begun", "at": self.now})

    def finish(self, number: int, outcome: Outcome = PASSED) -> None:
        """The child reports the outcome of its case."""
        self.begin(number)
        self.children[number].finished += 1
        self.say(number, {"type": "finished", "at": self.now, "outcome": outcome.model_dump()})

    def exit(self, number: int, status: int, *, is_heard: bool = True) -> None:
        """The child ends while its case runs; ``is_heard`` if the loss of its channel is noticed first."""
        self.begin(number)
        if self.children[number].is_dead:
            return
        self.children[number].is_dead = True
        if is_heard:
            self.lose_channel(number)
        self.feed(ExitedEvent(self.now, number, status))

    def lose_channel(self, number: int, reason: str = "was closed") -> None:
        self.feed(ChannelLostEvent(self.now, number, reason))

    def run_all(self) -> None:
        """Let every case that was submitted pass, and everything else succeed."""
        self.answer_all()
        while self.busy:
            self.finish(self.busy[0])
            self.answer_all()

    def orders(self) -> Sequence[Order]:
        return [instruction for instruction in self.instructions if isinstance(instruction, Order)]
