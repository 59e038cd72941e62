"""The state machine of one slot: events in, instructions out, no I/O and no clock of its own.

A ``SlotState`` takes one task after another from the queue and brings it to its outcome. It waits for the lock, gets a
primed child, lets it run the case, and ends the child if necessary. If an outcome is suspect, the case runs again in a
fresh child. All slots share one ``SharedSlotState``. ``supervisor_state.py`` passes events to the slots and lets each
slot continue as far as it can.

Two rules hold everywhere. First, the state forgets a forked child only when it gives the instruction ``End``, so that
every child is ended. Second, a slot waits until its dying child (``_dying``) has ended, because the next child may need
a resource that the dying one holds, such as an accelerator.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import ValidationError

from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.channel import CHANNEL_LOST, UNREADABLE, Message
from runners.isolation.child_state import FUNCTIONS_PER_CHILD, ChildState
from runners.isolation.confirmation import confirm, is_crowded, is_suspect
from runners.isolation.execution import Closing, Execution, Stage, order
from runners.isolation.outcomes import cancellation, death, harness_failed, out_of_memory, timed_out, unkept, with_log
from runners.isolation.slot_events import (
    ChannelLostEvent,
    ChildEvent,
    EndedEvent,
    ExitedEvent,
    ForkedEvent,
    MemoryEvent,
    MessageEvent,
    NotForkedEvent,
    Output,
    ProcessesEvent,
)
from runners.isolation.slot_instructions import (
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
from runners.isolation.slot_lock import SlotLock
from runners.isolation.task_queue import TaskQueue

PRIME_LIMIT_S = 120.0
EXIT_GRACE_S = 1.0
"""How long a child that closed its channel may take to exit by itself, so that its exit code becomes known."""

SHARED_LIMIT_S = 30.0
"""A case that takes longer beside other cases, or after cases of other functions, is stopped and runs again alone."""
SHARED_LIMIT = 0.25
"""The same limit as a share of the case's deadline. The shorter limit applies."""

EXPLAIN_LIMIT_S = 30.0
"""The maximum time to explain a reported failure. The case's deadline applies too."""

SPARE_AHEAD = 8
"""The spare child is made this many functions before its turn. Small cases of so many functions take about as long as
making a child."""

CLOSED = "the case closed the channel to its runner"
KILLED = 9
"""The wait status of a process that was killed by SIGKILL."""


