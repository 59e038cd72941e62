"""Draws figures in one separate process, and caches the pictures on disk by a digest of their content."""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from importlib.metadata import version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Literal

from coordinator.errors import DrawingError
from coordinator.operating_system.atomic_files import replacing
from coordinator.process.logs import get_logger
from coordinator.reports.charts.drawing import Form, draw, prepare
from coordinator.reports.charts.figure import Spec

log = get_logger(__name__)

Picture = Literal["svg", "png"]
LIMIT_S = 60.0
"""The time limit of one drawing. A drawing takes hundredths of a second, the first one of a process a second."""
IDLE_S = 60.0
"""The time after which an idle process ends, to free its hundred megabytes."""
DRAWINGS = 500
"""The number of drawings after which the process is replaced, because the drawing library leaks memory."""
KEPT = 1000
"""The maximum number of files in the folder; the least recently used are deleted first."""
LIBRARY = f"vl-convert {version('vl-convert-python')}"
"""A part of the cache key, because another version of the drawing library draws differently."""


def key(spec: Spec | None, form: Form | Literal["json"]) -> str:
    """Return the name of the cache file for a figure in one form: a digest of the figure and of the drawing library's
    version."""
    content = json.dumps([LIBRARY, form, spec], sort_keys=True, ensure_ascii=False)
    return f"{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{form}"


class Renderer:
    """Draws and caches figures: ``await renderer.draw([spec], "svg")``. The application has one renderer."""

    def __init__(self, folder: Path) -> None:
        self._preferred = folder
        self._folder: Path | None = None
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._drawings: dict[str, asyncio.Task[None]] = {}
        # Only one drawing is in the pool at a time, so that only this drawing is lost if its process ends. With
        # several, a pool of Python before 3.14 that renews its process can also forget to start the next one.
        self._turn = asyncio.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def draw(self, specs: Sequence[Spec], form: Picture) -> list[bytes]:
        """Draw a picture of each specification, in order. Raises ``DrawingError``."""
        return [path.read_bytes() for path in await asyncio.gather(*(self._file(spec, form) for spec in specs))]

    async def scripts(self) -> Path:
        """Return the file with the scripts that make figures interactive: Vega, as bundled by the drawing library."""
        return await self._file(None, "js")

    def remember(self, spec: Spec) -> str:
        """Store a specification, and return a key by which a request can name it."""
        path = self._place() / key(spec, "json")
        if not path.exists():
            _write(path, json.dumps(spec).encode())
        return path.stem

    def recall(self, key: str | None) -> Spec | None:
        """Return the specification with this key, if it is still stored."""
        if key is None:
            return None
        try:
            spec: Spec = json.loads((self._place() / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return spec

    async def close(self) -> None:
        """Kill the drawing process."""
        drawings = [*self._drawings.values()]
        for drawing in drawings:
            drawing.cancel()
        await asyncio.gather(*drawings, return_exceptions=True)
        pool = self._end_process()
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)
        if self._own is not None:
            self._own.cleanup()

    async def _file(self, spec: Spec | None, form: Form) -> Path:
        path = self._place() / key(spec, form)
        if path.exists():
            with suppress(OSError):
                os.utime(path)
            return path
        drawing = self._drawings.get(path.name)
        if drawing is None:
            drawing = self._drawings[path.name] = asyncio.create_task(self._draw(path, spec, form))
            drawing.add_done_callback(lambda _: self._drawings.pop(path.name))
        # If one request is cancelled, the other requests that wait for the picture still get it.
        await asyncio.shield(drawing)
        return path

    async def _draw(self, path: Path, spec: Spec | None, form: Form) -> None:
        async with self._turn:
            try:
                async with asyncio.timeout(LIMIT_S):
                    picture = await self._submit(spec, form)
                await asyncio.to_thread(_prune, path.parent)
                await asyncio.to_thread(_write, path, picture)
            except (BrokenProcessPool, TimeoutError) as error:
                log.warning("a figure could not be drawn", reason=str(error) or f"it took more than {LIMIT_S:g} s")
                self._end_process()
                raise DrawingError from error
            except Exception as error:
                # The drawing library rejects a figure with ValueError. The class of its panics cannot be sent to this
                # process.
                why = " ".join(str(error).split())[:300]
                raise DrawingError(
                    f"the figure could not be drawn ({why}): its table has the numbers, and the coordinator's log says "
                    "more"
                ) from error
            finally:
                self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end_process)

    def _submit(self, spec: Spec | None, form: Form) -> asyncio.Future[bytes]:
        loop = asyncio.get_running_loop()
        if self._idle is not None:
            self._idle.cancel()
        try:
            return loop.run_in_executor(self._running_pool(), draw, spec, form)
        except BrokenProcessPool:
            # The process ended while it had nothing to do.
            self._pool = None
            return loop.run_in_executor(self._running_pool(), draw, spec, form)

    def _running_pool(self) -> ProcessPoolExecutor:
        # A pool takes a moment to notice that its process has ended; until then it accepts work that it will lose.
        if self._pool is not None and _has_lost_one(self._pool):
            self._pool = None
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                max_workers=1,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=prepare,
                initargs=(os.getpid(),),
                max_tasks_per_child=DRAWINGS,
            )
        return self._pool

    def _end_process(self) -> ProcessPoolExecutor | None:
        """Kill the process, because a drawing that hangs does not react. Returns the process's pool, if there was one.
        The next drawing starts a new process."""
        pool, self._pool = self._pool, None
        if self._idle is not None:
            self._idle.cancel()
        if pool is not None:
            # ``kill_workers`` exists from Python 3.14.
            for process in list(pool._processes.values()):
                process.kill()
        return pool

    def _place(self) -> Path:
        """Return the preferred folder if it is writable, otherwise a temporary folder."""
        if self._folder is None or not self._folder.is_dir():
            try:
                self._preferred.mkdir(parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=self._preferred).close()
                self._folder = self._preferred
            except OSError:
                self._own = tempfile.TemporaryDirectory(prefix="portolan-figures-")
                self._folder = Path(self._own.name)
        return self._folder


def _write(path: Path, content: bytes) -> None:
    with replacing(path, durable=False) as stream:
        stream.write(content)


def _has_lost_one(pool: ProcessPoolExecutor) -> bool:
    """Whether a process of the pool has ended. Its sentinel pipe is read, because another part of the program may have
    collected its exit status."""
    return bool(wait([process.sentinel for process in list((pool._processes or {}).values())], timeout=0))


def _prune(folder: Path) -> None:
    files = []
    for path in folder.iterdir():
        with suppress(OSError):
            files.append((path.stat().st_mtime, path))
    for _, path in sorted(files)[: max(0, len(files) - KEPT)]:
        path.unlink(missing_ok=True)
