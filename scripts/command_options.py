"""Every command of ``portolan`` and ``portolan-runner``, with its options and their defaults."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import click
import typer.main

from coordinator.cli import app
from coordinator.cli.lazy_command import LazyCommand
from runners.cli.parser import make_parser

Defaults = Mapping[str, str]
"""The names of a command's options, each with its default in words; empty if it has none or is a flag."""


def command_options() -> dict[str, Defaults]:
    return {**dict(_coordinator_commands(typer.main.get_command(app), "portolan")), **dict(_runner_commands())}


def _coordinator_commands(command: click.Command, name: str) -> Iterator[tuple[str, Defaults]]:
    yield (
        name,
        {
            option: _in_words(parameter.default) if parameter.opts[0] == option else ""
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-")
        },
    )
    for below, member in getattr(command, "commands", {}).items():
        yield from _coordinator_commands(
            member.load() if isinstance(member, LazyCommand) else member, f"{name} {below}"
        )


def _runner_commands() -> Iterator[tuple[str, Defaults]]:
    yield "portolan-runner", {}
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                yield (
                    f"portolan-runner {name}",
                    {
                        option: _in_words(member.default)
                        for member in parser._actions
                        for option in member.option_strings
                        if option not in ("-h", "--help")
                    },
                )


def _in_words(default: Any) -> str:
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default in (None, False, (), [], argparse.SUPPRESS) or callable(default) else str(default)
