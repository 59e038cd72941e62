"""Draws accusations to judge by hand, from charts exported by ``portolan results --format json``.

    python -m bench.truth.drawing SEED NUMBER EXPORT [EXPORT ...]

A chart makes four kinds of accusations against a device: a case raises an error, its result is wrong, it passes but
falls back, or it returns a result where the host raises an error. For each suite and framework, equally many
accusations of each kind are drawn. Each kind has at most one case of a function, because the cases of one function
mostly fail in the same way. Functions that already have a label are not drawn again. The printed lines are rows of
``labels/accusations.jsonl`` without a judgement and its reason, which a person adds.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.truth.accusations import labels

FAILS, WRONG, FALLS_BACK, ACCEPTS = "fails", "wrong value", "falls back", "accepts"
KINDS = (FAILS, WRONG, FALLS_BACK, ACCEPTS)
_KINDS_BY_ENDING = {"mismatched": WRONG, "accepted": ACCEPTS}
SHOWN = 200
"""The maximum number of characters of a message that a label contains."""

_FOLDERS = re.compile(r"(?<!\w)/(?:[^\s/\"]+/)+")
"""Matches folders of the machine that ran the campaign."""

Row = Mapping[str, Any]


def kind_of(row: Row) -> str | None:
    """The kind of accusation that an outcome makes; None if it makes none."""
    if row["verdict"] == "failed":
        return _KINDS_BY_ENDING.get(row["ending"], FAILS)
    return FALLS_BACK if row["verdict"] == "passed" and row["placement"] == "fell_back" else None


def without_functions(rows: Iterable[Row], functions: Collection[tuple[str, str]]) -> list[Row]:
    """The rows without these functions (framework and name)."""
    return [row for row in rows if (row["framework"], row["function"]) not in functions]


def draw(rows: Iterable[Row], number: int, seed: int) -> Iterator[Row]:
    """Draw rows at random, equally many of each kind. If a kind has too few rows, more rows of the other kinds are
    drawn."""
    chance = random.Random(seed)
    waiting = {kind: _one_a_function(rows_of_kind, chance) for kind, rows_of_kind in _by_kind(rows).items()}
    while number and any(waiting.values()):
        for kind in KINDS:
            if number and waiting[kind]:
                number -= 1
                yield waiting[kind].pop()


def _by_kind(rows: Iterable[Row]) -> dict[str, list[Row]]:
    rows_by_kind: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    for row in rows:
        kind = kind_of(row)
        if kind is not None:
            rows_by_kind[kind].append(row)
    return rows_by_kind


def _one_a_function(rows: Sequence[Row], chance: random.Random) -> list[Row]:
    """One randomly chosen case of each function, in random order."""
    cases = defaultdict(list)
    for row in sorted(rows, key=lambda row: str(row["case"])):
        cases[row["function"]].append(row)
    one_each = [chance.choice(of_function) for of_function in cases.values()]
    return chance.sample(one_each, len(one_each))


def without_label(row: Row) -> dict[str, Any]:
    """The accusation in the form of a label: the case, and the chart's claim about it."""
    failure_text = row["message"] or row["mismatch"] or row["signal"] or ", ".join(sorted(row["fallbacks"]))
    return {
        "case": row["case"],
        "suite": row["suite"],
        "framework": row["framework"],
        "target": f"{row['framework']}@{row['version']}/{row['device']}",
        "kind": kind_of(row),
        "cause": row["cause"] or row["cause_on_device"],
        "said": _FOLDERS.sub("", " ".join(failure_text.split()))[:SHOWN],
    }


def main(arguments: Sequence[str]) -> None:
    seed, number, *exports = arguments
    labeled_functions = {(label.framework, label.function) for label in labels()}
    for export in exports:
        rows = without_functions(json.loads(Path(export).read_text()), labeled_functions)
        for row in draw(rows, int(number), int(seed)):
            print(json.dumps(without_label(row)))


if __name__ == "__main__":
    main(sys.argv[1:])
