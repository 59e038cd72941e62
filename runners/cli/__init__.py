"""The command ``portolan-runner``: serves a device, runs cases and suites, lists cases, and sets up environments."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # Imported here, because set-up imports this package before anything is installed.
    from protocol.terminal import terminal_streams
    from runners.cli.parser import make_parser

    # The output contains text of cases and other programs, which may hold control characters.
    with terminal_streams():
        options = make_parser().parse_args(arguments)
        # Imported here, because `--help` should not wait for a web framework and models.
        from runners.cli.commands import run

        return run(options)
