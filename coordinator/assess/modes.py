"""Modes: finds the code that runs only if a flag is on, and no code of the user switches it on. This module does no
I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace

from coordinator.assess.sites import CallGraph, Flag, Site, function_of

Uses = Mapping[str, Set[tuple[str, Flag | None]]]
"""For each function with an underscore, the functions that use it, and the flag under which each of them does."""


def with_flags(sites: Iterable[Site], graph: CallGraph, private_uses: Uses, on_flags: Set[Flag]) -> Iterator[Site]:
    """Return the sites, each with the flag without which no code reaches it.

    A flag of a site that may be on is removed. A function with an underscore that is used only in such a mode belongs
    to the mode.
    """
    called_functions = {name for names in graph.calls.values() for name in names}

    def off_flag(flag: Flag | None, function: str | None) -> Flag | None:
        if flag is None or flag in on_flags:
            return None
        # If no code of the user calls a function, other programs do, and they pass what they need.
        return flag if not flag.is_none or function in called_functions else None

    flags = dict(_flags_of_functions(graph, private_uses, off_flag))
    for site in sites:
        function = function_of(site, graph.modules)
        flag = off_flag(site.flag, function) or flags.get(function or "")
        yield site if flag == site.flag else replace(site, flag=flag)


def _flags_of_functions(
    graph: CallGraph, private_uses: Uses, off_flag: Callable[[Flag | None, str | None], Flag | None]
) -> Iterator[tuple[str, Flag]]:
    """The functions with an underscore that code uses only under a flag that is off, each with the first such flag."""
    # A method of an object whose class is unknown may be any method of that name.
    members = {member for function in graph.functions.values() for member in function.members}
    for name, uses in private_uses.items():
        function = graph.functions.get(name)
        if function is None or function.overrides is not None or name.rpartition(".")[2] in members:
            continue
        flags = [off_flag(flag, caller) for caller, flag in sorted(uses, key=str) if caller != name]
        if flags and flags[0] is not None and all(flags):
            yield name, flags[0]
