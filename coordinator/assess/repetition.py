"""Repetition: finds the user's functions that run again and again on the device, and those that a training step also
runs backward, as far as the source shows. This module does no I/O.

The search starts at the functions that a training or inference loop calls: layers, losses, methods that a framework
calls, and functions with arrays that programs may call. From these functions the search follows calls. A call of a
method of an unknown value counts as a call of every method of that name, so the result has too many functions rather
than too few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import lru_cache, partial
from typing import NamedTuple

from coordinator.assess.guards import RECENT_NAMES
from coordinator.assess.harmless import (
    is_setup_function,
    is_setup_method,
    is_test_file,
    is_transform_file,
    why_aside,
)
from coordinator.assess.host_arrays import DATA_PACKAGE
from coordinator.assess.sites import CallGraph, Site, UserFunction, function_of
from coordinator.assess.values import SETTER


class FunctionRole(StrEnum):
    """The role that a function has in a program."""

    hot = "hot"
    """The function runs repeatedly."""
    loop = "loop"
    """The function's name says that it contains the loop, so some of the functions that it calls run repeatedly."""
    entry_point = "entry-point"
    """Programs may call the function with arrays, or it is a public method. If the user's own code calls the function,
    the callers decide whether it runs repeatedly."""
    inner = "inner"
    setup = "setup"
    """The function sets up a module. The functions that it calls run once; the functions that it passes on are used
    later."""
    aside = "aside"
    """The function prepares data, exports, prints, plots or logs, so it does not count as running repeatedly."""
    test = "test"


_CALLING_ROLES = (FunctionRole.hot, FunctionRole.loop, FunctionRole.entry_point, FunctionRole.inner)
"""The roles of functions whose calls the search follows."""
_REPEATED_METHOD = re.compile(
    r"__call__|call|forward|backward|compute|(?:\w+_)?(?:loss|step|batch)|(?:update|log_prob)(?:_\w+)?"
)
"""Matches the names of functions that run repeatedly."""
_LOOP = re.compile(
    r"(?:\w+_)?(?:loop|epoch)|(?:train|eval|val|valid|validat|test|predict|infer)\w*"
    r"|(?:fit|generate|sample|decode|encode|run|main)(?:_\w+)?|\w+_(?:generate|predict|infer|evaluate)"
)
"""Matches the names of functions that contain the loop."""
_REPEATING_FUNCTION = re.compile(
    r"torch\.(?:Tensor|autograd)\.(?:backward|grad)|torch\.optim\.\w+\.step|torch\.fx\.\w+|jax\.(?:value_and_)?grad"
)
"""Functions of a framework that a training step calls. The functions of ``torch.fx`` are included, because they build
code that runs later."""
TRAINS = frozenset({"backward", "zero_grad"})
"""Names of members whose use shows a training step, whatever the object is."""
OPTIMIZER_PACKAGE = "torch.optim."
"""The package of optimizers and schedulers, which a program creates once."""
_CHECK = re.compile(r"_?(?:check|validate|verify)_\w+")
"""Matches the names of functions that check something. Frameworks do not call them, and users seldom do."""
_LOSS_OR_STEP = re.compile(r"(?:\w+_)?loss|train(?:ing)?_step")
"""Matches the names of functions that compute a loss."""
_NO_NAMES = frozenset[str]()
_DUNDER = re.compile(r"__\w+__")
_RARE_DUNDER = re.compile(
    r"__(?:init|new|\w*eq|ne|hash|repr|str|format|del|\w*state|reduce\w*|\w*copy|init_subclass)__"
)
"""Dunder methods that seldom compute. Python calls the other dunder methods for operators, indexing and loops."""


def _is_check(function: str) -> bool:
    return _CHECK.fullmatch(function.rpartition(".")[2]) is not None


@lru_cache(RECENT_NAMES)
def is_repeated_name(function: str) -> bool:
    """Whether the name of a function shows that it runs repeatedly: ``forward``, ``training_step``."""
    return _REPEATED_METHOD.fullmatch(function) is not None


@lru_cache(RECENT_NAMES)
def _is_repeating(function: str) -> bool:
    """Whether a function of a framework is one that a training step calls."""
    return _REPEATING_FUNCTION.fullmatch(function) is not None


class FunctionUse(NamedTuple):
    """How programs use the user's functions, each named as in ``CallGraph.functions``."""

    repeated_functions: frozenset[str]
    """The functions that run again and again on the device."""
    offered_functions: frozenset[str]
    """The repeated functions that only public methods reach which no code of the user calls."""
    trained_functions: frozenset[str]
    """The functions whose backward passes a training step runs too."""


