"""What befalls connections, between the coordinator and PostgreSQL and between it and its runners."""

from __future__ import annotations

from tests.faults.matrix import leg
from tests.faults.matrix.fault import DATABASE_LEG, EVERY_RUNNER, Fault, Place
from tests.faults.matrix.leg import Leg
from tests.faults.matrix.world import World

SLOW_BYTES_PER_S = 4_000


class LegFault(Fault):
    place = Place.network

    def leg(self, world: World) -> Leg:
        return world.legs[self.target] if self.target else world.database_leg

    def heal(self, world: World) -> None:
        self.leg(world).clear()


class Reset(LegFault):
    """All connections end with a reset, thrice."""

    lasts_s = 1.0

    def inject(self, world: World) -> None:
        self.leg(world).reset_connections()

    def heal(self, world: World) -> None:
        self.leg(world).reset_connections()


class Silent(LegFault):
    """A firewall drops all packets, and has forgotten the connections when it lets them pass again."""

    lasts_s = 12.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.silent = True
        self.leg(world).forget_connections()


class SilentForLong(Silent):
    lasts_s = 42.0


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
    """Each request arrives a second time, on a connection of its own."""

    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.leg(world).weather.doubled = True


def to_runner(name: str, kind: type[LegFault]) -> type[Fault]:
    return type(f"Runner{kind.__name__}", (kind,), {"name": f"way to a runner {name}", "targets": EVERY_RUNNER})


def to_database(name: str, kind: type[LegFault]) -> type[Fault]:
    return type(f"Database{kind.__name__}", (kind,), {"name": f"way to the database {name}", "needs": DATABASE_LEG})


KINDS: tuple[type[Fault], ...] = (
    to_runner("reset", Reset),
    to_runner("silent", Silent),
    to_runner("silent for 42 s", SilentForLong),
    to_runner("silent for answers", Deaf),
    to_runner("delayed", Delayed),
    to_runner("throttled", Throttled),
    to_runner("cut in mid-message", Cut),
    to_runner("corrupted", Corrupted),
    to_runner("doubled", Doubled),
    to_database("reset", Reset),
    to_database("silent", Silent),
    to_database("silent for 42 s", SilentForLong),
    to_database("silent for answers", Deaf),
    to_database("delayed", Delayed),
    to_database("throttled", Throttled),
    to_database("cut in mid-message", Cut),
    to_database("garbled", Garbled),
)
