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
    """The suites that the command line selects by their paths."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.by_name, *(suite.name for suite in self.own))

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(suite.source for suite in self.own)

    @property
    def searched(self) -> tuple[str, ...]:
        """The suites in which a case is searched; empty if all suites are searched.

        Only names restrict the search. A path adds a suite and does not exclude others, so that one command can repeat
        any case of a runner that also serves this suite.
        """
        return self.names if self.by_name else ()

    def only(self) -> str | None:
        """Return the only suite that the command line names, or None. Raises ``UsageError`` if it names several."""
        if len(self.names) > 1:
            raise UsageError("--out runs one suite: give --suite once, and run each suite into its own file")
        return next(iter(self.names), None)

    def require_paths(self, framework: str) -> None:
        """Raise ``UsageError`` for the name of a suite. Some commands accept only paths of suites."""
        if self.by_name:
            raise UsageError(
                f"--suite {self.by_name[0]}: a runner serves every suite that {framework} has by name; "
                f"add one of your own by its path, ./{self.by_name[0]}"
            )


def chosen_suites(texts: Sequence[str]) -> ChosenSuites:
    """Return the suites that the values of ``--suite`` select. Raises ``SuiteError`` for a path without a suite."""
    return ChosenSuites(
        by_name=tuple(text for text in texts if not own_suites.is_path(text)),
        own=tuple(own_suites.at(text) for text in texts if own_suites.is_path(text)),
    )
