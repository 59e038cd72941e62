"""A client that reads a coordinator's pages over HTTP, and measures how long each page and /healthz take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from bench.bench_instance import BenchInstance
from bench.figure import MeasuredFigure, middle, spread
from bench.place import CannotRunError, say

READS = 5
FIRST_BYTE_MS = 200.0
BESIDE_MS = 500.0
"""The maximum latency of /healthz while a large response is prepared."""
ASKED_EVERY_S = 0.02
ATLAS_EVERY_S = 0.25
ATLAS_LIMIT_S = 600.0


def site(instance: BenchInstance) -> str:
    """The address of the coordinator without the path of its REST API."""
    address = urlsplit(str(instance.http.base_url))
    return f"{address.scheme}://{address.netloc}"


def access(instance: BenchInstance) -> dict[str, str]:
    return {"Authorization": instance.http.headers["Authorization"]}


def page_client(instance: BenchInstance) -> httpx.Client:
    headers = access(instance) | {"Accept": "text/html"}
    return httpx.Client(base_url=site(instance), headers=headers, timeout=600.0, trust_env=False)


def read(http: httpx.Client, path: str) -> tuple[float, float]:
    """Request a page. Returns the milliseconds until the first byte of its body arrives, and until the last byte."""
    began = time.perf_counter()
    with http.stream("GET", path) as answer:
        pieces = answer.iter_raw()
        if answer.status_code != 200 or not next(pieces, b""):
            raise CannotRunError(
                f"the coordinator answered {answer.status_code} to GET {path}: read the coordinator's log"
            )
        first = time.perf_counter()
        for _ in pieces:
            pass
    return 1000 * (first - began), 1000 * (time.perf_counter() - began)


def first_bytes(bench: str, instance: BenchInstance, pages: Mapping[str, str]) -> Iterator[MeasuredFigure]:
    """Measure the time to the first byte of each page."""
    with page_client(instance) as http:
        for name, path in pages.items():
            firsts, wholes = zip(*(read(http, path) for _ in range(READS)), strict=True)
            say(bench, f"{name}: first byte {middle(firsts):.0f} ms, whole {middle(wholes):.0f} ms")
            yield MeasuredFigure(
                f"first_byte_{name}",
                middle(firsts),
                "ms",
                target=f"under {FIRST_BYTE_MS:g} ms (median of {READS})",
                met=middle(firsts) < FIRST_BYTE_MS,
                n=READS,
                spread=spread(firsts),
                detail={"path": path, "first_ms": firsts[0], "whole_ms": middle(wholes)},
            )


def wait_for_atlas(instance: BenchInstance) -> list[float]:
    """Request the front page until the atlas is built. Returns the milliseconds of each response before the build
    ended."""
    waits_ms: list[float] = []
    give_up = time.monotonic() + ATLAS_LIMIT_S
    with page_client(instance) as http:
        while True:
            began = time.perf_counter()
            answer = http.get("/")
            if answer.is_success:
                return waits_ms
            if answer.status_code != 503 or time.monotonic() > give_up:
                raise CannotRunError(
                    f"the coordinator answered {answer.status_code} to GET /: read the coordinator's log"
                )
            waits_ms.append(1000 * (time.perf_counter() - began))
            time.sleep(ATLAS_EVERY_S)


@contextmanager
def asked_beside(instance: BenchInstance) -> Iterator[list[float]]:
    """Request /healthz repeatedly during the block, at least once. Collects the milliseconds of each response."""
    waits_ms: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=site(instance), timeout=600.0, trust_env=False) as http:
            while not waits_ms or not over.wait(ASKED_EVERY_S):
                began = time.perf_counter()
                http.get("/healthz").raise_for_status()
                waits_ms.append(1000 * (time.perf_counter() - began))

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            yield waits_ms
        finally:
            over.set()
        asking.result()
