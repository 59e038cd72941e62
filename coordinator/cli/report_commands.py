"""``portolan table``, ``figure`` and ``report`` write the study's tables and figures for a campaign, and a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from coordinator.cli.output import console_of, print_columns, writing
from coordinator.cli.rest_client import Client, Query
from coordinator.cli.shared_options import CampaignId, present, with_client, with_options_of
from coordinator.errors import CoordinatorError
from coordinator.reports.table_renderer import from_json, to_terminal
from coordinator.results.report_data import Measure

PICTURES = ("svg", "png", "json")


Format = Literal["table", "csv", "json"]
Theme = Literal["light", "dark"]
Out = Annotated[Path | None, typer.Option("--out", help="Output file.")]


def _query(
    reference: Annotated[
        str | None,
        typer.Option(
            help="Published results for comparison, or none; default: the published results of the campaign's suite."
        ),
    ] = None,
    reference_device: Annotated[
        str | None,
        typer.Option(
            help="The device that latencies are compared with; default: a GPU if the campaign has "
            "one, otherwise the CPU."
        ),
    ] = None,
    tolerable: Annotated[
        float | None,
        typer.Option(help="A latency is intolerable if it exceeds the reference by this factor; default: 10."),
    ] = None,
    measure: Annotated[
        Measure | None,
        typer.Option(
            help="Which latency is compared: level (a call after warm-up), cold (a user's first call) or paper (the "
            "study's mean of first calls). Default: as the campaign was timed."
        ),
    ] = None,
) -> dict[str, Any]:
    return present(reference=reference, reference_device=reference_device, tolerable=tolerable, measure=measure)


with_query = with_options_of(_query)


@with_client
@with_query
def table(
    query: dict[str, Any],
    client: Client,
    campaign_id: CampaignId,
    table: Annotated[str | None, typer.Argument(help="The name of a table; without it, all are listed.")] = None,
    format: Annotated[Format, typer.Option(help="Output format.")] = "table",
    out: Out = None,
) -> None:
    """Show one of the study's tables for a campaign. Without TABLE, list all tables."""
    if table is None:
        tables = client.get_json(f"/campaigns/{campaign_id}/tables", query)["tables"]
        rows = [(row["id"], str(row["rows"]), row["title"], ", ".join(row["remade_from"])) for row in tables]
        print_columns(("table", "rows", "title", "in the study"), rows, "there is no table")
        return
    path = f"/campaigns/{campaign_id}/tables/{_path_part(table)}"
    if format == "csv":
        _write(out, client.get_bytes(path, {**query, "format": "csv"}))
        return
    content = client.get_json(path, query)
    if format == "json":
        _write(out, f"{json.dumps(content, ensure_ascii=False, indent=1)}\n".encode())
        return
    with console_of(out) as terminal:
        terminal.print(to_terminal(from_json(content)))


@with_client
@with_query
def figure(
    query: dict[str, Any],
    client: Client,
    campaign_id: CampaignId,
    figure: Annotated[str | None, typer.Argument(help="The name of a figure; without it, all are listed.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Output file, whose name ends in .svg, .png or .json (the Vega-Lite specification)."
        ),
    ] = None,
    theme: Annotated[Theme, typer.Option(help="Colors of the figure.")] = "light",
) -> None:
    """Draw one of the study's figures for a campaign. Without FIGURE, list all figures."""
    if figure is None:
        figures = client.get_json(f"/campaigns/{campaign_id}/figures", query)["figures"]
        rows = [(row["id"], row["title"], ", ".join(row["remade_from"]), row["silent"] or "") for row in figures]
        print_columns(("figure", "title", "in the study", "not drawn because"), rows, "there is no figure")
        return
    form = out.suffix.removeprefix(".").lower() if out else ""
    if out is None or form not in PICTURES:
        raise CoordinatorError("a figure is written to a file: give --out a name that ends in .svg, .png or .json")
    path = f"/campaigns/{campaign_id}/figures/{_path_part(figure)}"
    _write(out, client.get_bytes(path, {**query, "format": form, "theme": theme}))


@with_client
@with_query
def report(
    query: dict[str, Any],
    client: Client,
    campaign_id: CampaignId,
    out: Annotated[Path | None, typer.Option("--out", help="Output file; default: portolan-campaign-N.html.")] = None,
) -> None:
    """Write a campaign's report: one HTML file that needs nothing else, to send to a colleague."""
    print(write_report(client, campaign_id, out or Path(f"portolan-campaign-{campaign_id}.html"), query))


def write_report(client: Client, campaign_id: int, path: Path, query: Query | None = None) -> Path:
    _write(path, client.get_bytes(f"/campaigns/{campaign_id}/report", query or {}))
    return path


def _path_part(name: str) -> str:
    """Return the name in quoted form, as one part of a URL path."""
    return quote(name, safe="") or "-"


def _write(out: Path | None, content: bytes) -> None:
    with writing(out) as sink:
        sink.write(content)
