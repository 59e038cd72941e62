"""A command that is listed without importing its module. The module is imported when the command is called.

``portolan --help`` and completion need only names and one sentence each. The commands' modules import HTTP, models and
terminal libraries, and most calls need only some of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand, TyperGroup


class LazyCommand(TyperCommand):
    """Represents the function or the group of commands at ``place`` in ``coordinator.cli``, such as ``up:up``."""

    def __init__(self, name: str, place: str, help: str) -> None:
        super().__init__(name, help=help, rich_markup_mode=None)
        self._name = name
        self._place = place

    def load(self) -> Any:
        """Import the module and return its Typer command, as if it had been registered from the start."""
        module, _, attribute = self._place.partition(":")
        target = getattr(import_module(f"coordinator.cli.{module}"), attribute)
        parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        if isinstance(target, typer.Typer):
            parent.add_typer(target, name=self._name)
        else:
            parent.command(self._name)(target)
        return typer.main.get_group(parent).commands[self._name]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments as the real command does. Click runs the command of the context, so the returned context
        contains the real command."""
        return self.load().make_context(info_name, args, parent=parent, **extra)


class LazyGroup(TyperGroup):
    """A group of lazy commands, in the order of the subclass's ``places``."""

    places: tuple[tuple[str, str, str], ...] = ()
    """The name, the place and the first paragraph of the help for each command."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, place, help in self.places:
            self.add_command(LazyCommand(name, place, help))
