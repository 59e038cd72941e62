"""Count which functions follow each other in a corpus.

python -m freezing.following CORPUS

CORPUS is a folder of packages, as for ``portolan catalogue count``. The counts are written to ``followers.json.gz``
beside this file. Run the command in Portolan's own environment. It needs no framework.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from coordinator.catalogue.surfaces import ARRAYS, ROOTS, Surface, array_methods, open_surface, shipped_releases
from coordinator.catalogue.usage.sources import sources
from coordinator.catalogue.usage.workers import UNPARSABLE, bound_parser
from freezing.following.counts import FILE, MOST_KEPT
from freezing.following.resolver import Pair, pairs_in
from protocol.surface import pack


def canonical(name: str, surfaces: Mapping[str, Surface]) -> str | None:
    """Return the canonical name of a function or of a method of an array; None for anything else."""
    root = name.partition(".")[0]
    entry = surfaces[root].resolve(name) if root in surfaces else None
    if entry is None or entry.kind not in ("function", "method"):
        return None
    is_of_array = entry.name.startswith(f"{ARRAYS[root]}.")
    return entry.name if entry.kind == "function" or is_of_array else None


def count(corpus: Path) -> tuple[dict[str, int], Counter[Pair]]:
    """Count the pairs of functions that follow each other in the packages of a corpus.

    Return for each package its number of files with such pairs, and for each pair its number of occurrences in all
    packages.
    """
    methods = array_methods()
    surfaces = {ROOTS[release.partition("@")[0]]: open_surface(release) for release in sorted(shipped_releases())}
    packages: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    for source in sources(corpus):
        if source.refusal is not None or not any(root.encode() in source.content for root in ROOTS):
            continue
        try:
            pairs_of_file = pairs_in(source.content, methods)
        except UNPARSABLE:
            continue
        packages[source.package] += bool(pairs_of_file)
        for (first, second), times in pairs_of_file.items():
            first_name, second_name = canonical(first, surfaces), canonical(second, surfaces)
            if first_name is not None and second_name is not None:
                pairs[first_name, second_name] += times
    return dict(sorted(packages.items())), pairs


def main() -> int:
    parser = argparse.ArgumentParser("python -m freezing.following", description=__doc__)
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    bound_parser()
    packages, pairs = count(parser.parse_args().corpus)
    lists: dict[str, list[tuple[str, str, int]]] = {}
    for framework, root in ROOTS.items():
        own = [(*pair, times) for pair, times in pairs.items() if pair[0].partition(".")[0] == root]
        lists[framework] = sorted(own, key=lambda row: (-row[2], *row[:2]))[:MOST_KEPT]
        print(f"{framework}: {len(own):,} pairs, {sum(row[2] for row in own):,} times")
    FILE.write_bytes(pack(json.dumps({"packages": packages, "pairs": lists}, separators=(",", ":")).encode()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
