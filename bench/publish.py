"""``publish`` measures a static site of 3,800 functions on six targets, made from the shipped outcomes of torch on XLA.

It measures the CPU time from the evidence to the files on disk; the size of the site, of its front page and of its
largest function page in bytes; and, in a browser, the time until the front page is loaded and the time until a search
result is shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.figure import MeasuredFigure, middle, spread
from bench.place import folder, say
from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.evidence_file import load_shipped
from coordinator.atlas.overview import atlas_of, column_of
from coordinator.atlas.publication import publish
from coordinator.atlas.site import site_files
from coordinator.atlas.whole_atlas import shipped_uses
from coordinator.catalogue.releases import shipped_release
from protocol.enums import DeviceClass

FRAMEWORK = "torch"
FUNCTIONS = 3_800
DEVICES = {
    "cpu": DeviceClass.cpu,
    "cuda": DeviceClass.gpu,
    "mps": DeviceClass.gpu,
    "rocm": DeviceClass.gpu,
    "tpu": DeviceClass.tpu,
    "xla": DeviceClass.cpu,
}
BUILT_CPU_S = 60.0
FRONT_KB, FUNCTION_KB, SITE_MB = 150.0, 60.0, 60.0
LOADED_LIMIT_MS, SEARCH_LIMIT_MS = 1_000.0, 50.0
LOADS = 5
SEARCHES = ("c", "conv", "torch.nn.functional.softmax", "no such function")
# The page's script is deferred, so it has run and drawn before the load event.
LOADED_MS = "performance.getEntriesByType('navigation')[0].loadEventStart"
SEARCHED_MS = """text => {
  const field = document.getElementById("find");
  const began = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input"));
  document.getElementById("found").getBoundingClientRect();
  return performance.now() - began;
}"""


def run() -> Iterator[MeasuredFigure]:
    targets = _targets()
    with folder() as place:
        site = place / "site"
        began = time.process_time()
        columns = [column_of(target, frozenset()) for target in targets]
        atlas = atlas_of(columns, shipped_uses(targets), "is invented for a bench")
        files = publish(site_files(atlas, []), site)
        cpu_s = time.process_time() - began
        say("publish", f"{files:,} files after {cpu_s:.1f} s of CPU")
        cases = sum(len(own) for target in targets for own in target.functions.values())
        size = {"functions": FUNCTIONS, "targets": len(targets), "cases": cases, "files": files}
        yield _below("site_built", cpu_s, "s", BUILT_CPU_S, size)
        yield from _sizes(site, size)
        yield from _front_in_browser(site / "index.html", size)


def _sizes(site: Path, size: dict[str, int]) -> Iterator[MeasuredFigure]:
    yield _below("front_page", _bytes([site / "index.html"]) / 1e3, "kB", FRONT_KB, size)
    largest = max(_bytes([path]) for path in (site / "functions").iterdir())
    yield _below("largest_function_page", largest / 1e3, "kB", FUNCTION_KB, size)
    files = [path for path in site.rglob("*") if path.is_file()]
    yield _below("site", _bytes(files) / 1e6, "MB", SITE_MB, size)


def _front_in_browser(front: Path, size: dict[str, int]) -> Iterator[MeasuredFigure]:
    from scripts import chromium

    path = chromium.find()
    if path is None:
        say("publish", f"no figures of a browser: {chromium.MISSING}")
        return
    with chromium.launch(path) as browser:
        page = browser.new_page()
        loads_ms, searches_ms = [], []
        for _ in range(LOADS):
            page.goto(front.as_uri(), wait_until="load")
            loads_ms.append(page.evaluate(LOADED_MS))
            searches_ms += [page.evaluate(SEARCHED_MS, text) for text in SEARCHES]
    for name, values_ms, limit_ms in (
        ("front_loaded", loads_ms, LOADED_LIMIT_MS),
        ("search", searches_ms, SEARCH_LIMIT_MS),
    ):
        figure = _below(name, middle(values_ms), "ms", limit_ms, size)
        yield replace(figure, n=len(values_ms), spread=spread(values_ms))


def _below(name: str, value: float, unit: str, limit: float, size: dict[str, int]) -> MeasuredFigure:
    return MeasuredFigure(name, value, unit, target=f"under {limit:g} {unit}", met=value < limit, detail=dict(size))


def _bytes(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _targets() -> list[TargetEvidence]:
    """The targets of the site. On each target, every function has the outcomes of a shipped function; the assignment of
    functions differs between targets."""
    (evidence,) = [target for target in load_shipped().targets if target.framework == FRAMEWORK]
    public = sorted(shipped_release(f"{FRAMEWORK}@{evidence.version}").kinds)
    names = [public[number * len(public) // FUNCTIONS] for number in range(FUNCTIONS)]
    models = list(evidence.functions.values())
    return [
        replace(
            evidence,
            device=device,
            device_class=device_class,
            functions={
                name: tuple(
                    replace(case, case=f"{name}/{case.case.rpartition('/')[2]}")
                    for case in models[(number + place) % len(models)]
                )
                for number, name in enumerate(names)
            },
        )
        for place, (device, device_class) in enumerate(DEVICES.items())
    ]
