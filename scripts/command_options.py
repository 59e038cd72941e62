"""Lists every command of ``portolan`` and ``portolan-runner`` with its options, their defaults and their meanings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import click
import typer.main

from coordinator.cli import app
from coordinator.cli.lazy_command import LazyCommand
from runners.cli.parser import make_parser

_DEFAULT = re.compile(r"( |; )?\(default: (?P<default>[^)]*)\)")
"""The default of an option, at the end of argparse's help text."""


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    default: str
    """The default in words; empty for a flag, or if there is none."""
    choices: tuple[str, ...]
    """The allowed words; empty if other values are allowed."""
    meaning: str
    """The sentence in ``--help``."""


def command_options() -> Mapping[str, Sequence[Option]]:
    return {**dict(_coordinator_commands(typer.main.get_command(app), "portolan")), **dict(_runner_commands())}


def _coordinator_commands(command: click.Command, name: str) -> Iterator[tuple[str, Sequence[Option]]]:
    yield name, [_option(parameter) for parameter in command.params if parameter.opts[0].startswith("-")]
    for below, member in getattr(command, "commands", {}).items():
        yield from _coordinator_commands(
            member.load() if isinstance(member, LazyCommand) else member, f"{name} {below}"
        )


def _option(parameter: click.Parameter) -> Option:
    return Option(
        (*parameter.opts, *parameter.secondary_opts),
        _in_words(parameter.default),
        tuple(_choices(parameter.type_descriptor.annotation)),  # type: ignore[attr-defined]
        getattr(parameter, "help", None) or "",
    )


def _choices(annotation: Any) -> Iterator[str]:
    """The words of a literal type or of an enum. The type may be optional, or the type of a list's elements."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (member.value for member in annotation)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from _choices(part)


def _runner_commands() -> Iterator[tuple[str, Sequence[Option]]]:
    yield "portolan-runner", []
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                options = [_runner_option(parser, member) for member in parser._actions if member.option_strings]
                yield f"portolan-runner {name}", [option for option in options if "--help" not in option.names]


def _runner_option(parser: argparse.ArgumentParser, action: argparse.Action) -> Option:
    meaning = parser._get_formatter()._expand_help(action) if action.help else ""
    default = _DEFAULT.search(meaning)
    return Option(
        tuple(action.option_strings),
        default["default"] if default else _in_words(action.default),
        tuple(map(str, action.choices or ())),
        _DEFAULT.sub("", meaning),
    )


def _in_words(default: Any) -> str:
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default in (None, False, (), [], argparse.SUPPRESS) or callable(default) else str(default)
