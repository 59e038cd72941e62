"""A process of a pool draws each figure once."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from coordinator.errors import DrawingError
from coordinator.reports.charts import renderer as rendering
from coordinator.reports.charts.renderer import Renderer
from tests.runner_process import ROOT

SPEC: dict[str, Any] = {
    "data": {"values": [{"a": "<b>one</b>", "b": 3}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
}
PNG = b"\x89PNG\r\n\x1a\n"


def other(number: int) -> dict[str, Any]:
    return {**SPEC, "width": 100 + number}


def processes(parent: int | None = None) -> list[psutil.Process]:
    """The pool processes of this process, or of another one."""
    children = []
    for child in psutil.Process(parent).children():
        with suppress(psutil.NoSuchProcess):  # or a zombie, which is one
            children += [child] if "spawn_main" in " ".join(child.cmdline()) else []
    return children


async def wait_gone(process: psutil.Process) -> bool:
    ended_processes, _ = await asyncio.to_thread(psutil.wait_procs, [process], 30)
    return ended_processes == [process]


async def submit(renderer: Renderer, spec: dict[str, Any]) -> asyncio.Task[list[bytes]]:
    """Submit a drawing, and wait until the process has it, unless it must wait for another drawing."""
    drawing = asyncio.create_task(renderer.draw([spec], "svg"))
    for _ in range(10):
        await asyncio.sleep(0)
    return drawing


def the_process() -> psutil.Process:
    (process,) = processes()
    return process


@pytest.fixture
async def renderer(tmp_path: Path) -> AsyncIterator[Renderer]:
    renderer = Renderer(tmp_path / "figures")
    yield renderer
    await renderer.close()


async def test_a_figure_is_drawn_with_its_text_as_text(renderer: Renderer) -> None:
    (svg,) = await renderer.draw([SPEC], "svg")
    assert svg.startswith(b"<svg ")
    assert b"&lt;b&gt;one&lt;/b&gt;" in svg
    assert b"<b>" not in svg
    (png,) = await renderer.draw([SPEC], "png")
    assert png.startswith(PNG)


@pytest.mark.parametrize("start", ["", "a"])
async def test_a_long_name_of_any_characters_is_drawn(renderer: Renderer, start: str) -> None:
    """The drawing library shortens the name to the available room, and may cut a character into halves."""
    names = [f"{start}{face * 200}" for face in "\U0001f600\U0001f601"]
    spec = {**SPEC, "data": {"values": [{"a": name, "b": 3} for name in names]}}
    spec["encoding"] = {**SPEC["encoding"], "x": {**SPEC["encoding"]["x"], "axis": {"labelLimit": 420}}}
    (svg,) = await renderer.draw([spec], "svg")
    assert svg.count(b'aria-roledescription="bar"') == 2
    (png,) = await renderer.draw([spec], "png")
    assert png.startswith(PNG)


async def test_all_figures_are_drawn_by_one_process(renderer: Renderer) -> None:
    specs = [other(number) for number in range(6)]
    drawings = await asyncio.gather(*(renderer.draw([spec], "svg") for spec in specs))
    assert len({svg for (svg,) in drawings}) == 6
    first = the_process()
    await renderer.draw([other(7)], "png")
    assert the_process() == first


async def test_a_figure_that_is_drawn_needs_no_process_again(renderer: Renderer) -> None:
    drawing = await renderer.draw([SPEC], "svg")
    the_process().suspend()
    assert await renderer.draw([SPEC], "svg") == drawing


async def test_a_process_is_renewed_after_so_many_drawings(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "DRAWINGS", 2)
    await renderer.draw([SPEC], "svg")
    first = the_process()
    pictures = await renderer.draw([other(number) for number in range(4)], "svg")
    assert len(set(pictures)) == 4
    # The third has drawn one, so it is there still.
    assert the_process() != first


async def test_a_process_without_work_ends_and_the_next_one_draws(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "IDLE_S", 0.1)
    drawing = await submit(renderer, SPEC)
    process = the_process()
    assert await drawing
    assert await wait_gone(process)
    assert await renderer.draw([other(1)], "svg")


async def test_a_figure_survives_a_restart(renderer: Renderer, tmp_path: Path) -> None:
    (svg,) = await renderer.draw([SPEC], "svg")
    (path,) = (tmp_path / "figures").glob("*.svg")
    path.write_bytes(svg + b"<!-- kept -->")
    assert await Renderer(tmp_path / "figures").draw([SPEC], "svg") == [svg + b"<!-- kept -->"]


async def test_one_that_cannot_be_drawn_leaves_the_others(renderer: Renderer) -> None:
    broken = {"mark": "nothing of the kind"}
    both = await asyncio.gather(renderer.draw([broken], "svg"), renderer.draw([SPEC], "svg"), return_exceptions=True)
    assert isinstance(both[0], DrawingError)
    assert "the figure could not be drawn (" in str(both[0])
    assert isinstance(both[1], list)


async def test_nothing_is_fetched_for_a_figure(renderer: Renderer) -> None:
    """A figure that refers to another address is refused before any connection is made."""
    request_lines = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request_lines.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        spec = {**SPEC, "data": {"url": f"http://127.0.0.1:{port}/data.json"}}
        await asyncio.gather(renderer.draw([spec], "svg"), return_exceptions=True)
    assert request_lines == []


async def test_a_process_that_is_killed_costs_the_figure_that_it_draws(renderer: Renderer) -> None:
    await renderer.draw([SPEC], "svg")
    process = the_process()
    process.suspend()
    interrupted_drawing, next_one = await submit(renderer, other(1)), await submit(renderer, other(2))
    process.kill()
    with pytest.raises(DrawingError, match="its table has the numbers"):
        await interrupted_drawing
    (svg,) = await next_one
    assert svg.startswith(b"<svg ")


async def test_a_drawing_that_hangs_costs_that_figure_and_its_process(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await renderer.draw([SPEC], "svg")
    process = the_process()
    process.suspend()
    with monkeypatch.context() as short:
        short.setattr(rendering, "LIMIT_S", 0.2)
        with pytest.raises(DrawingError, match="its table has the numbers"):
            await renderer.draw([other(1)], "svg")
    (svg,) = await renderer.draw([other(1)], "svg")
    assert svg.startswith(b"<svg ")
    assert the_process() != process


async def test_a_process_that_was_killed_without_work_costs_nothing(renderer: Renderer) -> None:
    await renderer.draw([SPEC], "svg")
    process = the_process()
    process.kill()
    assert await wait_gone(process)
    (svg,) = await renderer.draw([other(1)], "svg")
    assert svg.startswith(b"<svg ")


async def test_closing_does_not_wait_for_a_drawing_that_hangs(renderer: Renderer) -> None:
    await renderer.draw([SPEC], "svg")
    the_process().suspend()
    drawing = await submit(renderer, other(1))
    await renderer.close()
    assert processes() == []
    with pytest.raises(asyncio.CancelledError):
        await drawing


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    program = f"""
import asyncio, pathlib
from coordinator.reports.charts.renderer import Renderer
async def main():
    await Renderer(pathlib.Path({str(tmp_path)!r})).draw([{SPEC!r}], "svg")
    print("drawn", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "drawn\n"
        (process,) = processes(parent.pid)
        parent.kill()
    ended_processes, _ = psutil.wait_procs([process], timeout=30)
    assert ended_processes == [process]


async def test_who_leaves_does_not_take_the_picture_from_others(renderer: Renderer) -> None:
    leaving = asyncio.create_task(renderer.draw([SPEC], "svg"))
    staying = asyncio.create_task(renderer.draw([SPEC], "svg"))
    await asyncio.sleep(0)
    leaving.cancel()
    (svg,) = await staying
    assert svg.startswith(b"<svg ")


async def test_a_folder_that_cannot_be_written_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    renderer = Renderer(tmp_path / "file" / "figures")
    (svg,) = await renderer.draw([SPEC], "svg")
    await renderer.close()
    assert svg.startswith(b"<svg ")


async def test_a_specification_is_found_again_by_its_key(renderer: Renderer) -> None:
    key = renderer.remember(SPEC)
    assert re.fullmatch("[0-9a-f]{32}", key)
    assert renderer.recall(key) == SPEC
    assert renderer.recall("0" * 32) is None
    assert renderer.recall(None) is None


async def test_what_nobody_asked_for_longest_goes_first(
    renderer: Renderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "KEPT", 2)
    folder = tmp_path / "figures"
    folder.mkdir()
    for age, name in enumerate(("new.svg", "newer.svg", "old.svg")):
        (folder / name).write_text("x")
        os.utime(folder / name, (1000 - (age == 2), 1000 - (age == 2)))
    await renderer.draw([SPEC], "svg")
    assert not (folder / "old.svg").exists()
    assert (folder / "new.svg").exists()


async def test_the_scripts_of_interactive_figures_come_whole(renderer: Renderer) -> None:
    text = (await renderer.scripts()).read_text()
    assert "window.vegaEmbed" in text
    assert len(text) > 500_000
