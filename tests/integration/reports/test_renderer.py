"""Figures become pictures in a process of their own, once each."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.errors import DrawingError
from coordinator.reports.charts import renderer
from coordinator.reports.charts.renderer import Drawer

SPEC: dict[str, Any] = {
    "data": {"values": [{"a": "<b>one</b>", "b": 3}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}},
}
PNG = b"\x89PNG\r\n\x1a\n"


def other(number: int) -> dict[str, Any]:
    return {**SPEC, "width": 100 + number}


@pytest.fixture
async def drawer(tmp_path: Path) -> AsyncIterator[Drawer]:
    drawer = Drawer(tmp_path / "figures")
    yield drawer
    await drawer.close()


async def test_a_figure_is_drawn_with_its_text_as_text(drawer: Drawer) -> None:
    (svg,) = await drawer.draw([SPEC], "svg")
    assert svg.startswith(b"<svg ")
    assert b"&lt;b&gt;one&lt;/b&gt;" in svg
    assert b"<b>" not in svg
    (png,) = await drawer.draw([SPEC], "png")
    assert png.startswith(PNG)


async def test_all_that_is_asked_for_together_is_drawn_by_few_processes(
    drawer: Drawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = 0
    start = asyncio.create_subprocess_exec

    async def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal started
        started += 1
        return await start(*arguments, **options)

    monkeypatch.setattr(renderer.asyncio, "create_subprocess_exec", counted)
    specs = [other(number) for number in range(6)]
    found = await asyncio.gather(*(drawer.draw([spec], "svg") for spec in specs))
    assert len({svg for (svg,) in found}) == 6
    assert started == 1
    assert await drawer.draw(specs, "svg") == [svg for (svg,) in found]
    assert started == 1


async def test_a_figure_survives_a_restart(drawer: Drawer, tmp_path: Path) -> None:
    (svg,) = await drawer.draw([SPEC], "svg")
    (path,) = (tmp_path / "figures").glob("*.svg")
    path.write_bytes(svg + b"<!-- kept -->")
    assert await Drawer(tmp_path / "figures").draw([SPEC], "svg") == [svg + b"<!-- kept -->"]


async def test_one_that_cannot_be_drawn_leaves_the_others(drawer: Drawer) -> None:
    broken = {"mark": "nothing of the kind"}
    both = await asyncio.gather(drawer.draw([broken], "svg"), drawer.draw([SPEC], "svg"), return_exceptions=True)
    assert isinstance(both[0], DrawingError)
    assert "the figure could not be drawn: " in str(both[0])
    assert isinstance(both[1], list)


async def test_nothing_is_fetched_for_a_figure(drawer: Drawer) -> None:
    """What is asked for elsewhere is refused before anybody connects."""
    asked = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        spec = {**SPEC, "data": {"url": f"http://127.0.0.1:{port}/data.json"}}
        await asyncio.gather(drawer.draw([spec], "svg"), return_exceptions=True)
    assert asked == []


async def test_a_process_that_is_killed_is_an_error_and_the_next_one_draws(
    drawer: Drawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = asyncio.create_subprocess_exec

    async def killed(*arguments: Any, **options: Any) -> Any:
        child = await start(*arguments, **options)
        child.kill()
        return child

    monkeypatch.setattr(renderer.asyncio, "create_subprocess_exec", killed)
    with pytest.raises(DrawingError, match="its table has the numbers"):
        await drawer.draw([SPEC], "svg")
    monkeypatch.undo()
    (svg,) = await drawer.draw([SPEC], "svg")
    assert svg.startswith(b"<svg ")


async def test_who_leaves_does_not_take_the_picture_from_others(drawer: Drawer) -> None:
    leaving = asyncio.create_task(drawer.draw([SPEC], "svg"))
    staying = asyncio.create_task(drawer.draw([SPEC], "svg"))
    await asyncio.sleep(0)
    leaving.cancel()
    (svg,) = await staying
    assert svg.startswith(b"<svg ")


async def test_a_folder_that_cannot_be_written_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    drawer = Drawer(tmp_path / "file" / "figures")
    (svg,) = await drawer.draw([SPEC], "svg")
    await drawer.close()
    assert svg.startswith(b"<svg ")


async def test_a_specification_is_found_again_by_its_key(drawer: Drawer) -> None:
    known = drawer.keep(SPEC)
    assert re.fullmatch("[0-9a-f]{32}", known)
    assert drawer.kept(known) == SPEC
    assert drawer.kept("0" * 32) is None
    assert drawer.kept(None) is None


async def test_what_nobody_asked_for_longest_goes_first(
    drawer: Drawer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderer, "KEPT", 2)
    folder = tmp_path / "figures"
    folder.mkdir()
    for age, name in enumerate(("new.svg", "newer.svg", "old.svg")):
        (folder / name).write_text("x")
        os.utime(folder / name, (1000 - (age == 2), 1000 - (age == 2)))
    await drawer.draw([SPEC], "svg")
    assert not (folder / "old.svg").exists()
    assert (folder / "new.svg").exists()


async def test_the_scripts_of_interactive_figures_come_whole(drawer: Drawer) -> None:
    text = (await drawer.scripts()).read_text()
    assert "window.vegaEmbed" in text
    assert len(text) > 500_000
