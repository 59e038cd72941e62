"""A fault: something that breaks for a while, and is repaired again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tests.faults.matrix.world import World


class Component(StrEnum):
    """The part of the system that breaks."""

    coordinator = "coordinator"
    postgresql = "PostgreSQL"
    runner = "runner"
    network = "network"
    clock = "clock"
    disk = "disk"


class Fault(ABC):
    """A fault. Each kind is a subclass. ``target`` is the affected runner, for kinds that affect one runner."""

    place: ClassVar[Component]
    name: ClassVar[str]
    """The description in the report; each kind has another."""
    lasts_s: ClassVar[float] = 4.0
    targets: ClassVar[tuple[str, ...]] = ("",)
    """The runners that this kind can affect."""
    step_s: ClassVar[float] = 0.0
    """The seconds by which the database's clock steps while the fault lasts."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """Parts, in addition to the target, that no other fault may affect at the same time."""

    def __init__(self, target: str = "") -> None:
        self.target = target

    @property
    def holds(self) -> frozenset[str]:
        """The parts that this fault affects. Two simultaneous faults have no part in common, so that each can begin and
        end while the other lasts."""
        return self.needs | {self.target} - {""}

    @classmethod
    def possible(cls, world: World) -> bool:
        """Whether this machine can make the fault."""
        return True

    @abstractmethod
    def inject(self, world: World) -> None:
        """Begin the fault."""

    def heal(self, world: World) -> None:
        """Repair everything that does not recover without help. Called once, even if ``inject`` failed."""
        return


COORDINATOR = frozenset({"coordinator"})
POSTGRESQL = frozenset({"postgresql"})
DATABASE_LEG = frozenset({"database leg"})
SCRIPTED = ("alpha", "beta", "gamma")
REAL = "delta"
EVERY_RUNNER = (*SCRIPTED, REAL)
