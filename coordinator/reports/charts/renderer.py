"""Figures as pictures: drawn in a process of their own, kept on disk by what they show.

The drawing library holds a hundred megabytes and takes a second to start. So whoever asks while a
process is drawing waits for the next one, which draws everything that was asked for meanwhile.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from coordinator.errors import DrawingError
from coordinator.reports.charts.figure import Spec

log = logging.getLogger(__name__)

Picture = Literal["svg", "png"]
Made = Literal["svg", "png", "js", "json"]
LIMIT_S = 120.0
"""Of one process, which may draw dozens."""
KEPT = 1000
"""Files in the folder; the ones that were not asked for longest go first."""
LIBRARY = f"vl-convert {version('vl-convert-python')}"
"""What draws: another version's pictures are others."""


def key(spec: Spec | None, made: Made) -> str:
    """The name of a file that holds it: of what is shown and what draws it."""
    asked = json.dumps([LIBRARY, made, spec], sort_keys=True, ensure_ascii=False)
    return f"{hashlib.sha256(asked.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{made}"


class Drawer:
    """``await drawer.draw([spec], "svg")``; one for the application."""

    def __init__(self, folder: Path) -> None:
        self._wanted = folder
        self._folder: Path | None = None
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._waiting: dict[str, tuple[Spec | None, Made, asyncio.Future[None]]] = {}
        self._drawing: asyncio.Task[None] | None = None

    async def draw(self, specs: Sequence[Spec], made: Picture) -> list[bytes]:
        """The pictures in the same order."""
        return [path.read_bytes() for path in await asyncio.gather(*(self._file(spec, made) for spec in specs))]

    async def scripts(self) -> Path:
        """The file of the scripts that make figures interactive: Vega, as the drawing library bundles it."""
        return await self._file(None, "js")

    def keep(self, spec: Spec) -> str:
        """Remember a specification, so that a picture of it can be asked for by the key that is returned."""
        name = key(spec, "json")
        path = self._place() / name
        if not path.exists():
            part = path.with_name(f"{name}.{os.getpid()}")
            part.write_text(json.dumps(spec), encoding="utf-8")
            part.replace(path)
        return name.removesuffix(".json")

    def kept(self, known: str | None) -> Spec | None:
        """What was kept under this key, if it is still there."""
        if known is None:
            return None
        try:
            spec: Spec = json.loads((self._place() / f"{known}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return spec

    async def close(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            await asyncio.wait([self._drawing])
        if self._own is not None:
            self._own.cleanup()

    async def _file(self, spec: Spec | None, made: Made) -> Path:
        name = key(spec, made)
        path = self._place() / name
        if path.exists():
            with suppress(OSError):
                os.utime(path)
            return path
        if name not in self._waiting:
            self._waiting[name] = (spec, made, asyncio.get_running_loop().create_future())
        done = self._waiting[name][2]
        if self._drawing is None or self._drawing.done():
            self._drawing = asyncio.create_task(self._draw_all())
        # Whoever else waits for it is not cancelled with us.
        await asyncio.shield(done)
        return path

    async def _draw_all(self) -> None:
        """Until nobody waits: one process after the other."""
        while self._waiting:
            # Those who ask in the same turn of the loop are drawn together.
            await asyncio.sleep(0)
            asked = dict(self._waiting)
            try:
                await self._draw_these(asked)
            finally:
                for name, (_, _, done) in asked.items():
                    self._waiting.pop(name, None)
                    if not done.done():
                        done.set_exception(DrawingError())
                        # Whoever asked may have left.
                        done.exception()

    async def _draw_these(self, asked: dict[str, tuple[Spec | None, Made, asyncio.Future[None]]]) -> None:
        folder = self._place()
        await asyncio.to_thread(_prune, folder)
        orders = [{"path": str(folder / name), "spec": spec, "made": made} for name, (spec, made, _) in asked.items()]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "coordinator.reports.charts.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            said, complaint = await asyncio.wait_for(child.communicate(json.dumps(orders).encode()), LIMIT_S)
        except TimeoutError:
            log.warning("drawing %d figures took more than %s s", len(orders), LIMIT_S)
            return
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        failed = dict(json.loads(line) for line in said.splitlines())
        if child.returncode != 0:
            log.warning(
                "the process that draws ended with %s: %s", child.returncode, complaint.decode(errors="replace")
            )
        for name, (_, _, done) in asked.items():
            if done.done():
                continue
            if (folder / name).exists():
                done.set_result(None)
            elif (why := failed.get(str(folder / name))) is not None:
                done.set_exception(DrawingError(f"the figure could not be drawn: {why}"))
                done.exception()

    def _place(self) -> Path:
        """The wanted folder if it can be written to, else one of our own."""
        if self._folder is None or not self._folder.is_dir():
            try:
                self._wanted.mkdir(parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=self._wanted).close()
                self._folder = self._wanted
            except OSError:
                self._own = tempfile.TemporaryDirectory(prefix="portolan-figures-")
                self._folder = Path(self._own.name)
        return self._folder


def _prune(folder: Path) -> None:
    kept = []
    for each in folder.iterdir():
        with suppress(OSError):
            kept.append((each.stat().st_mtime, each))
    for _, each in sorted(kept)[: max(0, len(kept) - KEPT)]:
        each.unlink(missing_ok=True)
