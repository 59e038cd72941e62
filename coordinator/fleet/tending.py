"""What to do next about a fleet: from what is wanted and what is there to a few actions, purely.

::

    observe ──▶ decide(observed, wanted, memory, now) ──▶ actions ──▶ carried out ──▶ memory ──▶ observe …

One action per target and round. The one that carries them out says in ``Memory`` how they went;
it is lost with the process, which costs no more than the counting of failures beginning anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from coordinator.fleet.containers import Health, Observed, State, Wanted

REMOVING_LIMIT_S = 60.0
"""A removal that takes longer will not end: the kernel holds a process of it."""
FIRST_BACKOFF_S = 5.0
LONGEST_BACKOFF_S = 600.0
TRIED_AGAIN_AFTER_S = 600.0
"""A container that would not end may have been held by a busy host only."""
FORGIVEN_AFTER_S = 600.0
"""A container that has been healthy for this long may fail as if for the first time."""


@dataclass(frozen=True)
class Create:
    """Make and start a container of this generation."""

    target: str
    generation: int


@dataclass(frozen=True)
class Start:
    container: Observed


@dataclass(frozen=True)
class Restart:
    container: Observed


@dataclass(frozen=True)
class Remove:
    container: Observed


@dataclass(frozen=True)
class Register:
    """Put it on the chart, and take off it what this one stands for now."""

    container: Observed
    instead_of: tuple[str, ...] = ()
    """URLs of older generations."""


Action = Create | Start | Restart | Remove | Register


@dataclass(frozen=True)
class Memory:
    """What has been tried for one target, and how it went."""

    failures: int = 0
    """In a row."""
    tried_at: float | None = None
    unkillable: Mapping[str, float] = field(default_factory=dict)
    """Ids of containers that did not end when they were told to, with the time of the latest try."""
    portless: frozenset[str] = frozenset()
    """Ids of containers that cannot start because another program listens on their port now."""
    removing_since: Mapping[str, float] = field(default_factory=dict)
    healthy_since: float | None = None
    owed: bool = False
    """A registration, whatever the chart has: the container is new."""
    port: int | None = None
    """Where its container listened last: its URL is the runner's name on the chart, so it is kept."""


def target_of(action: Action) -> str:
    return action.target if isinstance(action, Create) else action.container.target


def backoff_s(failures: int) -> float:
    """How long to wait after so many failures in a row before the next try."""
    if failures == 0:
        return 0.0
    return min(FIRST_BACKOFF_S * 2.0 ** min(failures - 1, 20), LONGEST_BACKOFF_S)


def decide(
    observed: Sequence[Observed],
    wanted: Mapping[str, Wanted],
    memory: Mapping[str, Memory],
    registered: frozenset[str] | None,
    now: float,
) -> list[Action]:
    """At most one action for each wanted target. ``registered``: the URLs on the chart; None if nobody answers that."""
    actions = []
    for target, its in wanted.items():
        containers = sorted((each for each in observed if each.target == target), key=lambda each: each.generation)
        action = _for_target(containers, its, memory.get(target, Memory()), registered, now)
        if action is not None:
            actions.append(action)
    return actions


def _for_target(
    containers: list[Observed], wanted: Wanted, memory: Memory, registered: frozenset[str] | None, now: float
) -> Action | None:
    last = containers[-1] if containers else None
    may_try = memory.tried_at is None or now >= memory.tried_at + backoff_s(memory.failures)
    if last is None:
        return Create(wanted.target, 1) if may_try else None
    if not _can_go_on(last, memory, now):
        return Create(wanted.target, last.generation + 1) if may_try else None
    if last.state is State.removing:
        return None  # somebody is at it; when it is gone there is something to do
    if last.ready and last.wanted == wanted:
        return _charted(last, containers[:-1], memory, registered, now) if may_try else None
    return _mended(last, wanted) if may_try else None


def _charted(
    last: Observed, superseded: list[Observed], memory: Memory, registered: frozenset[str] | None, now: float
) -> Action | None:
    """On the chart in place of those before it, then rid of them: while they are there their URLs are known."""
    if registered is None:
        return None
    older = tuple(each.url for each in superseded)
    if memory.owed or last.url not in registered or not registered.isdisjoint(older):
        return Register(last, older)
    return _tidied(superseded, memory, now)


def _mended(last: Observed, wanted: Wanted) -> Action | None:
    """What helps the container that stands for a target, if it needs help."""
    if last.wanted != wanted:
        return Remove(last)
    if last.state in (State.created, State.exited):
        return Start(last)
    if last.state is State.running and last.health is Health.unhealthy:
        return Restart(last)
    return None  # it is starting, the engine is at it, or a person has paused it


def _tidied(superseded: list[Observed], memory: Memory, now: float) -> Action | None:
    """An older generation goes once it can; one that cannot be ended is tried again now and then."""
    never = float("-inf")
    # Those never tried come first, so that one that cannot be ended does not keep the others there.
    for each in sorted(superseded, key=lambda each: memory.unkillable.get(each.id, never)):
        worth_it = now - memory.unkillable.get(each.id, never) > TRIED_AGAIN_AFTER_S
        if each.state is not State.removing and worth_it:
            return Remove(each)
    return None


def _can_go_on(container: Observed, memory: Memory, now: float) -> bool:
    """Whether anything can be made of it; else another is made in its place, and it is removed once that is charted."""
    since = memory.removing_since.get(container.id)
    removal_hangs = since is not None and now - since > REMOVING_LIMIT_S
    portless = container.id in memory.portless and container.state is not State.running
    return not (container.state is State.dead or container.id in memory.unkillable or portless or removal_hangs)


def noted(memory: Memory, containers: Sequence[Observed], now: float) -> Memory:
    """The memory of a target after a look at its containers."""
    since = {each.id: memory.removing_since.get(each.id, now) for each in containers if each.state is State.removing}
    last = max(containers, key=lambda each: each.generation, default=None)
    began = now if memory.healthy_since is None else memory.healthy_since
    healthy_since = began if last is not None and last.ready else None
    steady = healthy_since is not None and now - healthy_since > FORGIVEN_AFTER_S
    return replace(
        memory,
        failures=0 if steady else memory.failures,
        removing_since=since,
        unkillable={each.id: memory.unkillable[each.id] for each in containers if each.id in memory.unkillable},
        portless=memory.portless & {each.id for each in containers},
        healthy_since=healthy_since,
        port=last.port if last is not None else memory.port,
    )


def tried(memory: Memory, action: Action, now: float) -> Memory:
    """After an action that went well. A start that helps for a moment only counts as a failure until it lasts."""
    mending = isinstance(action, Restart | Start)
    owed = isinstance(action, Create) or (memory.owed and not isinstance(action, Register))
    return replace(memory, tried_at=now, failures=memory.failures + mending, owed=owed)


def failed(memory: Memory, now: float) -> Memory:
    """After an action that could not be carried out."""
    return replace(memory, tried_at=now, failures=memory.failures + 1)


def could_not_end(memory: Memory, container: Observed, now: float) -> Memory:
    """After a container would not be stopped: it is given up, and replaced whatever happened before."""
    unkillable = {**memory.unkillable, container.id: now}
    return replace(memory, tried_at=None, failures=memory.failures + 1, unkillable=unkillable)


def lost_its_port(memory: Memory, container: Observed) -> Memory:
    """After a container could not start because of its port."""
    return replace(memory, tried_at=None, portless=memory.portless | {container.id})
