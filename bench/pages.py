"""``pages`` measures how long readers wait for pages of a database with a million outcomes and of one very large
campaign.

It measures the time to the first byte of every kind of page, the time until the matrix is usable in a browser, a
report, and the coordinator's memory while it serves them. The browser is Debian's Chromium on this machine. The large
campaign has 3,000 functions of a real release and 60,000 cases on each of 6 targets, in one run. The same limits apply
to its pages, its REST responses, and everything that is computed from all of it (charts, tables, summary, comparison,
report, exports).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import asyncpg
import httpx
import psutil

from bench import charted
from bench.bench_instance import BenchInstance, coordinator, database
from bench.charted import Size
from bench.figure import MeasuredFigure, middle, spread
from bench.memory import held_mb, measure
from bench.place import CannotRunError, folder, say
from bench.reader import (
    ASKED_EVERY_S,
    BESIDE_MS,
    READS,
    access,
    asked_beside,
    first_bytes,
    page_client,
    read,
    site,
    wait_for_atlas,
)

WIDE = Size("wide", functions=5_000, cases=5, runs=3, targets=12)
AGAIN = Size("again", functions=500, cases=5, runs=3, targets=4)
SENT = Size("sent", functions=200, cases=10, runs=6, targets=6)
LARGE = Size("torch", functions=3_000, cases=20, runs=1, targets=6, releases=("torch@2.9.0", "torch@2.15.0"))
SIZES = (WIDE, AGAIN, SENT, LARGE)
INTERACTIVE_MS = 1_000.0
REPORT_S = 10.0
COORDINATOR_MB = 500.0
ADDED_UP_S = 600.0
FUNCTION = "wide.module_1.function_1"
# The page has loaded, its scripts have run, and the browser has time to paint.
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))"


def run() -> Iterator[MeasuredFigure]:
    with folder() as place, database(place) as dsn:
        began = time.monotonic()
        campaigns = asyncio.run(charted.make(dsn, *SIZES))
        wide, again, sent, large = campaigns
        total = sum(size.outcomes for size in SIZES)
        say("pages", f"{total:,} outcomes written in {time.monotonic() - began:.0f} s")
        with coordinator(dsn, place) as instance:
            _wait_added_up(instance, campaigns)
            wait_for_atlas(instance)
            yield from first_bytes("pages", instance, _pages(wide, again, _job(dsn, wide)))
            yield _matrix(instance, wide)
            yield _report(instance, sent, SENT)
            yield _memory(instance, total)
            yield from _large(instance, large, _job(dsn, large))
            yield _memory(instance, total, "_large")


def _pages(wide: int, again: int, job: int) -> dict[str, str]:
    campaign = f"/campaigns/{wide}"
    return {
        "atlas": "/",
        "atlas_search": "/?q=function_1",
        "atlas_function": f"/atlas/functions/{FUNCTION}.html",
        "campaigns": "/campaigns",
        "new_campaign": f"/campaigns/new?like={wide}",
        "campaign": campaign,
        "matrix": f"{campaign}/matrix",
        "matrix_far": f"{campaign}/matrix?offset=4900",
        "matrix_query": f"{campaign}/matrix?q=module_7.*+fails:xla+passes:cpu+cause:type",
        "matrix_on_device": f"{campaign}/matrix?rule=on_device&q=fails:cuda",
        "function": f"{campaign}/functions/wide/{FUNCTION}",
        "outcome": f"{campaign}/outcomes/{job}",
        "history": f"/history/wide/{FUNCTION}",
        "compare_form": "/compare",
        "compare_targets": f"/compare?a={wide}:wide@1.0/cuda&b={wide}:wide@2.0/cuda",
        "figures": f"/campaigns/{again}/figures",
        "figures_wide": f"{campaign}/figures",
        "reference": "/reference",
        "runners": "/runners",
        "new_runner": "/runners/new",
    }


def _large(instance: BenchInstance, large: int, job: int) -> Iterator[MeasuredFigure]:
    """Measure the pages and the paged REST responses of the large campaign. Then measure the exports of the whole
    campaign."""
    campaign, rest, function = f"/campaigns/{large}", f"/api/v1/campaigns/{large}", LARGE.names[0]
    first, second = (f"{large}:{release}/cpu" for release in LARGE.releases)
    yield from first_bytes(
        "pages",
        instance,
        {
            "large_campaign": campaign,
            "large_matrix": f"{campaign}/matrix",
            "large_matrix_query": f"{campaign}/matrix?q=torch.nn.*+fails:xla+passes:cpu+cause:type",
            "large_function": f"{campaign}/functions/torch/{function}",
            "large_outcome": f"{campaign}/outcomes/{job}",
            "large_history": f"/history/torch/{function}",
            "large_compare": f"/compare?a={first}&b={second}",
            "large_figures": f"{campaign}/figures",
            "large_rest_campaign": rest,
            "large_rest_results": f"{rest}/outcomes?limit=500",
            "large_rest_failed": f"{rest}/outcomes?limit=500&verdict=failed&device=xla",
            "large_rest_matrix": f"{rest}/matrix?limit=100",
            "large_rest_coverage": f"{rest}/coverage",
        },
    )
    wholes = {
        "summary": f"{rest}/summary",
        "tables": f"{rest}/tables",
        "table": f"{rest}/tables/latencies?format=csv",
        "figures": f"{rest}/figures",
        "figure": f"{rest}/figures/scatter?format=svg",
        "comparison": f"/api/v1/compare?a={first}&b={second}",
        "matrix": f"{rest}/matrix",
        "figures_page": f"{campaign}/figures",
        "compare_page": f"/compare?a={first}&b={second}",
    }
    exports = {form: f"{rest}/outcomes?format={form}" for form in ("csv", "parquet")}
    waits = {}
    with page_client(instance) as http:
        for name, path in (wholes | exports).items():
            with asked_beside(instance) as asked_ms:
                _, whole = read(http, path)
            waits[name] = max(asked_ms)
            say("pages", f"large {name}: whole {whole / 1000:.1f} s, /healthz meanwhile {waits[name]:.0f} ms at most")
            is_file = name in exports
            yield MeasuredFigure(
                f"whole_large_{name}",
                whole / 1000,
                "s",
                target="no goal: every outcome in a file" if is_file else f"under {REPORT_S:g} s, as a report",
                met=None if is_file else whole < 1000 * REPORT_S,
                detail={"path": path, "outcomes": LARGE.outcomes},
            )
    with asked_beside(instance) as asked_ms:
        yield _report(instance, large, LARGE, "_large")
    waits["report"] = max(asked_ms)
    yield MeasuredFigure(
        "healthz_beside_wholes",
        max(waits.values()),
        "ms",
        target=f"under {BESIDE_MS:g} ms, while any of these is made",
        met=max(waits.values()) < BESIDE_MS,
        n=len(waits),
        detail={"each_ms": waits, "asked_every_s": ASKED_EVERY_S},
    )


def _matrix(instance: BenchInstance, campaign: int) -> MeasuredFigure:
    try:
        from scripts import chromium
    except ImportError as error:
        raise CannotRunError(f"{error}; run: make setup") from error
    path = chromium.find()
    if path is None:
        raise CannotRunError(chromium.MISSING)
    address = f"{site(instance)}/campaigns/{campaign}/matrix"
    with chromium.launch(path) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{site(instance)}/campaigns")
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        durations_ms = []
        for _ in range(READS):
            page.goto(address, wait_until="load")
            durations_ms.append(float(page.evaluate(PAINTED)))
        rows = page.locator("table tbody tr").count()
        metrics = {metric["name"]: metric["value"] for metric in devtools.send("Performance.getMetrics")["metrics"]}
    say("pages", f"matrix: interactive after {middle(durations_ms):.0f} ms")
    return MeasuredFigure(
        "matrix_interactive",
        middle(durations_ms),
        "ms",
        target=f"under {INTERACTIVE_MS:g} ms from the click to a painted page that takes input (median of {READS})",
        met=middle(durations_ms) < INTERACTIVE_MS,
        n=READS,
        spread=spread(durations_ms),
        detail={"functions": WIDE.functions, "targets": WIDE.targets, "rows_on_page": rows, **_browser_ms(metrics)},
    )


def _browser_ms(metrics: dict[str, float]) -> dict[str, float]:
    """The processor time that the browser itself uses for one load of the page. Other load on the machine does not
    affect this time."""
    parts = {"LayoutDuration": "layout_ms", "RecalcStyleDuration": "style_ms", "TaskDuration": "all_ms"}
    return {label: 1000 * metrics[name] for name, label in parts.items()}


def _report(instance: BenchInstance, campaign: int, size: Size, name: str = "") -> MeasuredFigure:
    began = time.perf_counter()
    answer = instance.http.get(f"/campaigns/{campaign}/report", timeout=600.0)
    took = time.perf_counter() - began
    if not answer.is_success:
        raise CannotRunError(
            f"the coordinator answered {answer.status_code} to the request for a report ({answer.text[:300]}): "
            "read its log"
        )
    say("pages", f"report{name}: {took:.1f} s, {len(answer.content):,} bytes")
    return MeasuredFigure(
        f"report{name}",
        took,
        "s",
        target=f"under {REPORT_S:g} s for {size.functions:,} functions on {size.targets} targets, "
        "no figure drawn before",
        met=took < REPORT_S,
        detail={"outcomes": size.outcomes, "bytes": len(answer.content)},
    )


def _memory(instance: BenchInstance, outcomes: int, name: str = "") -> MeasuredFigure:
    """Measure the coordinator's highest resident set size, as recorded by the kernel."""
    peak = _peak_mb(instance.pid)
    say("pages", f"coordinator{name}: at most {peak:.0f} MB")
    return MeasuredFigure(
        f"coordinator_peak{name}",
        peak,
        "MB",
        target=f"under {COORDINATOR_MB:g} MB while doing all of it",
        met=peak < COORDINATOR_MB,
        detail={"outcomes": outcomes, "after_mb": held_mb(instance.pid), "after_measure": measure(instance.pid)},
    )


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1_000_000
    return psutil.Process(pid).memory_info().rss / 1_000_000


def _wait_added_up(instance: BenchInstance, campaigns: Sequence[int]) -> None:
    """Wait until the matrices are up to date. They are refreshed in the background, once for each campaign."""
    began = time.monotonic()
    with httpx.Client(base_url=site(instance), headers=access(instance), timeout=60.0, trust_env=False) as http:
        for campaign in campaigns:
            path = f"/api/v1/campaigns/{campaign}/matrix?limit=1"
            while not http.get(path).raise_for_status().json()["freshness"]["current"]:
                if time.monotonic() - began > ADDED_UP_S:
                    raise CannotRunError(
                        f"the matrix of campaign {campaign} is not up to date after {ADDED_UP_S:g} s: "
                        "run the bench on an idle machine"
                    )
                time.sleep(1.0)
    say("pages", f"the matrices are up to date after {time.monotonic() - began:.0f} s")


def _job(dsn: str, campaign: int) -> int:
    async def ask() -> int:
        connection = await asyncpg.connect(dsn)
        try:
            job_id = await connection.fetchval(
                "SELECT job_id FROM outcomes WHERE campaign_id = $1 AND verdict = 'failed' LIMIT 1", campaign
            )
            return int(job_id)
        finally:
            await connection.close()

    return asyncio.run(ask())
