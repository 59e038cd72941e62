"""The list of commands has the same description of each command as the command itself, although neither imports the
other."""

from __future__ import annotations

import inspect

import typer.main

from coordinator.cli import Commands, app
from coordinator.cli.lazy_command import LazyCommand
from tests.each import check_each


def test_the_listed_help_of_every_command_is_its_own() -> None:
    check_each(Commands.places, check_help, name=lambda place: place[0])


def check_help(place: tuple[str, str, str]) -> None:
    command = LazyCommand(*place)
    real = command.load()
    first_paragraph, *_ = inspect.cleandoc(real.help).split("\n\n")
    assert command.help == " ".join(first_paragraph.split())
    assert command.get_short_help_str(1000) == real.get_short_help_str(1000)
    assert (command.name, command.hidden, command.deprecated) == (real.name, real.hidden, real.deprecated)


def test_the_group_has_every_command_in_its_order() -> None:
    assert list(typer.main.get_command(app).commands) == [name for name, _, _ in Commands.places]
