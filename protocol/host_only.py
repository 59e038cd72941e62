"""Host-only functions: functions that are declared never to run a computation or move data on a device.

``host_only.json`` has names and globs, grouped by reason. Functions that run other functions on the device are not
host-only (a decorator that compiles, a module that calls its parts). Functions that make an array, cast, seed, save or
wait are not host-only either. In every suite, the cases of a host-only function say nothing about a device, and shares
of coverage exclude the function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, cached_property
from importlib.resources import files


@dataclass(frozen=True)
class HostOnly:
    """The declared host-only functions: names and globs, each with its reason."""

    reasons: Mapping[str, str]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.reason(name) is not None

    def reason(self, name: str) -> str | None:
        """The reason why the function never uses a device; None if it is not declared host-only."""
        if name in self.reasons:
            return self.reasons[name]
        match = self._any_glob.fullmatch(name)
        return self.reasons[self._globs[match.lastindex - 1]] if match is not None and match.lastindex else None

    @cached_property
    def _globs(self) -> list[str]:
        return sorted(name for name in self.reasons if "*" in name)

    @cached_property
    def _any_glob(self) -> re.Pattern[str]:
        """All globs as one pattern with a group for each glob. One search is enough, because a surface has thousands of
        names."""
        # Without any glob, the pattern must match nothing.
        return re.compile("|".join(f"({translate(name)})" for name in self._globs) or r"(?!)")


@cache
def load_host_only() -> HostOnly:
    """The declaration that ships with Portolan."""
    content = json.loads((files("protocol") / "host_only.json").read_text(encoding="utf-8"))
    return HostOnly({name: reason for reason, names in content.items() for name in names})
