"""Freeze the suite: every OpInfo in a process of its own, then one file of cases and one of what was left out.

python -m runners.torch.freezing FOLDER

Each operator's cases stand in a file of their own in FOLDER until all are there; an operator that has one is not drawn
again, so an interrupted freeze goes on there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.suite.frozen import PACK, Pack, PackWriter
from runners.torch import FRAMEWORK
from runners.torch.freezing.kinds import mark_quick

LIMIT_S = 600
"""For one operator; past it, it is listed."""
ENOUGH = "enough of its function"
LISTED = "left_out.json"
SUITE = Path(__file__).resolve().parents[1] / "suites" / "library"

Reason = Sequence[str]
"""A function or operator, the name of its sample, the kind of reason, and more about it."""


def freeze_operator(op: Any, path: Path) -> None:
    """Draw and judge one operator's samples into a file of its own."""
    from runners.torch.freezing.gate import KEPT, Gate, charted
    from runners.torch.freezing.samples import draw, dtypes_of

    pack = PackWriter()
    left_out: list[Reason] = []
    gates = [(function, Gate(op, function, pack)) for function in charted(op)]
    title = title_of(op)
    if not gates:
        left_out.append((title, "", "no public name", op.name))
    for place, dtype in enumerate(dtypes_of(op)):
        try:
            drawn = draw(op, dtype, pack)
        except Exception as error:
            left_out.append((title, dtype, "its generator raises", f"{type(error).__name__}: {str(error)[:160]}"))
            continue
        kind = "a sample that cannot be frozen"
        left_out += [(title, name, kind, detail) for name, detail in drawn.left_out]
        for function, gate in gates:
            gate.admit(drawn.samples, KEPT[function.style][place])
    for function, gate in gates:
        pack.cases += gate.cases
        left_out += [(function.name, *reason) for reason in gate.left_out]
    pack.write(path, {"left_out": left_out})


def title_of(op: Any) -> str:
    return f"{op.name} {op.variant_test_name}".strip()


def in_own_process(op: Any, path: Path) -> None:
    """Freeze an operator in a forked process, which may do what it likes; a file stands there in any case."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIMIT_S)
        code = 1
        try:
            freeze_operator(op, path.with_suffix(".part.npz"))
            code = 0
        except BaseException as error:
            print(f"{op.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        how = f"its process ended with {code}" if code > 0 else f"its process was ended by signal {-code}"
        PackWriter().write(path.with_suffix(".part.npz"), {"left_out": [(title_of(op), "", "its process ended", how)]})
    os.replace(path.with_suffix(".part.npz"), path)


def freeze(parts: Path) -> None:
    """Draw every operator that has no file in the folder yet."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    parts.mkdir(parents=True, exist_ok=True)
    for number, op in enumerate(op_db):
        path = parts / f"{number:04}.npz"
        if not path.exists():
            in_own_process(op, path)
            print(f"{number + 1}/{len(op_db)} {title_of(op)}", flush=True)


def merge(parts: Path, suite: Path) -> None:
    """Put the operators' files together into the suite's two: the cases, and what was left out."""
    from torch.testing._internal.common_methods_invocations import op_db

    from runners.torch.devices import version

    whole = PackWriter()
    left_out: list[Reason] = [
        (op.name, alias.name, "an alias", f"charted as {op.name}") for op in op_db for alias in op.aliases
    ]
    taken: set[tuple[str, str]] = set()
    for path in sorted(parts.glob("[0-9]*.npz")):
        part = Pack(path)
        left_out += part.about["left_out"]
        for case in part.cases:
            name = case["function"], case["name"]
            if name in taken:
                left_out.append((*name, "tested by another operator too", ""))
                continue
            taken.add(name)
            whole.take(part, case)
    whole.cases.sort(key=lambda case: (case["function"], case["name"]))
    mark_quick(whole.cases)
    whole.write(suite / PACK, {"torch": version()})
    (suite / LISTED).write_text(listed(left_out, version()))
    functions = {case["function"] for case in whole.cases}
    methods = sum(name.startswith("torch.Tensor.") for name in functions)
    print(f"{len(whole.cases):,} cases of {len(functions)} functions, {methods} of them methods")


def listed(left_out: Sequence[Reason], version: str) -> str:
    """The list of all that was left out, by reason, as JSON with a line for each function; of "enough" the numbers."""
    counts = Counter(reason for _, _, reason, _ in left_out)
    details: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for owner, sample, reason, detail in left_out:
        details[reason][owner][sample] = detail
    reasons = [
        f"{json.dumps(reason)}: {{\n"
        + ",\n".join(
            f"{json.dumps(owner)}: {json.dumps(len(found) if reason == ENOUGH else found)}"
            for owner, found in sorted(owners.items())
        )
        + "\n}"
        for reason, owners in sorted(details.items())
    ]
    head = f'{{"torch": {json.dumps(version)},\n"counts": {json.dumps(dict(sorted(counts.items())))},\n"left_out": {{\n'
    return head + ",\n".join(reasons) + "\n}}\n"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m runners.torch.freezing FOLDER", file=sys.stderr)
        return 2
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    freeze(Path(arguments[0]))
    merge(Path(arguments[0]), SUITE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
