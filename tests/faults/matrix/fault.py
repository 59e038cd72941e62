"""A fault: something that goes wrong in the world for a while, and is mended again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tests.faults.matrix.world import World


class Place(StrEnum):
    """Where it goes wrong."""

    coordinator = "coordinator"
    postgresql = "PostgreSQL"
    runner = "runner"
    network = "network"
    clock = "clock"
    disk = "disk"


class Fault(ABC):
    """One kind a class. ``target`` is the runner that it befalls, for the kinds that befall one."""

    place: ClassVar[Place]
    name: ClassVar[str]
    """What goes wrong, as the report says it; the same for no two kinds."""
    lasts_s: ClassVar[float] = 4.0
    targets: ClassVar[tuple[str, ...]] = ("",)
    """Which runners it can befall."""
    step_s: ClassVar[float] = 0.0
    """By how much the clock of the database steps while it lasts."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """What no other fault may touch meanwhile, besides its target."""

    def __init__(self, target: str = "") -> None:
        self.target = target

    @property
    def holds(self) -> frozenset[str]:
        """Two faults at once hold nothing in common: each can be made and mended while the other lasts."""
        return self.needs | {self.target} - {""}

    @classmethod
    def possible(cls, world: World) -> bool:
        """Whether this machine lets it be made."""
        return True

    @abstractmethod
    def inject(self, world: World) -> None:
        """Make it."""

    def heal(self, world: World) -> None:
        """Mend what does not mend itself. Called once, however ``inject`` ended."""
        return


COORDINATOR = frozenset({"coordinator"})
POSTGRESQL = frozenset({"postgresql"})
DATABASE_LEG = frozenset({"database leg"})
SCRIPTED = ("alpha", "beta", "gamma")
REAL = "delta"
EVERY_RUNNER = (*SCRIPTED, REAL)
