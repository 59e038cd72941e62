"""Record the calls of public functions in the harnesses with which JAX tests its own primitives.

JAX ships some thousands of harnesses. Each has a function and makes its arguments. There are three kinds. The function
may be public itself. It may call a public function, which a stand-in for the function's module records. Or it may bind
a primitive. Then the public function of the same name is used, if its result is the same.

Importing the harnesses opens JAX's backend, so do it in a separate process.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from freezing.common.parts import Reason
from freezing.common.samples import Sample
from freezing.jax.recipes.recipe import Call
from freezing.jax.samples import write
from runners.errors import UnfreezableError
from runners.suite.checks import TOLERANCES
from runners.suite.frozen import PackWriter

OTHER_DTYPES = ("int32", "bfloat16", "complex64", "bool", "float16", "uint8")
MOST_RUN = 12
"""The maximum number of harnesses of a group and dtype that are run. They are spread evenly over all."""
LOOKED_UP_IN = ("lax", "jnp", "random", "jax_random")
"""The names of modules in JAX's file of harnesses, by which they call public functions."""


class CallRecorder:
    """A stand-in for a module that records the calls of its public functions."""

    def __init__(self, module: ModuleType, public: Mapping[int, str], calls: list[tuple[str, Call]]) -> None:
        self._module = module
        self._public = public
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._module, name)
        if isinstance(member, ModuleType):
            return CallRecorder(member, self._public, self._calls)
        if isinstance(member, type) or id(member) not in self._public:
            return member

        def note_call(*arguments: Any, **options: Any) -> Any:
            self._calls.append((self._public[id(member)], (arguments, options)))
            return member(*arguments, **options)

        return note_call


def public_objects(entries: Sequence[Mapping[str, Any]], lookup: Callable[[str], Any]) -> dict[int, str]:
    """Return the canonical name of every public function and class, by the object's ``id``."""
    return {
        id(lookup(entry["name"])): entry["name"]
        for entry in entries
        if entry["kind"] in ("function", "class")
        and entry["name"].startswith(("jax.lax.", "jax.numpy.", "jax.random."))
    }


def record(public: Mapping[int, str], pack: PackWriter) -> tuple[dict[str, list[Sample]], list[Reason]]:
    """Return the samples from the harnesses by function, and the groups of harnesses without a sample."""
    from jax._src.internal_test_util import test_harnesses

    calls: list[tuple[str, Call]] = []
    for name in LOOKED_UP_IN:
        setattr(test_harnesses, name, CallRecorder(getattr(test_harnesses, name), public, calls))
    samples: dict[str, list[Sample]] = defaultdict(list)
    sample_counts: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for group, dtype, number, harness in choose_harnesses(test_harnesses.all_harnesses):
        try:
            function, call = record_call(harness, public, calls)
            samples[function].append(write(f"{dtype}-{group}-{number}", dtype, call, pack, public))
            sample_counts[group] += 1
        except UnfreezableError as error:
            reasons[group] = str(error)
        except Exception as error:
            reasons[group] = f"{type(error).__name__}: {str(error)[:120]}"
    left_out: list[Reason] = [
        (group, "", "its harnesses give no call", reasons[group]) for group in reasons if not sample_counts[group]
    ]
    return samples, left_out


def choose_harnesses(harnesses: Sequence[Any]) -> Iterator[tuple[str, str, int, Any]]:
    """Yield harnesses of each group in float32 and in one more dtype, with their numbers within group and dtype."""
    groups: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for harness in harnesses:
        dtype = np.dtype(harness.dtype).name
        if dtype in TOLERANCES and harness.filter("cpu"):
            groups[harness.group_name][dtype].append(harness)
    for group, by_dtype in sorted(groups.items()):
        others = [dtype for dtype in OTHER_DTYPES if dtype in by_dtype]
        for dtype in [*(["float32"] if "float32" in by_dtype else []), *others[:1]]:
            harnesses_of_dtype = by_dtype[dtype]
            for number in range(0, len(harnesses_of_dtype), max(1, -(-len(harnesses_of_dtype) // MOST_RUN))):
                yield group, dtype, number, harnesses_of_dtype[number]


def record_call(harness: Any, public: Mapping[int, str], calls: list[tuple[str, Call]]) -> tuple[str, Call]:
    """Return the public function that a harness calls, and the call. Raise ``UnfreezableError`` if it calls none."""
    arguments = harness.args_maker(np.random.RandomState(0))
    function = harness.fun if isinstance(harness.fun, partial) else partial(harness.fun)
    if id(function.func) in public:
        return public[id(function.func)], ((*function.args, *arguments), function.keywords)
    del calls[:]
    result = harness.fun(*arguments)
    if calls:
        return calls[0]
    return _same_by_name(harness, arguments, result, public)


def _same_by_name(harness: Any, arguments: Any, result: Any, public: Mapping[int, str]) -> tuple[str, Call]:
    """Return the function of ``jax.lax`` with the primitive's name, if it returns the same from the arrays alone."""
    import jax

    name = f"jax.lax.{harness.group_name}"
    function = getattr(jax.lax, harness.group_name, None)
    if name not in public.values() or function is None:
        raise UnfreezableError("no public function is called")
    arrays = harness.dyn_args_maker(np.random.RandomState(0))
    own = function(*arrays)
    if len(arrays) != len(arguments) or not np.array_equal(np.asarray(own), np.asarray(result), equal_nan=True):
        raise UnfreezableError("the function of jax.lax with this name returns something else")
    return name, (arrays, {})
