"""The Celery side of the baseline. Only this module imports celery, in a separate environment.

``submit N`` fills the queue before any worker starts. ``wait N`` measures the time from the first stored result to the
last. The time for submission and for starting workers does not count.
"""

from __future__ import annotations

import os
import sys
import time

import celery  # type: ignore[import-not-found]
import redis  # type: ignore[import-not-found]

URL = os.environ["CELERY_BENCH_REDIS"]
LIMIT_S = 240.0
app = celery.Celery("bench", broker=URL, backend=URL)
app.conf.task_ignore_result = False


@app.task(name="nothing")  # type: ignore[untyped-decorator]
def nothing() -> int:
    return 1


def submit(count: int) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(count):
            nothing.apply_async(producer=producer)


def wait(count: int) -> float:
    """Wait for the results, and return their number per second. Results are counted by their keys in Redis."""
    store = redis.Redis.from_url(URL)

    def count_stored() -> int:
        return sum(1 for _ in store.scan_iter("celery-task-meta-*", count=10_000))

    give_up = time.monotonic() + LIMIT_S
    while (first := count_stored()) == 0:
        time.sleep(0.01)
    began = time.monotonic()
    while (last := count_stored()) < count:
        if time.monotonic() > give_up:
            raise SystemExit(f"only {last} of {count} results after {LIMIT_S:.0f} s: run the bench on an idle machine")
        time.sleep(0.1)
    return (last - first) / (time.monotonic() - began)


if __name__ == "__main__":
    if sys.argv[1] == "submit":
        submit(int(sys.argv[2]))
    else:
        print(celery.__version__, wait(int(sys.argv[2])))
