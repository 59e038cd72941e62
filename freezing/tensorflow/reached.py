"""Find the raw operations that the cases of public functions run, and write them next to the suite.

python -m freezing.tensorflow.reached

A raw operation that a public function runs is *covered* by this function: a device that computes it in a wrong way
fails the function's cases. So its own cases are few. A raw operation that no public function runs is reached only by
its own name, so it has variants like a public function. The command traces the cases of each public function, and the
gradients among them, and reads the operations of their graphs.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runners.suite.frozen import PackSet, packs_in
from runners.suite.second_shapes import LARGE
from runners.tensorflow import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
OPERATIONS_FILE = "raw_operations.json"
RAW = "tf.raw_ops"
MOST_TRACED = 14
"""The maximum number of cases of a function that are traced. Each has other arguments besides its arrays."""
MOST_FUNCTIONS = 3
"""The maximum number of functions that are listed for a raw operation."""


def functions_by_operation(suite: Path = SUITE) -> Mapping[str, Sequence[str]]:
    """Return the raw operations that public functions run, and for each a few of these functions, read from the
    file."""
    content: Mapping[str, Sequence[str]] = json.loads((suite / OPERATIONS_FILE).read_text())
    return content


def find_covered(packs: PackSet) -> dict[str, list[str]]:
    """Trace the cases of all public functions. Return the functions that run each raw operation that has cases."""
    cases: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for pack in packs.packs:
        for case in pack.cases:
            cases[case["function"]].append(case)
    functions: dict[str, set[str]] = defaultdict(set)
    for name in sorted(cases):
        if not name.startswith(f"{RAW}."):
            for call in _with_different_calls(cases[name]):
                with suppress(Exception):  # the call cannot be traced
                    for operation in operations_of(call, packs):
                        functions[f"{RAW}.{operation}"].add(name)
    # Functions with short names are the best known ones.
    return {
        name: sorted(functions[name], key=lambda own: (len(own), own))[:MOST_FUNCTIONS]
        for name in sorted(cases)
        if functions.get(name)
    }


def _with_different_calls(cases: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield some cases with different arguments or dtypes, those with few arrays first. None has large arrays."""
    calls: set[tuple[str, str]] = set()
    for case in sorted(cases, key=lambda case: len(case["arrays"])):
        key = case["call"], case["dtype"]
        is_fit = "refuses" not in case and LARGE.isdisjoint(case["tags"])
        if is_fit and key not in calls and len(calls) < MOST_TRACED:
            calls.add(key)
            yield case


def operations_of(case: Mapping[str, Any], packs: PackSet) -> set[str]:
    """Return the names of the operations that a case runs, also those inside of its loops and branches."""
    import tensorflow as tf
    from runners.suite.recording.replay import WAY
    from runners.suite.rounding import rounded
    from runners.tensorflow.devices import Cpu
    from runners.tensorflow.frozen import FrozenCall
    from runners.tensorflow.ways import WAYS

    values = rounded([packs.array(digest) for digest in case["arrays"]], case["dtype"])
    tensors = Cpu().to_device(values, case["dtype"])
    way = WAYS[json.loads(case["call"]).get(WAY, "call")]
    function = Cpu().lookup(case["function"])
    with tf.Graph().as_default() as graph:
        places = [tf.compat.v1.placeholder(tensor.dtype, tensor.shape) for tensor in tensors]
        way(function, *FrozenCall(case["call"]).parts(places))()
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(node for own in definition.library.function for node in own.node_def)]
    return {node.op for node in nodes}


def main() -> int:
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(name)}: {json.dumps(own)}" for name, own in find_covered(packs_in(SUITE)).items()]
    (SUITE / OPERATIONS_FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
