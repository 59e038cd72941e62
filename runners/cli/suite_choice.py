"""The suites that a command line selects, by name or by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners import own_suites
from runners.errors import UsageError
from runners.own_suites import OwnSuite


@dataclass(frozen=True)
class ChosenSuites:
    """The suites that one command selects."""

    by_name: tuple[str, ...]
    own: tuple[OwnSuite, ...]
    """The suites that were given as paths."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.by_name, *(suite.name for suite in self.own))

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(suite.source for suite in self.own)

    @property
    def searched(self) -> tuple[str, ...]:
        """The suites in which a case is searched; empty for all.

        A path adds a suite and excludes no other suite, so that one command repeats any case of a runner that has both.
        """
        return self.names if self.by_name else ()

    def only(self) -> str | None:
        """The one suite of a command; None if none is selected. Raises ``UsageError`` for several."""
        if len(self.names) > 1:
            raise UsageError("--out runs one suite: give --suite once, and run each suite into its own file")
        return next(iter(self.names), None)

    def require_paths(self, framework: str) -> None:
        """Raise ``UsageError`` for a suite name, in commands that accept only paths of suites."""
        if self.by_name:
            raise UsageError(
                f"--suite {self.by_name[0]}: a runner serves every suite that {framework} has by name; "
                f"add one of your own by its path, ./{self.by_name[0]}"
            )


def chosen_suites(texts: Sequence[str]) -> ChosenSuites:
    """The suites that values of ``--suite`` select. Raises ``SuiteError`` for a path without a suite."""
    return ChosenSuites(
        by_name=tuple(text for text in texts if not own_suites.is_path(text)),
        own=tuple(own_suites.at(text) for text in texts if own_suites.is_path(text)),
    )
