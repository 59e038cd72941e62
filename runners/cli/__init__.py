"""The command ``portolan-runner``: serve, run, chart, list cases, set environments up."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    # Set-up runs before anything is installed, and imports this package for it.
    from protocol.terminal import terminal_streams
    from runners.cli.parser import make_parser

    # What a case or another program says stands in what is printed.
    with terminal_streams():
        options = make_parser().parse_args(arguments)
        # Whoever asks for help waits for no framework of the web, and for no model.
        from runners.cli.commands import run

        return run(options)
