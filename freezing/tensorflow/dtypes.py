"""The variants in another dtype that are tried for a function, in order.

Each function gets at most one case in each of three groups: a first 16-bit dtype, the other one, and a small integer
dtype. Its name decides which dtype comes first in a group.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freezing.common.parts import Reason
from freezing.common.variants import MOST_WHOLE, VARIANTS, Array, Call, Variant, in_dtype
from freezing.tensorflow.definitions import RAW
from protocol.enums import JUDGED_BY, Judge
from runners.suite.cases import seed_of
from runners.suite.frozen import PackWriter

LOW_PRECISION, SMALL_INTEGERS = ("float16", "bfloat16"), ("int8", "uint8")
JOINS = re.compile(
    r"(?i)cum|prod(?!uct)|accumulate|scan|logsumexp|segment_?(sum|mean|sqrt)|cdist|pdist|matrixinverse|(?-i:^inv$)"
)
"""Functions that combine many elements one after the other. They have no variant in 16 bits, because each order of
operations rounds in another way."""
IN_A_RANGE = re.compile(r"(?i)unravel|dimmap|(lower|upper)_?bound|clip_?by_?value")
"""Functions with numbers that must be in order or in a range. They get no random integers."""
BY_ITSELF = "floats of a small dtype, by the CPU itself alone"
RANDOM = re.compile(r"full-|nonzero-")
"""The names of variants with random integers."""
MOST_BASES = 6
"""The maximum number of cases of a function that are tried for one variant."""


@dataclass(frozen=True)
class Trial:
    """A variant, and the judges that may admit it; empty for all."""

    variant: Variant
    judges: tuple[str, ...] = ()


def _is_real(call: Call) -> bool:
    return call.dtype == "float32" and bool(call.floats)


def _is_real_or_whole(call: Call) -> bool:
    return _is_real(call) or (bool(call.integers) and call.dtype in ("int32", "int64"))


def _over_the_range(dtype: str) -> Callable[[Call, np.random.Generator], Call]:
    """Replace the numbers by integers from the whole range of the dtype."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        limits = np.iinfo(dtype)
        new_call = in_dtype(dtype, call)
        numbers = [number for number, array in enumerate(new_call.arrays) if str(array.dtype) == dtype]
        return new_call.having({
            number: rng.integers(limits.min, limits.max, new_call.arrays[number].shape, endpoint=True).astype(dtype)
            for number in numbers
        })  # fmt: skip

    return change


def _small_without_zeros(dtype: str) -> Callable[[Call, np.random.Generator], Call]:
    """Replace the numbers by small integers except zero, because no integer can be divided by zero."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        new_call = in_dtype(dtype, call)
        numbers = [number for number, array in enumerate(new_call.arrays) if str(array.dtype) == dtype]
        signs = (1,) if dtype.startswith("u") else (-1, 1)

        def of(shape: tuple[int, ...]) -> Array:
            whole: Array = rng.integers(1, MOST_WHOLE, shape, endpoint=True) * rng.choice(signs, shape)
            return whole.astype(dtype)

        return new_call.having({number: of(new_call.arrays[number].shape) for number in numbers})

    return change


def _round_to_integers(dtype: str) -> Callable[[Call, np.random.Generator], Call]:
    """Round the numbers to integers. Change nothing if all of them become equal."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        new_call = in_dtype(dtype, call)
        numbers = [array.ravel() for array in new_call.arrays if str(array.dtype) == dtype]
        is_one_number = np.unique(np.concatenate(numbers)).size == 1
        return call if is_one_number else new_call

    return change


def _makes_arrays(call: Call) -> bool:
    return not call.arrays and call.dtype == "float32" and set(call.written) == {"tuple"}


def _asking_for(dtype: str) -> Callable[[Call, np.random.Generator], Call]:
    """Add the dtype to the options of a call without arrays, such as ``tf.ones``."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        tree = json.loads(json.dumps(call.written))
        options = tree["tuple"][1]["mapping"]
        if any(name == "dtype" for name, _ in options):
            return call
        options.append(["dtype", dtype])
        return dataclasses.replace(call, dtype=dtype, written=tree)

    return change


def _of_arrays(dtype: str) -> Variant:
    return next(variant for variant in VARIANTS if variant.name == dtype)


def _of_no_array(dtype: str) -> Variant:
    return Variant(f"made-{dtype}", "", _makes_arrays, _asking_for(dtype))


def _trials(dtype: str) -> list[Trial]:
    """Return the variants in a dtype, those with the most demanding values first.

    The CPU in the same dtype does not judge numbers from the whole range, because it would also confirm sums that wrap
    around where a device may compute in a wider type.
    """
    if dtype in LOW_PRECISION:
        return [Trial(_of_arrays(dtype)), Trial(_of_no_array(dtype))]
    whole_range = Variant(f"full-{dtype}", "", _is_real_or_whole, _over_the_range(dtype))
    whole = Variant(dtype, "", _is_real_or_whole, _round_to_integers(dtype))
    small = Variant(f"nonzero-{dtype}", "", _is_real_or_whole, _small_without_zeros(dtype))
    return [
        Trial(whole_range, (Judge.numpy, Judge.float64)),
        Trial(whole),
        Trial(small),
        Trial(_of_no_array(dtype)),
    ]


def groups_of(name: str, dtypes: Collection[str]) -> list[list[Trial]]:
    """Return the variants to try for a function that has cases in these dtypes. At most one of each group becomes a
    case."""
    low, small = (_rotate(group, seed_of(name) % 2) for group in (LOW_PRECISION, SMALL_INTEGERS))
    groups: list[list[Trial]] = []
    own_name = name.rpartition(".")[2]
    if not JOINS.search(own_name):
        missing = [dtype for dtype in low if dtype not in dtypes]
        missing_groups = [[dtype] for dtype in missing]
        # Other functions call most raw operations, so one 16-bit dtype is enough for these.
        if name.startswith(f"{RAW}."):
            missing_groups = [missing] if len(missing) == len(low) else []
        groups += [[trial for dtype in group for trial in _trials(dtype)] for group in missing_groups]
    if not set(small) & set(dtypes):
        trials = [trial for dtype in small for trial in _trials(dtype)]
        is_in_a_range = IN_A_RANGE.search(own_name) is not None
        groups.append([trial for trial in trials if not (is_in_a_range and RANDOM.match(trial.variant.name))])
    return groups


def _rotate(group: Sequence[str], by: int) -> Sequence[str]:
    return (*group[by:], *group[:by])


def first_reasons(reasons: Iterable[Reason]) -> Iterator[Reason]:
    """Yield the first reason of each kind and dtype. Most functions refuse all their calls in a dtype for one
    reason."""
    keys: set[tuple[str, str]] = set()
    for reason in reasons:
        name, kind = reason[1:3]
        key = name.rpartition("-")[2], kind
        if key not in keys:
            keys.add(key)
            yield reason


def is_unchecked(case: Mapping[str, Any], pack: PackWriter) -> bool:
    """Whether the CPU's own results are the only reference for floats of a small dtype. The CPU rounds them in its own
    way."""
    is_own = f"{JUDGED_BY}{Judge.itself}" in case["tags"]
    return is_own and any(pack.array(digest).dtype.kind in "fc" for digest in case["expected"])
