"""Runs the fault matrix for hours: ``python -m tests.faults.matrix --seed 7 --minutes 60 --report FILE``.

With ``--only``, one trial runs for each kind of fault whose name contains these words, with no other kind.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults.matrix.kinds import KINDS
from tests.faults.matrix.plan import Planned, schedule
from tests.faults.matrix.report import report
from tests.faults.matrix.trial import Trial, progress
from tests.faults.matrix.world import World

TRIAL_S = 300.0
"""The length of one trial in seconds. Campaigns must end now and then, so that a violation is found soon after its
cause."""
LONGEST_SEED = 2**31


def main() -> int:
    options = _options()
    # Whatever ends this takes the world with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seed = random.randrange(LONGEST_SEED) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="portolan-matrix-", dir=options.folder))
    folder.chmod(0o711)
    world = World(folder)
    verdicts = []
    try:
        for trial in _trials(world, options, seed):
            verdicts.append(trial.hold())
            print("\n".join(progress(verdicts[-1])), flush=True)
    finally:
        world.close()
    if options.report is not None:
        options.report.write_text(report(verdicts, options.minutes))
    return int(any(verdict.violations for verdict in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description=__doc__)
    parser.add_argument("--seed", type=int, help="of the first trial; those that follow count up from it")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--report", type=Path, help="a Markdown file with the counts")
    parser.add_argument("--folder", type=Path, help="where the data are kept; PostgreSQL's user must get there")
    parser.add_argument("--only", nargs="+", help="words in the names of kinds")
    return parser.parse_args()


def _trials(world: World, options: argparse.Namespace, seed: int) -> Iterator[Trial]:
    if options.only:
        for kind in KINDS:
            if any(words in kind.name for words in options.only):
                print(f"— {kind.name}", flush=True)
                yield Trial(world, seed, [Planned(kind, random.Random(seed).choice(kind.targets), 6.0)])
        return
    end = time.monotonic() + options.minutes * 60
    while (left_s := end - time.monotonic()) > 0:
        yield Trial(world, seed, schedule(KINDS, seed, min(left_s, TRIAL_S)))
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