@dataclass
class SharedSlotState:
    """The state that the slots of a supervisor share."""

    threads: int | None = None
    """The number of threads of a child that runs cases beside others; None: no limit."""
    overlap: bool = False
    """Whether a process may be created and primed while another one runs a case."""
    queue: TaskQueue = field(default_factory=TaskQueue)
    lock: SlotLock = field(default_factory=SlotLock)
    slots: list[SlotState] = field(default_factory=list)
    slot_of: dict[int, SlotState] = field(default_factory=dict)
    """The slot of each child by the child's number, until the child is gone."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    has_room: bool = True
    """Whether the event log has room for another attempt."""
    zygote: Literal["alive", "dead", "renewing"] = "alive"

    @property
    def is_quiet(self) -> bool:
        return all(slot.is_quiet for slot in self.slots)

    def renew(self) -> list[SlotInstruction]:
        """Request a new zygote, unless one is already being started."""
        if self.zygote == "renewing":
            return []
        self.zygote = "renewing"
        return [Renew()]


class SlotState:
    """The state machine of one slot. ``handle`` takes an event of a child; ``step`` takes the next possible step."""

    def __init__(self, number: int, shared_state: SharedSlotState, *, takes_timed: bool) -> None:
        self.number = number
        self.takes_timed = takes_timed
        self.execution: Execution | None = None
        self.stretch: deque[Task] = deque()
        """The tasks that this slot runs next."""
        self.present: ChildState | None = None
        """The child that ran the last case, runs one now, or is being made for the next one."""
        self.spare: ChildState | None = None
        """The next child. On the host it is made and primed while the present child runs a case."""
        self._shared = shared_state
        self._left: list[ChildState] = []
        """Retired children, which are ended during the next case."""
        self._ending: set[int] = set()
        """Children that are being ended in the background."""
        self._dying: int | None = None
        """The child that must have ended before the slot does anything else."""
        self._cancelled_ahead: Task | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether no process of the slot is being forked, primed or ended. Each of these actions would disturb a timed
        case."""
        # The present child may still be forked although its case was cancelled.
        is_making = any(child is not None and child.is_being_made for child in (self.present, self.spare))
        return not (self._left or self._ending or self._dying or is_making)

    def left_s(self, now: float) -> float:
        """Seconds until ``tick`` is due."""
        children = (child for child in (self.present, self.spare) if child is not None)
        primings = [child.prime_by - now for child in children if child.prime_by is not None]
        return min([*primings, self._left_of_run(now)])

    # Events

    def handle(self, event: ChildEvent) -> list[SlotInstruction]:
        """Update the state for an event of a child, and return the instructions that follow at once."""
        match event:
            case ForkedEvent():
                return self._on_forked(event)
            case NotForkedEvent():
                return self._on_not_forked(event)
            case MessageEvent() | ChannelLostEvent() | ExitedEvent():
                return self._on_news(event)
            case MemoryEvent():
                return self._on_memory(event)
            case ProcessesEvent():
                return self._on_processes(event)
            case EndedEvent():
                return self._on_ended(event)
        raise TypeError(f"no rule handles {event!r}")

    def tick(self, now: float) -> list[SlotInstruction]:
        """Act on every limit that has expired."""
        if self.spare is not None and self.spare.is_late(now):
            self.spare.prime_by = None
        if self.present is not None and self.present.is_late(now):
            self.present.prime_by = None
            return self._end_case(_not_primed(f"the device was not primed within {PRIME_LIMIT_S:g} s"))
        run = self.execution
        if run is None or self._left_of_run(now) > 0:
            return []
        if run.closing is not None:
            return self._end_unreported(run, run.closing.elapsed_s)
        return self._end_case(self._overdue(run, now))

    def cancel(self, key: tuple[str, int], now: float) -> list[SlotInstruction] | None:
        """Stop the task. Returns None if it does not belong to this slot."""
        run = self.execution
        if run is not None and run.task.key == key:
            run.cancelled = True
            return self._end_case(cancellation(_elapsed_s(run, now))) if run.stage is Stage.running else []
        for task in self.stretch:
            if task.key == key:
                return self._cancel_waiting(task)
        return None

    def _cancel_waiting(self, task: Task) -> list[SlotInstruction]:
        if self.present is not None and self.present.ahead is task:
            # Its child may run it already, and is ended when the turn of the task comes.
            self._cancelled_ahead = task
            return []
        self.stretch.remove(task)
        return [ReportFinish(task, cancellation())]

    def _on_forked(self, event: ForkedEvent) -> list[SlotInstruction]:
        child = self._child(event.number)
        if child is None:
            return []
        child.is_forked = True
        return self._prime(child, event.now) if child is self.spare and self._shared.overlap else []

    def _on_not_forked(self, event: NotForkedEvent) -> list[SlotInstruction]:
        """After the first failure, try another child from a new zygote. After the second failure, end the task with
        ``harness_failed``.
        """
        if self.spare is not None and self.spare.number == event.number:
            # No task needs the spare yet. When a task needs a child, forking is tried again.
            self.spare = None
            return []
        self.present, run = None, self.execution
        if run is not None and run.child is not None and run.child.number == event.number:
            run.child = None
            if run.is_last_try:
                run.outcome = harness_failed(f"{event.reason}; the framework is being imported again")
                run.stage = Stage.done
            run.is_last_try = True
        return self._shared.renew()

    def _on_news(self, event: MessageEvent | ChannelLostEvent | ExitedEvent) -> list[SlotInstruction]:
        child = self._child(event.number)
        if child is None:
            return []
        if isinstance(event, ExitedEvent):
            child.is_gone, child.status = True, event.status
        elif isinstance(event, MessageEvent):
            child.begun += event.message.get("type") == "begun"
        child.inbox.append(event)
        return self._read_inbox(child, event.now)

    def _read_inbox(self, child: ChildState, now: float) -> list[SlotInstruction]:
        """Handle the messages that belong to the child's current turn. Other messages wait for their turn."""
        out: list[SlotInstruction] = []
        while child.inbox:
            run = self.execution
            has_turn = run is not None and run.child is child and child is self.present
            if child.prime_by is not None:
                out += self._on_priming(child, child.inbox.popleft())
            elif run is not None and has_turn and run.stage in (Stage.running, Stage.closing):
                out += self._on_case(run, child.inbox.popleft(), now)
            else:
                break
        return out

    def _on_priming(
        self, child: ChildState, event: MessageEvent | ChannelLostEvent | ExitedEvent
    ) -> list[SlotInstruction]:
        child.prime_by = None
        if isinstance(event, MessageEvent) and event.message.get("type") == "primed":
            child.is_primed = True
        if child.is_primed or child is self.spare:
            # If a spare could not be primed, its first case primes it again and then reports why it fails.
            return []
        if isinstance(event, MessageEvent):
            return self._end_case(_not_primed(str(event.message.get("reason"))))
        status = event.status if isinstance(event, ExitedEvent) else None
        ending = "" if status is None else f" (wait status {status})"
        return self._end_case(_not_primed(f"the process ended while its device was primed{ending}"))

    def _on_case(
        self, run: Execution, event: MessageEvent | ChannelLostEvent | ExitedEvent, now: float
    ) -> list[SlotInstruction]:
        """Handle an event of the case that runs. If the case can no longer report its end, end it."""
        match event:
            case ExitedEvent():
                elapsed_s = _elapsed_s(run, now) if run.closing is None else run.closing.elapsed_s
                return self._end_unreported(run, elapsed_s)
            case ChannelLostEvent(reason=reason):
                run.closing = Closing(reason, _elapsed_s(run, now), now + EXIT_GRACE_S)
                run.stage = Stage.closing
                return []
            case MessageEvent(message=message):
                try:
                    return self._on_message(run, message, now)
                except ValidationError as error:
                    return self._end_case(unkept(error, duration_s=_elapsed_s(run, now)))
                except (KeyError, TypeError, ValueError) as error:
                    reason = f"the case's report is invalid: {type(error).__name__}: {error}"
                    return self._end_case(harness_failed(reason, duration_s=_elapsed_s(run, now)))

    def _on_message(self, run: Execution, message: Message, now: float) -> list[SlotInstruction]:
        """Handle a message of the case. Raises ``KeyError``, ``TypeError`` or ``ValueError`` if it is invalid."""
        assert run.clock is not None
        assert run.child is not None
        match message["type"]:
            case "begun":
                run.clock.begin(_moment(message, now))
            case "waiting":
                run.clock.pause(_moment(message, now))
            case "resumed":
                run.clock.resume(_moment(message, now))
            case "failed":
                run.failure = Outcome.model_validate(message["outcome"])
                run.explained_by = now + EXPLAIN_LIMIT_S
            case "finished":
                outcome = Outcome.model_validate(message["outcome"])
                if run.is_paper:
                    return self._end_case(outcome)
                run.settle(outcome)
                run.stage = Stage.looking
                return [LookForProcesses(run.child.number, run.child.turn)]
        return []

    def _on_memory(self, event: MemoryEvent) -> list[SlotInstruction]:
        run = self.execution
        if run is None or run.stage is not Stage.running or run.child is None:
            return []
        if (run.child.number, run.child.turn) != (event.number, event.turn):
            return []
        return self._end_case(out_of_memory(event.reason, _elapsed_s(run, event.now)))

    def _on_processes(self, event: ProcessesEvent) -> list[SlotInstruction]:
        run = self.execution
        if run is None or run.child is None or run.stage is not Stage.looking or run.child.number != event.number:
            return []
        self._finish_run(run, event.output)
        return self._end_present() if event.has_processes else []

    def _on_ended(self, event: EndedEvent) -> list[SlotInstruction]:
        self._ending.discard(event.number)
        if self._dying == event.number:
            self._dying = None
        run = self.execution
        if run is None or run.child is None or run.stage is not Stage.ending or run.child.number != event.number:
            return []
        if run.child.turn < 0 and self._shared.zygote != "alive" and not run.cancelled and not run.is_last_try:
            # The child died with its zygote before the case began. So try once more with another child.
            run.child, run.outcome, run.stage, run.is_last_try = None, None, Stage.child, True
            return []
        assert run.outcome is not None
        if run.was_killed and event.kernel_killed:
            reason = "the kernel killed the process for lack of memory"
            run.settle(out_of_memory(reason, run.outcome.duration_s))
        self._finish_run(run, event.output)
        return []

    # Decisions

    def step(self, now: float) -> list[SlotInstruction] | None:
        """Take the next possible step. Returns None if no step is possible now."""
        run = self.execution
        if self._dying is not None:
            return None
        if run is None:
            return self._take_task()
        match run.stage:
            case Stage.admission:
                return self._enter(run)
            case Stage.child:
                return self._get_child(run, now)
            case Stage.done:
                return self._conclude(run, now)
        return None

    def _take_task(self) -> list[SlotInstruction] | None:
        if not self._shared.has_room:
            return None
        if not self.stretch:
            self.stretch = self._shared.queue.take(takes_timed=self.takes_timed)
        if not self.stretch:
            if self.present is not None:
                self.present.has_idled = True
            return self.end_left() or None
        task = self.stretch.popleft()
        self.execution = Execution(task, alone=not task.is_untimed, cancelled=task is self._cancelled_ahead)
        return []

    def _enter(self, run: Execution) -> list[SlotInstruction] | None:
        """Take the lock. Returns None if the slot must wait for it."""
        if run.cancelled:
            run.outcome, run.stage = cancellation(), Stage.done
            return self._end_present()
        lock = self._shared.lock
        if not (lock.hold_alone(self.number) if run.alone else lock.share(self.number)):
            return None
        run.stage = Stage.child
        return []

    def _get_child(self, run: Execution, now: float) -> list[SlotInstruction] | None:
        """Get a primed child for the task, and let it run the case."""
        child, shared_state = self.present, self._shared
        if run.cancelled:
            run.outcome, run.stage = cancellation(), Stage.done
            return self._end_present() if child is not None and child.prime_by is not None else []
        if child is not None and child.is_being_made:
            return None
        if shared_state.zygote != "alive":
            return shared_state.renew() or None
        if child is None:
            return self._take_spare(run)
        if child is not run.child:
            if not self._suits(child, run):
                waits = not (run.task.is_untimed and shared_state.overlap)
                return self._end_present() if waits else self._leave_present()
            run.child = child
        if not run.task.is_untimed and not shared_state.is_quiet:
            # While a timed case runs, no process may be forked, primed or killed.
            return [end for slot in shared_state.slots for end in slot.end_left()] or None
        if child.is_primed:
            return self._start(run, child, now)
        if run.task.uses_device_first:
            child.own_task = run.task
        return self._prime(child, now)

    def _suits(self, child: ChildState, run: Execution) -> bool:
        return child.admits(run.task) and child.is_fit(run.task) and child.on_share is self._shares_cores(run)

    def _shares_cores(self, run: Execution) -> bool:
        return self._shared.threads is not None and not run.alone

    def _take_spare(self, run: Execution) -> list[SlotInstruction] | None:
        spare = self.spare
        # The spare is primed already.
        if spare is None or spare.on_share is not self._shares_cores(run) or run.task.uses_device_first:
            self.present = run.child = self._new_child(on_share=self._shares_cores(run))
            return [Fork(self.present.number)]
        if spare.is_being_made:
            return None
        self.spare = None
        if spare.is_fit():
            self.present = run.child = spare
            return []
        self._dying = spare.number
        return [End(spare.number, spare.turn)]

    def _start(self, run: Execution, child: ChildState, now: float) -> list[SlotInstruction]:
        """Let the child run the case."""
        is_ahead = child.ahead is not None
        child.take_turn(run.task)
        run.functions, run.stage, run.closing = child.functions, Stage.running, None
        if run.suspect is None:
            run.earlier = child.turn
        out: list[SlotInstruction] = []
        if not is_ahead:
            out.append(Order(child.number, child.turn, order(run.task, child.turn, run.left_s)))
        if run.clock is None:
            out.append(ReportStart(run.task))
        limit_s = run.left_s
        if self._may_be_disturbed(run):
            limit_s = min(limit_s, SHARED_LIMIT_S, SHARED_LIMIT * limit_s)
        run.start_clock(limit_s, now)
        out += self._give_ahead(run, child)
        # A child's threads start in its first case. Other work at the same time would take a core from them.
        if child.turn > 0 or not any(map(child.admits, self._following())):
            out += self.end_left()
            if not run.alone:
                out += self._prepare_spare(run.task, child)
        return out + self._read_inbox(child, now)

    def _give_ahead(self, run: Execution, child: ChildState) -> list[SlotInstruction]:
        """Send the next case to the child before its turn, so that the child does not wait between cases.

        If the current case ends the child, the turn of the next case never comes, and its messages are dropped.
        """
        shared_state = self._shared
        if run.alone or shared_state.lock.is_asked_for or not shared_state.has_room:
            return []
        first = shared_state.queue.first
        if not self.stretch and first is not None and first.is_untimed and child.admits(first):
            self.stretch = shared_state.queue.take(takes_timed=False)
        following = next(iter(self.stretch), None)
        if following is None or not following.is_untimed or not child.admits(following):
            return []
        child.ahead, turn = following, child.turn + 1
        return [Order(child.number, turn, order(following, turn, following.job.timeout_s))]

    def _prepare_spare(self, task: Task, present: ChildState) -> list[SlotInstruction]:
        """Make the next child while this one runs a task, unless that could disturb a timed case."""
        left = FUNCTIONS_PER_CHILD - present.functions
        if self.spare is not None or left > SPARE_AHEAD:
            return []
        in_sight: Sequence[Task] = [task, *self._following()]
        further = sum(before.group != after.group for before, after in itertools.pairwise(in_sight))
        if further <= left or not all(other.is_untimed for other in in_sight):
            return []
        self.spare = self._new_child(on_share=self._shared.threads is not None)
        return [Fork(self.spare.number)]

    def _conclude(self, run: Execution, now: float) -> list[SlotInstruction]:
        """Report the outcome. If something other than the case may have caused the outcome, first confirm the outcome
        by a second run."""
        outcome = run.outcome
        assert outcome is not None
        if run.suspect is not None:
            return self._report(run, confirm(run.suspect, outcome, earlier=run.earlier))
        alone = self._has_company(run) and is_crowded(outcome)
        if alone or is_suspect(outcome, earlier=run.earlier, functions=run.functions):
            return self._confirm(run, outcome, now, alone=alone)
        return self._report(run, outcome)

    def _confirm(self, run: Execution, suspect: Outcome, now: float, *, alone: bool) -> list[SlotInstruction]:
        """Run a suspect case again in a fresh child, within the same deadline.

        A device must not be blamed for the order of cases, for leftovers of an earlier case, or for resources that
        another slot used up. If too little time is left for a second run, the first outcome counts.
        """
        run.begin_anew(suspect, now)
        if run.left_s <= suspect.duration_s:
            return self._report(run, suspect)
        run.suspect = suspect
        if alone:
            run.alone, run.stage = True, Stage.admission
        else:
            run.stage = Stage.child
        # End the child at once. It may already run the next case, which would run beside the confirmation.
        return self._end_present()

    def _report(self, run: Execution, outcome: Outcome) -> list[SlotInstruction]:
        out: list[SlotInstruction] = [ReportStart(run.task)] if run.clock is None else []
        # If a task was sent ahead, the child may already run it, so the slot keeps the lock.
        if run.alone or self.present is None or self.present.ahead is None:
            self._shared.lock.release(self.number)
        self.execution = None
        return [*out, ReportFinish(run.task, outcome)]

    def _overdue(self, run: Execution, now: float) -> Outcome:
        """Return the outcome of a case that did not end in time. The outcome is a timeout only if no other case can be
        the reason. Otherwise the case runs again alone for the rest of its time. The first run uses at most its limit
        of this time, even if the delay was noticed later."""
        assert run.clock is not None
        elapsed_s = run.clock.elapsed_s(now)
        if self._may_be_disturbed(run):
            took_s = min(elapsed_s, run.clock.timeout_s)
            return harness_failed(
                "the case did not end in time beside other cases, or after cases of other functions", duration_s=took_s
            )
        return timed_out(run.task.job.timeout_s, run.spent_s + elapsed_s)

    def _may_be_disturbed(self, run: Execution) -> bool:
        """Whether another case may be the reason that this one does not end."""
        return run.functions > 1 or self._has_company(run)

    def _has_company(self, run: Execution) -> bool:
        return len(self._shared.slots) > 1 and not run.alone

    # Children

    def _child(self, number: int) -> ChildState | None:
        return next((child for child in (self.present, self.spare) if child and child.number == number), None)

    def _new_child(self, *, on_share: bool) -> ChildState:
        child = ChildState(next(self._shared.numbers), on_share)
        self._shared.slot_of[child.number] = self
        return child

    def _prime(self, child: ChildState, now: float) -> list[SlotInstruction]:
        child.prime_by = now + PRIME_LIMIT_S
        prime = Prime(child.number, self._shared.threads if child.on_share else None, child.own_task)
        return [prime, *self._read_inbox(child, now)]

    def _end_case(self, outcome: Outcome) -> list[SlotInstruction]:
        """End the child and its case. The outcome is reported when the child is gone."""
        assert self.execution is not None
        self.execution.settle(outcome)
        self.execution.stage = Stage.ending
        return self._end_present()

    def _end_unreported(self, run: Execution, elapsed_s: float) -> list[SlotInstruction]:
        """End a case that cannot report any more, because its process has ended or its channel is closed."""
        assert run.child is not None
        run.was_killed = run.child.is_gone and run.child.status == KILLED
        return self._end_case(_outcome_without_report(run.child, run.closing, elapsed_s))

    def _finish_run(self, run: Execution, output: Output) -> None:
        assert run.outcome is not None
        run.outcome = with_log(run.outcome, *output)
        run.stage = Stage.done

    def _end_present(self) -> list[SlotInstruction]:
        """End the present child at once, with all processes that it started."""
        child = self.present
        if child is None or not child.is_forked:
            return []
        self.present, self._dying = None, child.number
        return [End(child.number, child.turn)]

    def _leave_present(self) -> list[SlotInstruction]:
        """Retire the present child. It is ended during the next case."""
        if self.present is not None:
            self._left.append(self.present)
        self.present = None
        return []

    def end_left(self) -> list[SlotInstruction]:
        """End the retired children in the background."""
        ends: list[SlotInstruction] = [End(child.number, child.turn) for child in self._left]
        self._ending.update(child.number for child in self._left)
        self._left.clear()
        return ends

    def _following(self) -> Iterable[Task]:
        return itertools.chain(self.stretch, self._shared.queue)

    def _left_of_run(self, now: float) -> float:
        run = self.execution
        if run is not None and run.stage is Stage.closing and run.closing is not None:
            return run.closing.exit_by - now
        if run is not None and run.stage is Stage.running and run.clock is not None:
            return min(run.clock.left(now), run.explained_by - now)
        return math.inf


def _elapsed_s(run: Execution, now: float) -> float:
    return 0.0 if run.clock is None else run.clock.elapsed_s(now)


def _moment(message: Message, now: float) -> float:
    """Return the time in the child's message, or ``now`` if ``now`` is earlier. A time after ``now`` would delay the
    deadline."""
    return min(float(message["at"]), now)


def _not_primed(reason: str) -> Outcome:
    return harness_failed(reason, stage="prime")


def _outcome_without_report(child: ChildState, closing: Closing | None, elapsed_s: float) -> Outcome:
    """Return the outcome of a case that has not reported, according to how its process ended."""
    status = child.status
    if child.is_gone and status is None:
        return harness_failed("the zygote ended while the case ran", duration_s=elapsed_s)
    if closing is not None and closing.reason in UNREADABLE:
        return harness_failed(f"the messages of the case cannot be read: {closing.reason}", duration_s=elapsed_s)
    if status is None:
        return death(None, elapsed_s, CLOSED)
    has_lost_channel = os.WIFEXITED(status) and os.WEXITSTATUS(status) == CHANNEL_LOST
    return death(status, elapsed_s, CLOSED if has_lost_channel else None)
