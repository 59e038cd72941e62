"""Reads every command of ``portolan`` and ``portolan-runner`` from its parser: usage, purpose and options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
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


@dataclass(frozen=True)
class CommandHelp:
    name: str
    usage: str
    """The command with its arguments and required options: ``portolan results CAMPAIGN``."""
    purpose: str
    """The sentences in ``--help``."""
    options: Sequence[Option]


@cache
def commands() -> Mapping[str, CommandHelp]:
    return {**dict(_coordinator_commands(typer.main.get_command(app), "portolan")), **dict(_runner_commands())}


def _coordinator_commands(command: click.Command, name: str) -> Iterator[tuple[str, CommandHelp]]:
    options = [_option(parameter) for parameter in command.params if parameter.opts[0].startswith("-")]
    arguments = [_argument(parameter) for parameter in command.params if not parameter.opts[0].startswith("-")]
    yield name, CommandHelp(name, " ".join([name, *arguments]), " ".join((command.help or "").split()), options)
    for below, member in getattr(command, "commands", {}).items():
        yield from _coordinator_commands(
            member.load() if isinstance(member, LazyCommand) else member, f"{name} {below}"
        )


def _argument(parameter: click.Parameter) -> str:
    name = str(parameter.metavar or (parameter.name or "").upper()).strip("[]{}.…")  # type: ignore[attr-defined]
    return _as_usage(name, is_required=parameter.required, is_many=parameter.nargs == -1)


def _as_usage(name: str, *, is_required: bool, is_many: bool) -> str:
    name += " …" if is_many else ""
    return name if is_required else f"[{name}]"


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


def _runner_commands() -> Iterator[tuple[str, CommandHelp]]:
    parser = make_parser()
    yield "portolan-runner", CommandHelp("portolan-runner", "portolan-runner", parser.description or "", [])
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                yield f"portolan-runner {name}", _runner_command(f"portolan-runner {name}", parser)


def _runner_command(name: str, parser: argparse.ArgumentParser) -> CommandHelp:
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    usage = [name, *(f"{option.option_strings[0]} {option.metavar}" for option in options if option.required)]
    for action in parser._actions:
        if not action.option_strings:
            is_required, is_many = action.nargs not in ("?", "*"), action.nargs in ("*", "+")
            usage.append(_as_usage(str(action.metavar), is_required=is_required, is_many=is_many))
    purpose = parser.description or ""
    return CommandHelp(
        name, " ".join(usage), purpose[:1].upper() + purpose[1:], [_runner_option(parser, option) for option in options]
    )


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
