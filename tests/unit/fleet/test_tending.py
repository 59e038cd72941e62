"""What is decided about a fleet, whatever happens to it: no engine, no clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.fleet import tending
from coordinator.fleet.containers import Health, Limits, Observed, State, Wanted
from coordinator.fleet.tending import Action, Create, Memory, Register, Remove, Restart, Start, decide

LIMITS = Limits(memory=1 << 30, cpus=1.0, pids=100, scratch=1 << 20)


def wanted(target: str = "torch/cpu", image: str = "one") -> Wanted:
    framework, _, device = target.partition("/")
    return Wanted(target, image, image, image, framework, device, LIMITS)


def container(state: State = State.running, health: Health = Health.healthy, generation: int = 1) -> Observed:
    name = f"c{generation}"
    return Observed(name, name, "torch/cpu", generation, 8800 + generation, state, health, wanted())


def decided(*observed: Observed, memory: Memory | None = None, registered: set[str] | None = None) -> list[Action]:
    on_chart = {each.url for each in observed} if registered is None else registered
    return decide(observed, {"torch/cpu": wanted()}, {"torch/cpu": memory or Memory()}, frozenset(on_chart), 1000.0)


def test_nothing_is_done_about_a_healthy_container_on_the_chart() -> None:
    assert decided(container()) == []


def test_each_trouble_has_its_remedy() -> None:
    unhealthy, ended = container(health=Health.unhealthy), container(State.exited, Health.none)
    assert decided() == [Create("torch/cpu", 1)]
    assert decided(unhealthy) == [Restart(unhealthy)]
    assert decided(ended) == [Start(ended)]
    assert decided(container(State.dead)) == [Create("torch/cpu", 2)]
    assert decided(container(), registered=set()) == [Register(container())]


def test_what_starts_or_is_paused_or_goes_by_itself_is_left_alone() -> None:
    for state in (State.restarting, State.paused, State.removing):
        assert decided(container(state, Health.none)) == []
    assert decided(container(health=Health.starting)) == []


def test_one_that_was_made_from_something_else_is_removed_first() -> None:
    older = replace(container(), wanted=wanted(image="older"))
    unreadable = replace(container(), wanted=None)
    assert decided(older) == [Remove(older)]
    assert decided(unreadable) == [Remove(unreadable)]


def test_one_that_cannot_be_killed_is_replaced_and_its_registration_moves() -> None:
    stuck, new = container(health=Health.unhealthy), container(generation=2)
    memory = tending.could_not_end(Memory(failures=3, tried_at=999.0), stuck, 999.0)
    assert decided(stuck, memory=memory) == [Create("torch/cpu", 2)]
    assert decided(stuck, new, memory=memory, registered={stuck.url}) == [Register(new, (stuck.url,))]
    assert decided(stuck, new, memory=memory, registered={new.url}) == []


def test_one_that_cannot_be_killed_does_not_keep_another_from_being_removed() -> None:
    stuck, dead, new = container(), container(State.dead, generation=2), container(generation=3)
    memory = Memory(unkillable={stuck.id: 1000.0 - tending.TRIED_AGAIN_AFTER_S - 1})
    assert decided(stuck, dead, new, memory=memory, registered={new.url}) == [Remove(dead)]


def test_one_that_lost_its_port_is_replaced_at_another_and_removed_after_that() -> None:
    ended, new = container(State.exited, Health.none), container(generation=2)
    memory = tending.lost_its_port(Memory(), ended)
    assert decided(ended, memory=memory) == [Create("torch/cpu", 2)]
    assert decided(ended, new, memory=memory, registered={ended.url}) == [Register(new, (ended.url,))]
    assert decided(ended, new, memory=memory, registered={new.url}) == [Remove(ended)]


def test_while_nobody_knows_the_chart_nothing_is_registered_and_nothing_superseded_forgotten() -> None:
    both = [container(health=Health.unhealthy), container(generation=2)]
    for memory in (Memory(), Memory(owed=True)):
        assert decide(both, {"torch/cpu": wanted()}, {"torch/cpu": memory}, None, 1000.0) == []
    unhealthy = container(health=Health.unhealthy)
    assert decide([unhealthy], {"torch/cpu": wanted()}, {}, None, 1000.0) == [Restart(unhealthy)]


def test_one_whose_removal_does_not_end_is_replaced() -> None:
    removing = container(State.removing, Health.none)
    begun = Memory(removing_since={removing.id: 1000.0 - tending.REMOVING_LIMIT_S - 1})
    assert decided(removing, memory=begun) == [Create("torch/cpu", 2)]


def test_one_that_could_not_be_killed_is_tried_again_later() -> None:
    stuck, new = container(health=Health.unhealthy), container(generation=2)
    memory = Memory(unkillable={stuck.id: 1000.0 - tending.TRIED_AGAIN_AFTER_S - 1})
    assert decided(stuck, new, memory=memory, registered={new.url}) == [Remove(stuck)]


@given(failures=st.integers(min_value=0, max_value=10_000))
def test_each_failure_makes_the_next_try_no_sooner_and_none_is_the_last(failures: int) -> None:
    assert tending.backoff_s(failures) <= tending.backoff_s(failures + 1) <= tending.LONGEST_BACKOFF_S


def test_one_that_keeps_failing_is_left_in_peace_for_a_while() -> None:
    unhealthy = container(health=Health.unhealthy)
    assert decided(unhealthy, memory=Memory(failures=5, tried_at=990.0)) == []
    assert decided(unhealthy, memory=Memory(failures=5, tried_at=900.0)) == [Restart(unhealthy)]


def test_a_long_time_of_health_is_forgiveness() -> None:
    failing = Memory(failures=5, healthy_since=0.0)
    assert tending.noted(failing, [container()], tending.FORGIVEN_AFTER_S + 1).failures == 0
    assert tending.noted(failing, [container()], 10.0).failures == 5


@dataclass
class World:
    """An engine and a chart, as bad as the test makes them."""

    containers: dict[str, Observed] = field(default_factory=dict)
    chart: set[str] = field(default_factory=set)
    unkillable: set[str] = field(default_factory=set)
    memory: dict[str, Memory] = field(default_factory=dict)
    made: int = 0
    now: float = 0.0

    def turn(self, wanted: dict[str, Wanted], fails: bool, away: bool = False) -> list[Action]:
        observed = list(self.containers.values())
        for target in wanted:
            own = [each for each in observed if each.target == target]
            self.memory[target] = tending.noted(self.memory.get(target, Memory()), own, self.now)
        actions = decide(observed, wanted, self.memory, None if away else frozenset(self.chart), self.now)
        for action in actions:
            self.carry_out(action, wanted, fails)
        return actions

    def carry_out(self, action: Action, wanted: dict[str, Wanted], fails: bool) -> None:
        target = tending.target_of(action)
        memory = self.memory[target]
        if isinstance(action, Restart | Remove) and action.container.id in self.unkillable:
            self.memory[target] = tending.could_not_end(memory, action.container, self.now)
        elif fails and isinstance(action, Start):
            self.memory[target] = tending.lost_its_port(memory, action.container)
        elif fails:
            self.memory[target] = tending.failed(memory, self.now)
        else:
            self.change(action, wanted)
            self.memory[target] = tending.tried(memory, action, self.now)

    def change(self, action: Action, wanted: dict[str, Wanted]) -> None:
        match action:
            case Create(target, generation):
                names = {(each.target, each.generation) for each in self.containers.values()}
                assert (target, generation) not in names, "the engine has that name already"
                self.made += 1
                new = Observed(
                    f"c{self.made}", "", target, generation, 8800 + self.made, State.running, Health.starting
                )
                self.containers[new.id] = replace(new, wanted=wanted[target])
            case Start(it) | Restart(it):
                self.containers[it.id] = replace(it, state=State.running, health=Health.starting)
            case Remove(it):
                del self.containers[it.id]
            case Register(it, instead_of):
                self.chart = (self.chart | {it.url}) - set(instead_of)


TROUBLES = st.sampled_from(
    [
        ("unhealthy", State.running, Health.unhealthy),
        ("ended", State.exited, Health.none),
        ("dead", State.dead, Health.none),
        ("removing", State.removing, Health.none),
        ("gone", None, None),
        ("unkillable", State.running, Health.unhealthy),
        ("off the chart", State.running, Health.healthy),
    ]
)


@settings(deadline=None)
@given(
    turns=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, 3), TROUBLES), max_size=2),
            st.booleans(),
            st.booleans(),
            st.booleans(),
            st.floats(0.0, 100.0),
        ),
        max_size=25,
    )
)
def test_whatever_happens_each_target_ends_with_one_healthy_runner_on_the_chart(
    turns: list[tuple[list[tuple[int, tuple[str, State | None, Health | None]]], bool, bool, bool, float]],
) -> None:
    world = World()
    aims = {each: wanted(each) for each in ("torch/cpu", "jax/cpu")}
    for troubles, fails, away, changed, waited in turns:
        if changed:
            aims = {target: wanted(target, f"image {world.now}") for target in aims}
        for index, (trouble, state, health) in troubles:
            disturb(world, index, trouble, state, health)
        actions = world.turn(aims, fails, away)
        targets = [tending.target_of(each) for each in actions]
        assert len(targets) == len(set(targets)), "one action for a target and turn"
        world.now += waited

    for _ in range(30):
        for each in list(world.containers.values()):
            if each.health is Health.starting:
                world.containers[each.id] = replace(each, health=Health.healthy)
        world.turn(aims, fails=False)
        world.now += tending.LONGEST_BACKOFF_S + 1

    standing = {}
    for target, its in aims.items():
        own = sorted((each for each in world.containers.values() if each.target == target), key=lambda e: e.generation)
        *superseded, last = own
        assert last.ready
        assert last.wanted == its
        assert all(each.id in world.unkillable or each.state is State.removing for each in superseded)
        standing[target] = last.url
    on_chart = {each.url for each in world.containers.values()} & world.chart
    assert on_chart == set(standing.values())
    idle = world.turn(aims, fails=False)
    assert all(isinstance(each, Remove) and each.container.id in world.unkillable for each in idle)


def disturb(world: World, index: int, trouble: str, state: State | None, health: Health | None) -> None:
    ids = sorted(world.containers)
    if not ids:
        return
    it = world.containers[ids[index % len(ids)]]
    if state is None or health is None:
        del world.containers[it.id]
        return
    if trouble == "off the chart":
        world.chart.discard(it.url)
        return
    if trouble in ("unkillable", "removing"):
        world.unkillable.add(it.id)
    world.containers[it.id] = replace(it, state=state, health=health)
