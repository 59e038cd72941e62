"""Count the functions that fail only in one kind of variants, over the charts in bundles.

python -m freezing.common.deciding BUNDLE…

Each bundle is a whole chart of ``library`` on one target. For each kind, the command prints how many functions have
cases of it, how many fail in it, and how many fail in nothing else. These numbers decide which kinds stand in
``runners/suite/deciding.py``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from freezing.common.variants import VARIANTS
from protocol.enums import GRADIENT, Verdict

PLAIN = "not a variant"


class BundleOutcomes:
    """The cases of a bundle by function and kind, and the ids of those that failed."""

    def __init__(self, lines: Iterable[str]) -> None:
        header, *entries = map(json.loads, lines)
        self.cases: Mapping[str, Mapping[str, object]] = {case["id"]: case for case in header["suite"]["cases"]}
        outcomes = [entry for entry in entries if entry.get("case") in self.cases]
        self.failed = {entry["case"] for entry in outcomes if entry["outcome"]["verdict"] == Verdict.failed}

    def failing_by_kind(self) -> Mapping[str, Mapping[str, bool]]:
        """Return, for each function, its kinds, and whether a case of the kind failed."""
        kinds: dict[str, dict[str, bool]] = defaultdict(dict)
        for case_id, case in self.cases.items():
            own = kinds[str(case["function"])]
            kind = kind_of(case_id, case["tags"])  # type: ignore[arg-type]
            own[kind] = own.get(kind, False) or case_id in self.failed
        return kinds


def kind_of(case_id: str, tags: Sequence[str]) -> str:
    """Return the kind of a case: the variant that ends its name, and whether it is a gradient."""
    ends = "|".join(sorted((re.escape(variant.name) for variant in VARIANTS), key=len, reverse=True))
    end = re.search(rf"-({ends})$", case_id.partition("/")[2])
    return f"{GRADIENT} " * (GRADIENT in tags) + (end[1] if end else PLAIN)


def count(charts: Sequence[BundleOutcomes]) -> list[tuple[str, int, int, int]]:
    """Return for each kind the numbers of functions: with it, failing in it, and failing only in it."""
    totals: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    only: Counter[str] = Counter()
    for kinds in (kinds for chart in charts for kinds in chart.failing_by_kind().values()):
        failing_kinds = {kind for kind, fails in kinds.items() if fails}
        totals.update(list(kinds))
        failures.update(failing_kinds)
        only.update(failing_kinds if len(failing_kinds) == 1 else ())
    rows = [(kind, totals[kind], failures[kind], only[kind]) for kind in totals]
    return sorted(rows, key=lambda row: row[3] / row[1], reverse=True)


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("usage: python -m freezing.common.deciding BUNDLE…", file=sys.stderr)
        return 2
    charts = [BundleOutcomes(Path(path).read_text(encoding="utf-8").splitlines()) for path in arguments]
    for kind, total, failures, only in count(charts):
        print(f"{kind:28} {total:5} functions, {failures:4} fail in it, {only:4} only in it ({only / total:.1%})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
