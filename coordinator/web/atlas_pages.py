"""The atlas: the front page of the site, and the pages of frameworks, functions, modules and targets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse

from coordinator.access.caller import caller_of
from coordinator.assess import service
from coordinator.assess.names import all_names
from coordinator.atlas import pages as bodies
from coordinator.atlas.addresses import (
    as_link,
    file_name,
    framework_path,
    function_path,
    name_of,
    operation_path,
    target_path,
)
from coordinator.atlas.function_view import function_view
from coordinator.atlas.keeper import AtlasKeeper, KeptAtlas
from coordinator.atlas.operations import operations_by_name
from coordinator.atlas.overview import Atlas, FrameworkOverview, TargetColumn, column_of
from coordinator.atlas.portability import function_portability
from coordinator.atlas.search import search
from coordinator.catalogue.releases import shipped_release
from coordinator.catalogue.surfaces import ROOTS, shipped_releases
from coordinator.errors import NotFoundError
from coordinator.http.context import Context
from coordinator.http.parameters import PathName
from coordinator.http.routers import PageRouter
from coordinator.http.storable import Text
from coordinator.results.involvement import Met
from coordinator.web.pages import page
from protocol.function_names import did_you_mean

router = PageRouter()

ROOT = "/atlas/"
MOST_MATCHES = 50
"""The maximum number of functions that a search without scripts lists."""


def _keeper(request: Request) -> AtlasKeeper:
    keeper: AtlasKeeper = request.app.state.atlas
    return keeper


Keeper = Annotated[AtlasKeeper, Depends(_keeper)]


@router.get("/")
async def front(
    request: Request, keeper: Keeper, q: Annotated[Text, Query(max_length=200, description="a part of a name")] = ""
) -> Response:
    current = await keeper.current()
    matches = search(current.atlas, q, MOST_MATCHES) if q else ()
    return front_of(request, current, summary(current), found=matches, query=q)


@router.get("/atlas/functions/{file}")
async def function(request: Request, file: PathName, context: Context, keeper: Keeper) -> Response:
    current = await keeper.current()
    name = _function_of_file(current.atlas, file.removesuffix(".html"))
    # This runs in a thread, because surfaces are read from files at first.
    if (charted_as := await asyncio.to_thread(charted_name, current.atlas, name)) != name:
        return RedirectResponse(f"{ROOT}{as_link(function_path(charted_as))}")
    framework = await asyncio.to_thread(_framework_of, current.atlas, name)
    columns = framework.columns if current.atlas.ships else await _stored_columns(context, framework.name, name)
    view = function_view(framework, name, columns)
    return _page(request, bodies.function_page(view), function_portability(view), kept=current)


@router.get("/atlas/frameworks/{file}")
async def framework(request: Request, file: PathName, keeper: Keeper) -> Response:
    current = await keeper.current()
    for one in current.atlas.frameworks:
        if framework_path(one.name) == f"frameworks/{file}":
            data = {module: len(functions) for module, functions in one.modules.items()}
            return _page(request, bodies.framework_page(one), data, kept=current)
    name = name_of(file.removesuffix(".html")) or file
    raise NotFoundError(f"no function of a framework {name} was charted: the front page lists the charted frameworks")


@router.get("/atlas/modules/{file}")
async def module(request: Request, file: PathName, keeper: Keeper) -> Response:
    current = await keeper.current()
    name = name_of(file.removesuffix(".html"))
    for framework in current.atlas.frameworks:
        if name is not None and name in framework.modules:
            data = {function: _marks(framework, function) for function in framework.modules[name]}
            return _page(request, bodies.module_page(framework, name), data, kept=current)
    raise NotFoundError(f"no function of a module {name or file} was charted: search the atlas for a part of its name")


@router.get("/atlas/targets/{file}")
async def target(request: Request, file: PathName, keeper: Keeper) -> Response:
    current = await keeper.current()
    for framework in current.atlas.frameworks:
        for column in framework.columns:
            if target_path(column.target, column.evidence.hardware) == f"targets/{file}":
                data = {"target": column.target, "hardware": column.evidence.hardware, "counts": column.counts}
                return _page(request, bodies.target_page(framework, column), data, kept=current)
    raise NotFoundError(
        "nothing was charted on a target of that address: the front page of the atlas lists all targets"
    )


@router.get("/atlas/operations/{file}")
async def operation(request: Request, file: PathName, keeper: Keeper) -> Response:
    """An operation in the shipped evidence. Operations in the database have a page for each campaign."""
    current = await keeper.current()
    for framework in current.atlas.frameworks:
        for name, targets in operations_by_name(framework).items():
            if operation_path(framework.name, name) == f"operations/{file}":
                data = {column.target: {met: one.functions_that_met(met) for met in Met} for column, one in targets}
                return _page(request, bodies.operation_page(framework, name, targets), data, kept=current)
    raise NotFoundError("there is no operation of that address: the page of a target lists its operations")


def front_of(request: Request, current: KeptAtlas, data: Any, **more: Any) -> Response:
    """The front page. ``more`` has the results of a search in the atlas, or of reading a script."""
    values = {
        "assessed": None,
        "may_assess": caller_of(request).may_change,
        "script_error": None,
        "script_form": "script.html",
        "search_action": "/",
    }
    return _page(request, current.front, data, kept=current, **{**values, **more})


def _page(request: Request, content: bodies.Page, data: Any, **more: Any) -> Response:
    values = {**content.values, **more}
    return page(
        request, "atlas.html", data, body=content.body, title=content.title, root=ROOT, front_link="/", **values
    )


async def _stored_columns(context: Context, framework: str, function: str) -> list[TargetColumn]:
    """The columns of one function, with its cases. The atlas of a database does not contain cases."""
    evidence = await service.evidence_of_functions(context.engine, framework, [function])
    return [column_of(target, frozenset()) for target in evidence]


def _function_of_file(atlas: Atlas, file: str) -> str:
    """The function that a page's file name stands for. If the name was shortened, it is searched among the charted
    functions."""
    name = name_of(file)
    names = (name for framework in atlas.frameworks for name in framework.functions)
    return name or next((one for one in names if file_name(one) == file), file)


def charted_name(atlas: Atlas, function: str) -> str:
    """The name under which a function, or an equivalent one, was charted. If neither was charted, the function's own
    name."""
    names = {name for framework in atlas.frameworks for name in framework.ranks}
    if function in names:
        return function
    return min(names & all_names(function), default=function)


def _framework_of(atlas: Atlas, function: str) -> FrameworkOverview:
    """The framework of a function, whether the function is charted or not. Raises ``NotFoundError`` with similar
    names."""
    for framework in atlas.frameworks:
        if function in framework.ranks:
            return framework
    root = function.partition(".")[0]
    name = next((framework for framework, own in ROOTS.items() if own == root), root)
    framework_or_empty = next(
        (one for one in atlas.frameworks if one.name == name), FrameworkOverview(name, (), (), {})
    )
    if any(
        function in shipped_release(release).kinds for release in shipped_releases() if release.startswith(f"{name}@")
    ):
        return framework_or_empty
    guess = did_you_mean(function, [name for framework in atlas.frameworks for name in framework.functions])
    raise NotFoundError(f"there is no function {function} in the atlas{guess or ': search for a part of its name'}")


def _marks(framework: FrameworkOverview, function: str) -> dict[str, str]:
    return {column.target: column.cells[function].mark for column in _with(framework.columns, function)}


def _with(columns: Iterable[TargetColumn], function: str) -> Iterable[TargetColumn]:
    return (column for column in columns if function in column.cells)


def summary(current: KeptAtlas) -> dict[str, Any]:
    """The content of the front page as JSON."""
    return {
        "origin": current.atlas.origin,
        "is_behind": current.is_behind,
        "frameworks": [
            {
                "framework": framework.name,
                "functions": len(framework.functions),
                "targets": [
                    {"target": column.target, "hardware": column.evidence.hardware, "counts": column.counts}
                    for column in framework.columns
                ],
            }
            for framework in current.atlas.frameworks
        ],
    }
