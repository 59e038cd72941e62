"""Compares the call sites in a source with the calls that a program made. Does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.assess import operators
from coordinator.assess.sites import Site, Use

_OPERATORS: Mapping[str, str] = {
    "add": "Add", "sub": "Sub", "mul": "Mult", "matmul": "MatMult", "truediv": "Div", "div": "Div", "mod": "Mod",
    "floordiv": "FloorDiv", "pow": "Pow", "lshift": "LShift", "rshift": "RShift", "and": "BitAnd", "or": "BitOr",
    "xor": "BitXor", "eq": "Eq", "ne": "NotEq", "lt": "Lt", "le": "LtE", "gt": "Gt", "ge": "GtE",
}  # fmt: skip
"""For each dunder method of an operator, the operator's class in ``ast``. The methods are named without their
underscores."""
OPERATORS_IN: Mapping[str, str] = {"jax": "jax.numpy", "torch": "torch"}
"""The modules whose functions are equal to operators, such as ``torch.add`` and ``+``."""
_UNARY: Mapping[str, str] = {"neg": "USub", "pos": "UAdd", "invert": "Invert", "abs": "abs"}


@dataclass(frozen=True)
class SeenCalls:
    """The calls that a program made from a package's code."""

    calls: frozenset[tuple[str, int, int, str]]
    """For each call: the file, the first and last line of the expression, and the function."""
    places: frozenset[tuple[str, int, int]]
    """The positions (file, line and column) at which the expressions that ran begin and end."""
    names: frozenset[str]
    """The functions whose calls can be recorded."""

    @classmethod
    def of(cls, document: Mapping[str, Sequence[Sequence[object]]]) -> SeenCalls:
        return cls(
            frozenset(map(tuple, document["calls"])),  # type: ignore[arg-type]
            frozenset(map(tuple, document["places"])),  # type: ignore[arg-type]
            frozenset(map(str, document["names"])),
        )


@dataclass(frozen=True)
class Agreement:
    """How far the call sites of a source agree with the calls that were made."""

    calls: int
    missing_calls: tuple[tuple[str, int, str], ...]
    """Calls that the program made but for which there is no site."""
    sites: int
    """The number of sites whose expression ran."""
    unmade: tuple[Site, ...]
    """Sites whose expression ran but made no such call."""

    @property
    def recall(self) -> float:
        return 1 - len(self.missing_calls) / self.calls

    @property
    def precision(self) -> float:
        return 1 - len(self.unmade) / self.sites


def agreement(sites: Iterable[Site], seen_calls: SeenCalls, root: str) -> Agreement:
    """Match sites and calls by file, line and the function's name without its module.

    An operator counts as the function to which it is equal. Classes, and functions that are passed as arguments, are
    excluded, because their calls cannot be recorded.
    """
    names_at: dict[tuple[str, int], set[str]] = {}
    all_sites = list(sites)
    for site in all_sites:
        names_at.setdefault((site.path, site.line), set()).add(plain_name(site.function, root))
    missing_calls = [
        (file, first, name)
        for file, first, last, name in sorted(seen_calls.calls)
        if not any(plain_name(name, root) in names_at.get((file, line), ()) for line in range(first, last + 1))
    ]
    made_at: dict[tuple[str, int], set[str]] = {}
    for file, first, last, name in seen_calls.calls:
        for line in range(first, last + 1):
            made_at.setdefault((file, line), set()).add(plain_name(name, root))
    visible = seen_calls.names | {
        f"{OPERATORS_IN[root]}.{plain_name(name, root)}" for name in seen_calls.names if _is_operator(name)
    }
    sites_that_ran = [
        site for site in all_sites if site.use is not Use.named and _ran(site, seen_calls) and site.function in visible
    ]
    unmade_sites = [
        site
        for site in sites_that_ran
        if plain_name(site.function, root) not in made_at.get((site.path, site.line), ())
    ]
    return Agreement(len(seen_calls.calls), tuple(missing_calls), len(sites_that_ran), tuple(unmade_sites))


def _ran(site: Site, seen_calls: SeenCalls) -> bool:
    """Whether the expression of a site ran. It did if its beginning, or the end of its callee's name, was recorded."""
    name = site.function.rpartition(".")[2]
    return any((site.path, site.line, column) in seen_calls.places for column in (site.column, site.column + len(name)))


def plain_name(function: str, root: str) -> str:
    """The name after the last dot. For an operator's dunder method, the name of the operator's function."""
    last = function.rpartition(".")[2]
    if last == "index_put_":
        return "setitem"  # Charts have ``x[mask] = v`` under this name.
    if not _is_operator(last):
        return last.rstrip("_") if root == "torch" else last
    method = last.strip("_")
    if method in operators.HOST_VALUES:
        return "item"
    operation = None
    if method in _UNARY:
        operation = operators.unary(root, _UNARY[method])
    else:
        for name in (method, method[1:]):
            if name in _OPERATORS and operation is None:
                operation = operators.binary(root, _OPERATORS[name], left_is_array=True)
    return method if operation is None else operation.function.rpartition(".")[2]


def _is_operator(function: str) -> bool:
    return function.rpartition(".")[2].startswith("__")
