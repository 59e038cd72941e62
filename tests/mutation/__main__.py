"""``python -m tests.mutation [--mutants N] [--seed N]`` ends with 0 if every mutant was detected, with 1 if one
survived, and with 2 if the run was not possible.

One line per mutant is printed on stdout.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections.abc import Sequence

from tests.mutation.areas import AREAS
from tests.mutation.candidates import CandidateError, candidates, draw
from tests.mutation.equivalents import read_equivalents
from tests.mutation.trial import TreeCopy

LIMIT_S = 900.0


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    try:
        mutants = [mutant for area in options.area or AREAS for mutant in candidates(area)]
        equivalent = read_equivalents(mutants, options.area)
    except CandidateError as error:
        print(f"the mutants cannot be made: {error}", file=sys.stderr)
        return 2
    # Skipped after the draw, so that a new entry does not change what else a seed draws.
    drawn_mutants = draw(mutants, options.mutants, options.seed, equivalent)
    drawn_mutants = [mutant for mutant in drawn_mutants if options.only in str(mutant)]
    print(f"{len(drawn_mutants)} of {len(mutants)} mutants, seed {options.seed}", flush=True)
    if options.list:
        print("\n".join(map(str, drawn_mutants)))
        return 0
    # A process that a shell starts in the background ignores Ctrl-C, and then nothing would remove the copy.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    survivors = 0
    with TreeCopy(is_quick=options.quick) as copy:
        for number, mutant in enumerate(drawn_mutants, 1):
            result = copy.test(mutant, options.limit_s)
            survivors += not result.is_noticed
            print(f"{number:2} {mutant}: {result}", flush=True)
    print(f"{len(drawn_mutants) - survivors} noticed, {survivors} survived (seed {options.seed})")
    return 1 if survivors else 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--mutants", type=int, default=30, help="how many to draw (30)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000), help="of the draw")
    parser.add_argument("--area", action="append", choices=list(AREAS), help="draw from this area only")
    parser.add_argument("--limit-s", type=float, default=LIMIT_S, help="seconds of tests for one mutant (900)")
    parser.add_argument(
        "--quick", action="store_true", help="run only unit and integration tests; the others may detect survivors"
    )
    parser.add_argument("--only", default="", help="only drawn mutants whose line in the report contains this text")
    parser.add_argument("--list", action="store_true", help="list the drawn mutants and run no tests")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
