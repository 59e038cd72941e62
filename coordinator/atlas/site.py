"""The files of a published site: pages, data and everything that the pages load. Pages load nothing from other
sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from itertools import chain

from pydantic_core import to_json

from coordinator.atlas.addresses import file_name
from coordinator.atlas.changes import Changes, changes
from coordinator.atlas.compact_html import compact_html
from coordinator.atlas.function_view import function_views
from coordinator.atlas.overview import Atlas
from coordinator.atlas.pages import FRONT, Page, environment, pages
from coordinator.atlas.portability import VERSION, Portability, document_json, portability

STATIC = ("atlas.css", "atlas.js", "portolan.css", "rose.svg")
SCHEMA = "data/portability.schema.json"


@dataclass(frozen=True)
class SiteFile:
    """A file of a site. ``path`` is relative to the site's folder."""

    path: str
    content: bytes


def data_path(framework: str, suffix: str) -> str:
    """The path of a framework's data. ``suffix`` is ``json`` or ``parquet``."""
    return f"data/portability-{file_name(framework)}.{suffix}"


def site_files(atlas: Atlas, before: Sequence[Portability], published_at: datetime | None = None) -> Iterator[SiteFile]:
    """All files of a site. ``before`` is the data of the publication that the site replaces."""
    views = {framework.name: list(function_views(framework)) for framework in atlas.frameworks}
    documents = [portability(framework, views[framework.name]) for framework in atlas.frameworks]
    all_changes = [changes(old, new) for new in documents for old in before if old.framework == new.framework]
    yield from _static()
    yield from _data(documents, all_changes)
    moment = published_at or datetime.now(UTC)
    every = (view for of_framework in views.values() for view in of_framework)
    for page in chain([_data_page(documents, all_changes)], pages(atlas, every)):
        yield _render(page, moment)


def _static() -> Iterator[SiteFile]:
    folder = files("coordinator.web") / "static"
    for name in STATIC:
        yield SiteFile(f"static/{name}", (folder / name).read_bytes())


def _data(documents: Sequence[Portability], all_changes: Sequence[Changes]) -> Iterator[SiteFile]:
    # pyarrow is imported only when a file is written, because its import starts threads.
    from coordinator.atlas.parquet import to_parquet

    for document in documents:
        yield SiteFile(data_path(document.framework, "json"), document_json(document))
        yield SiteFile(data_path(document.framework, "parquet"), to_parquet(document))
    yield SiteFile(SCHEMA, to_json(Portability.model_json_schema(), indent=1))
    yield SiteFile("data/changes.json", to_json(all_changes, indent=1))


def _data_page(documents: Sequence[Portability], all_changes: Sequence[Changes]) -> Page:
    names = [
        data_path(document.framework, suffix).removeprefix("data/")
        for document in documents
        for suffix in ("json", "parquet")
    ]
    values = {"files": names, "form_version": VERSION, "changes": [one for one in all_changes if not one.is_empty]}
    return Page("data/index.html", "Data", "data_body.html", values)


def _render(page: Page, published_at: datetime) -> SiteFile:
    html = (
        environment()
        .get_template("site_page.html")
        .render(
            page.values,
            body=page.body,
            front_link=page.root + FRONT,
            has_search=page.path == FRONT,
            published_at=published_at,
            root=page.root,
            title=page.title,
            version=version("portolan"),
        )
    )
    return SiteFile(page.path, compact_html(html).encode(errors="backslashreplace"))
