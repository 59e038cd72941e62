"""Disks of PostgreSQL and of a runner that are full or not writable."""

from __future__ import annotations

from tests.faults.matrix.fault import POSTGRESQL, REAL, Component, Fault
from tests.faults.matrix.world import World


class DatabaseDiskFull(Fault):
    place = Component.disk
    name = "PostgreSQL's disk full"
    needs = POSTGRESQL
    lasts_s = 6.0

    @classmethod
    def possible(cls, world: World) -> bool:
        return world.disk.mounted

    def inject(self, world: World) -> None:
        world.disk.fill()

    def heal(self, world: World) -> None:
        world.disk.make_room()
        # A full disk at a checkpoint ends the server.
        if not world.postgres.running:
            world.restart_postgres()


class ScratchFull(Fault):
    place = Component.disk
    name = "runner's scratch disk full"
    targets = (REAL,)
    lasts_s = 6.0

    @classmethod
    def possible(cls, world: World) -> bool:
        return world.scratch.mounted

    def inject(self, world: World) -> None:
        world.scratch.fill()

    def heal(self, world: World) -> None:
        world.scratch.make_room()


class ScratchReadOnly(ScratchFull):
    name = "runner's scratch disk read-only"

    def inject(self, world: World) -> None:
        world.scratch.remount("ro")

    def heal(self, world: World) -> None:
        world.scratch.remount("rw")


KINDS: tuple[type[Fault], ...] = (DatabaseDiskFull, ScratchFull, ScratchReadOnly)
