"""``portolan table``, ``figure`` and ``report``: the study redrawn from a campaign, as text and as files."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from coordinator.cli.client import Client
from coordinator.cli.files import writing, writing_text
from coordinator.cli.options import CampaignId, DataDir, Url, connect
from coordinator.cli.tables import console, print_columns
from coordinator.errors import CoordinatorError
from coordinator.reports.table_renderer import from_json, to_terminal

PICTURES = ("svg", "png", "json")


class Form(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


class Theme(StrEnum):
    light = "light"
    dark = "dark"


class Measure(StrEnum):
    steady = "steady"
    cold = "cold"
    paper = "paper"


Out = Annotated[Path | None, typer.Option("--out", help="Write to this file.")]
Reference = Annotated[
    str | None, typer.Option(help="Published figures to set it beside, or none; unless given paper-2023.")
]
ReferenceDevice = Annotated[
    str | None, typer.Option(help="The device that latencies are set against; unless given a GPU, else the CPU.")
]
Tolerable = Annotated[float | None, typer.Option(help="Times slower from which a latency is intolerable; 10.")]
Measured = Annotated[Measure | None, typer.Option(help="Which latency; unless given, as the campaign was timed.")]


def table(
    campaign_id: CampaignId,
    table: Annotated[str | None, typer.Argument(help="Its id; without it, which tables there are.")] = None,
    format: Annotated[Form, typer.Option(help="How to show it.")] = Form.table,
    out: Out = None,
    reference: Reference = None,
    reference_device: ReferenceDevice = None,
    tolerable: Tolerable = None,
    measure: Measured = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Show one of the study's tables, made from a campaign; without a name, list them."""
    query = _query(reference, reference_device, tolerable, measure)
    with connect(url, data_dir) as client:
        if table is None:
            found = client.get_json(f"/campaigns/{campaign_id}/tables", query)["tables"]
            rows = [(each["id"], str(each["rows"]), each["title"], _remade(each)) for each in found]
            print_columns(("table", "rows", "title", "in the study"), rows, "there is no table")
            return
        path = f"/campaigns/{campaign_id}/tables/{_part(table)}"
        if format is Form.csv:
            _write(out, client.get_bytes(path, {**query, "format": "csv"}))
            return
        said = client.get_json(path, query)
    if format is Form.json:
        _write(out, f"{json.dumps(said, ensure_ascii=False, indent=1)}\n".encode())
        return
    with writing_text(out) as stream:
        console(stream).print(to_terminal(from_json(said)))


def figure(
    campaign_id: CampaignId,
    figure: Annotated[str | None, typer.Argument(help="Its id; without it, which figures there are.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to: a name that ends in .svg, .png or .json.")
    ] = None,
    theme: Annotated[Theme, typer.Option(help="For a light page or a dark one.")] = Theme.light,
    reference: Reference = None,
    reference_device: ReferenceDevice = None,
    tolerable: Tolerable = None,
    measure: Measured = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Draw one of the study's figures from a campaign; without a name, list them."""
    query = _query(reference, reference_device, tolerable, measure)
    with connect(url, data_dir) as client:
        if figure is None:
            found = client.get_json(f"/campaigns/{campaign_id}/figures", query)["figures"]
            rows = [(each["id"], each["title"], _remade(each), each["silent"] or "") for each in found]
            print_columns(("figure", "title", "in the study", "not drawn because"), rows, "there is no figure")
            return
        form = out.suffix.removeprefix(".").lower() if out else ""
        if out is None or form not in PICTURES:
            raise CoordinatorError("a figure goes to a file: give --out a name that ends in .svg, .png or .json")
        path = f"/campaigns/{campaign_id}/figures/{_part(figure)}"
        _write(out, client.get_bytes(path, {**query, "format": form, "theme": theme}))


def report(
    campaign_id: CampaignId,
    out: Annotated[Path | None, typer.Option("--out", help="Where to; unless given portolan-campaign-N.html.")] = None,
    reference: Reference = None,
    reference_device: ReferenceDevice = None,
    tolerable: Tolerable = None,
    measure: Measured = None,
    url: Url = None,
    data_dir: DataDir = None,
) -> None:
    """Write a campaign's report: one HTML file that needs nothing else, to send to a colleague."""
    query = _query(reference, reference_device, tolerable, measure)
    with connect(url, data_dir) as client:
        path = write_report(client, campaign_id, out or Path(f"portolan-campaign-{campaign_id}.html"), query)
    print(path)


def write_report(client: Client, campaign_id: int, path: Path, query: dict[str, str] | None = None) -> Path:
    _write(path, client.get_bytes(f"/campaigns/{campaign_id}/report", query or {}))
    return path


def _query(
    reference: str | None, reference_device: str | None, tolerable: float | None, measure: Measure | None
) -> dict[str, str]:
    given = {
        "reference": reference,
        "reference_device": reference_device,
        "tolerable": None if tolerable is None else str(tolerable),
        "measure": measure,
    }
    return {name: str(value) for name, value in given.items() if value is not None}


def _remade(said: dict[str, Any]) -> str:
    return ", ".join(said["remade_from"])


def _part(name: str) -> str:
    """As one part of a path, whatever is in it."""
    return quote(name, safe="") or "-"


def _write(out: Path | None, content: bytes) -> None:
    with writing(out) as sink:
        sink.write(content)
