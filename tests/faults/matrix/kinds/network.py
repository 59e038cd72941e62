"""Faults of connections: between the coordinator and PostgreSQL, and between the coordinator and its runners."""

from __future__ import annotations

import threading
from typing import ClassVar

from tests.faults.matrix import leg
from tests.faults.matrix.fault import DATABASE_LEG, EVERY_RUNNER, SCRIPTED, Component, Fault
from tests.faults.matrix.kinds.coordinators import cancel, submit
from tests.faults.matrix.leg import Leg
from tests.faults.matrix.suite import LONG
from tests.faults.matrix.world import World

SLOW_BYTES_PER_S = 4_000


class LegFault(Fault):
    place = Component.network
    runners: ClassVar[tuple[str, ...]] = EVERY_RUNNER
    """The runners whose connection it can affect."""

    def leg(self, world: World) -> Leg:
        return world.legs[self.target] if self.target else world.database_leg

    def heal(self, world: World) -> None:
        self.leg(world).clear()


class Reset(LegFault):
    """All connections end with a reset, three times."""

    lasts_s = 1.0

    def inject(self, world: World) -> None:
        self.leg(world).reset_connections()

    def heal(self, world: World) -> None:
        self.leg(world).reset_connections()


class Silent(LegFault):
    """A firewall drops all packets. When it lets packets pass again, it has forgotten the connections."""

    lasts_s = 12.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.silent = True
        self.leg(world).forget_connections()


class SilentForLong(Silent):
    lasts_s = 42.0


class SilentAgainAndAgain(Silent):
    """The connection is silent three times for longer than the limit, while one long case runs. Its attempt continues
    each time."""

    runners = ("gamma",)  # which alone is of its target, and so has the case
    silent_s = 33.0
    heard_s = 4.0
    lasts_s = 3 * (silent_s + heard_s)

    def inject(self, world: World) -> None:
        submit(world.coordinator, functions=[LONG], runs=1, timeout_s=600.0)
        self._over = threading.Event()
        self._weather = threading.Thread(target=self._change, args=(world,))
        self._weather.start()

    def _change(self, world: World) -> None:
        while not self._over.is_set():
            super().inject(world)
            self._over.wait(self.silent_s)
            super().heal(world)
            self._over.wait(self.heard_s)

    def heal(self, world: World) -> None:
        self._over.set()
        self._weather.join()
        super().heal(world)


class DelayedAndCancelled(LegFault):
    """A campaign is cancelled while its jobs are being sent, over a slow connection."""

    runners = SCRIPTED
    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.delay_s = 0.1
        campaign = submit(world.coordinator, functions=["matrix.quick", "matrix.slow"], runs=20)
        if campaign is not None:
            cancel(world.coordinator, campaign)


class Deaf(LegFault):
    lasts_s = 12.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.deaf = True
        self.leg(world).forget_answers()


class Delayed(LegFault):
    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.delay_s = 0.5


class Throttled(LegFault):
    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.bytes_per_s = SLOW_BYTES_PER_S


class Cut(LegFault):
    lasts_s = 2.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.mangle = leg.cut_in_the_middle


class Corrupted(LegFault):
    lasts_s = 2.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.mangle = leg.corrupt


class Garbled(LegFault):
    lasts_s = 2.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.mangle = leg.garble


class Doubled(LegFault):
    """Each request arrives a second time, on another connection."""

    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.doubled = True


def to_runner(name: str, kind: type[LegFault]) -> type[Fault]:
    return type(f"Runner{kind.__name__}", (kind,), {"name": f"connection to a runner {name}", "targets": kind.runners})


def to_database(name: str, kind: type[LegFault]) -> type[Fault]:
    return type(
        f"Database{kind.__name__}", (kind,), {"name": f"connection to the database {name}", "needs": DATABASE_LEG}
    )


KINDS: tuple[type[Fault], ...] = (
    to_runner("reset", Reset),
    to_runner("drops all data", Silent),
    to_runner("drops all data for 42 s", SilentForLong),
    to_runner(f"drops all data for {SilentAgainAndAgain.silent_s:g} s, three times", SilentAgainAndAgain),
    to_runner("drops answers", Deaf),
    to_runner("delayed", Delayed),
    to_runner("delayed while a campaign is cancelled", DelayedAndCancelled),
    to_runner("throttled", Throttled),
    to_runner("closed in the middle of a message", Cut),
    to_runner("corrupts one byte", Corrupted),
    to_runner("sends every request twice", Doubled),
    to_database("reset", Reset),
    to_database("drops all data", Silent),
    to_database("drops all data for 42 s", SilentForLong),
    to_database("drops answers", Deaf),
    to_database("delayed", Delayed),
    to_database("throttled", Throttled),
    to_database("closed in the middle of a message", Cut),
    to_database("answers with garbage", Garbled),
)
