"""Host-only functions: those that are declared never to run a computation or move data on a device."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from importlib.resources import files


@dataclass(frozen=True)
class HostOnly:
    """A declaration: names and globs, each with its reason."""

    reasons: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.reasons or self._glob.fullmatch(name) is not None

    @cached_property
    def _glob(self) -> re.Pattern[str]:
        """All globs at once: a surface has thousands of names."""
        # Without any, it matches nothing.
        return re.compile("|".join(translate(name) for name in sorted(self.reasons) if "*" in name) or r"(?!)")


def declared() -> HostOnly:
    """The declaration that comes with Portolan."""
    text = (files("coordinator.catalogue") / "data" / "host_only.toml").read_text(encoding="utf-8")
    return HostOnly({name: reason for reason, names in tomllib.loads(text).items() for name in names})
