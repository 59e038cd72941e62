"""The command ``portolan-runner``: serve, run, chart, list cases, set environments up."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    # Set-up runs before anything is installed, and imports this package for it.
    from runners.cli.commands import main as run

    return run(arguments)
