"""The assessment of a visitor's script on the front page of the atlas: the functions that the script uses, how well
each of them works on the targets, and the findings about the script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import File, Request, Response, UploadFile

from coordinator.access.caller import CurrentCaller
from coordinator.assess import service
from coordinator.assess.formats.as_json import json_of
from coordinator.assess.formats.html import finding_values
from coordinator.assess.script import Script
from coordinator.atlas.marks import Mark
from coordinator.atlas.overview import Atlas, FrameworkOverview
from coordinator.catalogue.surfaces import ROOTS
from coordinator.errors import RequestError
from coordinator.http.context import Context
from coordinator.http.routers import PageRouter
from coordinator.http.storable import LONGEST_NAME
from coordinator.targets.selectors import Selector
from coordinator.text.page_text import page_text
from coordinator.web.atlas_pages import Keeper, charted_name, front_of, summary

router = PageRouter()


@router.post("/")
async def assess(
    request: Request,
    context: Context,
    keeper: Keeper,
    caller: CurrentCaller,
    script: Annotated[UploadFile, File(description="a .py file or a notebook")],
) -> Response:
    """The front page with the functions that a script uses and the findings about it. The script is not stored."""
    current = await keeper.current()
    source = Script((script.filename or "")[-LONGEST_NAME:], await script.read())
    try:
        async with context.assessments.hold(caller.name):
            result = await service.assess_script(context.engine, source, Selector.parse("*/*"))
    except RequestError as error:
        return front_of(request, current, summary(current), status=error.status, script_error=str(error))
    tables = await asyncio.to_thread(script_tables, current.atlas, result.functions)
    data = [json.loads(json_of(report)) for report in result.reports]
    names = [row.charted_as for table in tables for row in table.rows if row.charted_as]
    return front_of(
        request,
        current,
        data,
        assessed=result,
        finding_values=finding_values,
        script_functions=list(map(page_text, names)),
        script_tables=tables,
    )


@dataclass(frozen=True)
class ScriptRow:
    """A function that a script uses, with its marks on the newest targets of its framework."""

    name: str
    charted_as: str | None
    marks: tuple[Mark | None, ...]


@dataclass(frozen=True)
class ScriptTable:
    """The functions of a framework that a script uses."""

    framework: FrameworkOverview
    rows: tuple[ScriptRow, ...]


def script_tables(atlas: Atlas, functions: Sequence[str]) -> list[ScriptTable]:
    """The marks of the functions, by framework. Frameworks that nobody charted are not included."""
    tables = []
    for framework in atlas.frameworks:
        root = ROOTS.get(framework.name, framework.name)
        names = [name for name in functions if name.partition(".")[0] == root]
        if names:
            tables.append(ScriptTable(framework, tuple(_script_row(atlas, framework, name) for name in names)))
    return tables


def _script_row(atlas: Atlas, framework: FrameworkOverview, name: str) -> ScriptRow:
    charted_as = charted_name(atlas, name)
    if charted_as not in framework.ranks:
        return ScriptRow(name, None, (None,) * len(framework.newest))
    cells = (column.cells.get(charted_as) for column in framework.newest)
    return ScriptRow(name, charted_as, tuple(cell.mark if cell else None for cell in cells))