def function_use(graph: CallGraph, sites: Iterable[Site]) -> FunctionUse:
    """Find out how programs use the user's functions. ``sites`` are the uses of the framework in these functions."""
    roles = {name: _role(name, function, graph.functions) for name, function in graph.functions.items()}
    callees = _callees(graph)
    repeated_functions, offered_functions = _repeated_functions(graph, sites, dict(roles), callees)
    return FunctionUse(
        repeated_functions=repeated_functions,
        offered_functions=offered_functions,
        trained_functions=_trained_functions(graph, roles, callees),
    )


def _repeated_functions(
    graph: CallGraph, sites: Iterable[Site], roles: dict[str, FunctionRole], callees: Mapping[str, set[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """The functions that run repeatedly, and those of them that only uncalled public methods reach."""
    for site in sites:
        # Few sites pass the first test, which is much faster than the second.
        if _is_repeating(site.function):
            name = function_of(site, graph.modules) or ""
            if roles.get(name) in _CALLING_ROLES:
                roles[name] = FunctionRole.hot
    reach = partial(_reach, graph, _methods_by_name(graph), roles, callees)
    called_names = _called_names(callees, roles)
    set_up = reach(name for name, role in roles.items() if role is FunctionRole.setup)
    # If other files import only other names of the same file, no program is likely to use this function or class.
    unused_names = {
        name
        for name, function in graph.functions.items()
        if function.is_left_out and (function.owner or name not in called_names)
    }
    starts = {name for name, role in roles.items() if role is FunctionRole.hot}
    starts -= {
        name for name in unused_names if graph.functions[name].owner or is_repeated_name(name.rpartition(".")[2])
    }
    starts |= set(_handed_on_for_later(graph, roles, set_up))
    regular = reach(starts)
    # Most functions that return a number count or check something, once or for the host, unless a layer or a step calls
    # them.
    numbers = {name for name, function in graph.functions.items() if function.returns_numbers}
    open_functions = {
        name
        for name, role in roles.items()
        if role is FunctionRole.entry_point and name not in called_names and name not in unused_names
    } - numbers
    # Of checks the same holds.
    numbers |= set(filter(_is_check, graph.functions))
    loops = {name for name, role in roles.items() if role is FunctionRole.loop}
    repeated_names = regular | reach(loops | open_functions, numbers)
    if len(graph.modules) == 1:
        return repeated_names, frozenset()  # The callers of a single file are probably in other files.
    methods = {name for name in open_functions if _is_offered_method(name, graph.functions[name])}
    if not methods:
        return repeated_names, frozenset()
    called_by_others = reach(loops | (open_functions - methods), numbers)
    return repeated_names, repeated_names - regular - called_by_others


def _is_offered_method(name: str, function: UserFunction) -> bool:
    """Whether a function is a method that only code of other programs can call. A framework may call methods of its own
    classes, and Python calls operator methods, but both call a constructor only if some code makes an object."""
    # ``self.mix(x)`` in another class may call the method ``mix`` of a mixin.
    if not function.owner or "Mixin" in function.owner or function.bases or function.is_of_foreign_class:
        return False
    return _DUNDER.fullmatch(name.rpartition(".")[2]) is None or name.endswith((".__init__", ".__post_init__"))


def _trained_functions(
    graph: CallGraph, roles: Mapping[str, FunctionRole], callees: Mapping[str, set[str]]
) -> frozenset[str]:
    """The methods of layers, losses, and the functions that these certainly call, except where no gradients are
    computed."""

    def is_trained(name: str) -> bool:
        return roles.get(name) in _CALLING_ROLES and graph.functions[name].has_gradient

    waiting = [
        name
        for name, function in graph.functions.items()
        if (function.is_of_layer or _LOSS_OR_STEP.fullmatch(name.rpartition(".")[2])) and is_trained(name)
    ]
    names = set(waiting)
    while waiting:
        next_names = set(filter(is_trained, callees.get(waiting.pop(), _NO_NAMES) - names))
        names |= next_names
        waiting += next_names
    return frozenset(names)


def _methods_by_name(graph: CallGraph) -> Mapping[str, Sequence[str]]:
    methods: dict[str, list[str]] = defaultdict(list)
    for name, function in graph.functions.items():
        if function.owner:
            methods[name.rpartition(".")[2]].append(name)
    return methods


def _reach(
    graph: CallGraph,
    methods_by_name: Mapping[str, Sequence[str]],
    roles: Mapping[str, FunctionRole],
    callees: Mapping[str, set[str]],
    starts: Iterable[str],
    left_out: Set[str] = frozenset(),
) -> frozenset[str]:
    """The starts, and the functions that they call directly or indirectly.

    The search does not follow the calls of functions that run once or that are in ``left_out``.
    """
    methods = dict(methods_by_name)
    waiting = list(starts)
    names = set(waiting)
    while waiting:
        name = waiting.pop()
        # Each member name is followed only once, because the first time reaches all methods of this name.
        members = graph.functions[name].members
        next_names = callees.get(name, _NO_NAMES).union(*(methods.pop(member, ()) for member in members))
        next_names = {callee for callee in next_names - names - left_out if roles.get(callee) in _CALLING_ROLES}
        names |= next_names
        waiting += next_names
    return frozenset(names)


def _role(name: str, function: UserFunction, functions: Mapping[str, UserFunction]) -> FunctionRole:
    method = name.rpartition(".")[2]
    if is_test_file(function.path):
        return FunctionRole.test
    if why_aside(function.path, function.within) or any(base.startswith(DATA_PACKAGE) for base in function.bases):
        return FunctionRole.aside
    if is_transform_file(function.path) and f"{function.owner}.__call__" in functions and not function.is_of_layer:
        return FunctionRole.aside
    if function.is_aside:
        return FunctionRole.aside
    if is_setup_function(function.within) or function.takes_state or (function.is_of_layer and is_setup_method(method)):
        return FunctionRole.setup
    if method == SETTER:
        return FunctionRole.setup
    if _is_check(method):
        return FunctionRole.inner
    if method == "__init__" and any(base.startswith(OPTIMIZER_PACKAGE) for base in function.bases):
        return FunctionRole.setup
    if name.rpartition(".")[0] in functions:
        return FunctionRole.inner  # This is a function in a function.
    if is_repeated_name(method) or not TRAINS.isdisjoint(function.members):
        return FunctionRole.hot
    if _DUNDER.fullmatch(method):
        is_called = not _RARE_DUNDER.fullmatch(method) or (method == "__init__" and function.has_arrays)
        return FunctionRole.entry_point if is_called else FunctionRole.inner
    if function.bases or function.is_of_foreign_class:
        # The framework may call any method of its class, including those with an underscore. Of a metric, it calls few.
        return FunctionRole.entry_point if method.startswith("_") or function.is_of_metric else FunctionRole.hot
    if _LOOP.fullmatch(method):
        return FunctionRole.loop
    # The object that a method belongs to may contain arrays.
    has_arrays = function.has_arrays or bool(function.owner)
    return FunctionRole.entry_point if has_arrays and not method.startswith("_") else FunctionRole.inner


def _callees(graph: CallGraph) -> dict[str, set[str]]:
    """For each function, the functions that it certainly calls, passes on or contains, and the methods that override
    it."""
    callees: dict[str, set[str]] = defaultdict(set)
    # A constructor checks its arguments once.
    checks = set(filter(_is_check, graph.functions))
    for caller, names in graph.calls.items():
        callees[caller] |= names - checks if caller.endswith(".__init__") else names
    for name, function in graph.functions.items():
        if function.uses:
            callees[name].update(set(function.uses) - checks if name.endswith(".__init__") else function.uses)
        around = name.rpartition(".")[0]
        if around in graph.functions:
            callees[around].add(name)
        if function.overrides is not None:
            callees[function.overrides].add(name)
    return callees


def _called_names(callees: Mapping[str, set[str]], roles: Mapping[str, FunctionRole]) -> Set[str]:
    """The functions that another function calls, except those that only tests call."""
    called_names = set[str]()
    for caller, names in callees.items():
        if roles.get(caller) not in (None, FunctionRole.test):
            called_names |= names - {caller}
    return called_names


def _handed_on_for_later(graph: CallGraph, roles: Mapping[str, FunctionRole], set_up: Set[str]) -> Iterator[str]:
    """The functions that are passed on during set-up, and the functions in tables of a module or class."""
    paths = {module: path for path, module in graph.modules.items()}
    for caller, names in graph.handed_on.items():
        if caller in roles:
            is_for_later = caller in set_up
        else:
            path = paths.get(caller, "")
            is_for_later = not (is_test_file(path) or why_aside(path, ""))
        if is_for_later:
            yield from (name for name in names if roles.get(name) in _CALLING_ROLES)
