"""Wrong clocks: a runner reports a wrong elapsed time, or the host's clock steps."""

from __future__ import annotations

from tests.faults.matrix.fault import COORDINATOR, POSTGRESQL, Component, Fault
from tests.faults.matrix.kinds.runners import Switched
from tests.faults.matrix.world import World

STEP_S = 20


class RunnerClock(Switched):
    place = Component.clock
    switch = "elapsed"
    lasts_s = 8.0


class StandsStill(RunnerClock):
    """The reported time stands still, and the runner never ends the job that runs meanwhile."""

    name = "runner's clock stands still, and the runner kills no case"
    value = staticmethod(lambda elapsed_s: 0.0)
    lasts_s = 35.0

    def inject(self, world: World) -> None:
        super().inject(world)
        self.runner(world).script.kills = False

    def heal(self, world: World) -> None:
        super().heal(world)
        self.runner(world).script.kills = True


class RunsBackwards(RunnerClock):
    name = "runner's clock runs backwards"
    value = staticmethod(lambda elapsed_s: max(0.0, 1_000.0 - elapsed_s))


class RunsAhead(RunnerClock):
    name = "runner's clock runs a thousand times too fast"
    value = staticmethod(lambda elapsed_s: 1_000.0 * elapsed_s)


class Negative(RunnerClock):
    name = "runner's elapsed time negative"
    value = staticmethod(lambda elapsed_s: -elapsed_s - 1.0)


class HostClock(Fault):
    """The wall clock of coordinator and PostgreSQL steps, and later steps back."""

    place = Component.clock
    needs = COORDINATOR | POSTGRESQL
    lasts_s = 6.0

    @classmethod
    def possible(cls, world: World) -> bool:
        return world.clock is not None

    def inject(self, world: World) -> None:
        assert world.clock is not None
        world.clock.step(self.step_s)

    def heal(self, world: World) -> None:
        assert world.clock is not None
        world.clock.step(0.0)


class StepsForward(HostClock):
    name = f"host's clock {STEP_S} s ahead for a while"
    step_s = float(STEP_S)


class StepsBack(HostClock):
    name = f"host's clock {STEP_S} s behind for a while"
    step_s = -float(STEP_S)


class StepsBackMeanwhile(HostClock):
    """The clock steps back, as after a boot with a wrong clock. Leases and the ownership of runners then end in an
    hour."""

    name = "host's clock set back one hour while the coordinator is down"
    step_s = -3600.0

    def inject(self, world: World) -> None:
        world.coordinator.kill()
        super().inject(world)
        world.coordinator.start()


KINDS: tuple[type[Fault], ...] = (
    StandsStill,
    RunsBackwards,
    RunsAhead,
    Negative,
    StepsForward,
    StepsBack,
    StepsBackMeanwhile,
)
