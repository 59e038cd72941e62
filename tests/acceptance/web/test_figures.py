"""Tables, figures, the study's page and the report, as readers get them from pages, REST and the command line."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import ROOT, RunnerProcess

MARKUP = "torch.<img src=x onerror=alert(1)>"
TABLES = {"portability", "counts", "causes", "placement", "latencies", "scatter", "first_calls"}


@pytest.fixture(scope="module")
def ended_campaign(coordinator: CoordinatorProcess, runner: RunnerProcess) -> int:
    """A finished campaign of the hazards on one target. Some cases pass, some fail."""
    campaign = coordinator.submit("hazards.nap", "hazards.add", "hazards.fail", timing="steady", runs=1)
    coordinator.wait_ended(campaign)
    return campaign


@pytest.fixture(scope="module")
def charted_campaign(coordinator: CoordinatorProcess) -> int:
    """Two devices of one framework with eight functions each, written into the database, because this machine has no
    two devices."""
    return asyncio.run(_put(coordinator.dsn))


@pytest.fixture(scope="module")
def empty(coordinator: CoordinatorProcess, charted_campaign: int) -> int:
    return asyncio.run(_put(coordinator.dsn, outcomes=False))


@pytest.fixture(scope="module")
def site(coordinator: CoordinatorProcess) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"http://127.0.0.1:{coordinator.port}", timeout=120, headers={"Accept": "text/html", **AS_ADMIN}
    ) as client:
        yield client


async def _put(dsn: str, *, outcomes: bool = True) -> int:
    connection = await asyncpg.connect(dsn)
    suite = await connection.fetchval(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', 'r9', '')"
        " on conflict (name, framework, revision) where origin = 'runner' do update set name = 'paper' returning id"
    )
    number = await connection.fetchval(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing, state)"
        " values ('two <devices>', 'paper', '[]', '[]', 1, 900, 'steady', 'done') returning id"
    )
    for device, slower in (("cpu", 1.0), ("xla", 4.0)):
        target = await connection.fetchval(
            "insert into targets (framework, version, device, device_class, hardware, environment)"
            " values ('torch', '9.9.9', $1, 'cpu', 'a CPU', $2) returning id",
            *(device, f"environment {number}"),
        )
        await connection.execute(
            "insert into campaign_targets (campaign_id, target_id, suite_id, total, done) values ($1, $2, $3, 8, 8)",
            *(number, target, suite),
        )
        for place in range(8 if outcomes else 0):
            function = MARKUP if place == 7 else f"torch.function_{place}"
            fails = device == "xla" and place == 0
            await connection.execute(
                """
                with c as (insert into cases (suite_id, name, function, position)
                           values ($1, $2 || '/one', $2, $3)
                           on conflict (suite_id, name) do update set function = $2 returning id),
                     j as (insert into jobs (campaign_id, target_id, case_id, run, priority, state)
                           select $4, $5, id, 1, 0, 'done' from c returning id, case_id)
                insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, cause,
                                      placement, steady_ms, cold_ms, duration_s, evidence, position)
                select id, 1, $4, $5, case_id, 1, $6, 'returned', $7, $8, $9, $10, 1, $11, 0 from j
                """,
                *(suite, function, place, number, target, "failed" if fails else "passed", "type" if fails else None),
                *("unknown" if fails else "on_device", None if fails else slower * (1 + place) ** 2),
                None if fails else slower * 50 * (1 + place),
                json.dumps({"message": "</td><script>alert(1)</script>"}) if fails else None,
            )
    await connection.close()
    return int(number)


def portolan(coordinator: CoordinatorProcess, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(
        [sys.executable, "-P", "-m", "coordinator", *map(str, arguments)],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PORTOLAN_URL": f"http://127.0.0.1:{coordinator.port}",
            "PORTOLAN_TOKEN": ADMIN_TOKEN,
        },
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert process.returncode == code, process.stderr
    return process


class Seen(HTMLParser):
    """Collects the addresses to which a page refers, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.add(value or "")

    def of(self, *names: str) -> list[str]:
        return [value for _, name, value in self.attributes if name in names]


def test_the_tables_of_a_campaign_over_rest(coordinator: CoordinatorProcess, charted_campaign: int) -> None:
    tables = coordinator.http.get(f"/campaigns/{charted_campaign}/tables").json()["tables"]
    assert {table["id"] for table in tables} > TABLES
    for table in tables:
        whole = coordinator.http.get(f"/campaigns/{charted_campaign}/tables/{table['id']}").json()
        assert len(whole["rows"]) == table["rows"]
        answer = coordinator.http.get(f"/campaigns/{charted_campaign}/tables/{table['id']}", params={"format": "csv"})
        assert answer.headers["content-type"].startswith("text/csv")
        assert len(list(csv.reader(io.StringIO(answer.text)))) == table["rows"] + 1


def test_what_may_be_said_of_a_table_changes_it(coordinator: CoordinatorProcess, charted_campaign: int) -> None:
    def ratio(**parameters: Any) -> list[Any]:
        rows = coordinator.http.get(f"/campaigns/{charted_campaign}/tables/faster", params=parameters).json()["rows"]
        return [row["geometric_mean"]["value"] for row in rows if row["source"] == f"campaign {charted_campaign}"]

    assert ratio() == [pytest.approx(4)]
    assert ratio(reference_device="xla") == [pytest.approx(0.25)]
    alone = coordinator.http.get(f"/campaigns/{charted_campaign}/tables/faster", params={"reference": "none"}).json()
    assert {row["source"] for row in alone["rows"]} == {f"campaign {charted_campaign}"}
    few = coordinator.http.get(f"/campaigns/{charted_campaign}/tables/intolerable", params={"tolerable": 3}).json()[
        "rows"
    ]
    assert (few[0]["intolerable"]["count"], few[0]["intolerable"]["n"]) == (7, 7)


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("tables/nothing", 404, "there is no table 'nothing'; choose one of: portability, counts"),
        ("figures/nothing", 404, "there is no figure 'nothing'; choose one of: portability"),
        ("figures/scatter?format=gif", 422, "svg"),
        ("tables?reference=paper-1999", 422, "there is no reference 'paper-1999'; choose one of: paper-2023"),
        ("tables?reference_device=tpu", 422, "choose one of: cpu, xla"),
        ("tables?tolerable=1", 422, "give a factor above 1"),
        ("tables?tolerable=nan", 422, "tolerable: must be 1000000000000 or less"),
        ("tables?measure=mean", 422, "there is no measure 'mean'; choose one of: level, cold, paper"),
        ("report?tolerable=0", 422, "give a factor above 1"),
    ],
)
def test_what_there_is_not_is_said_in_a_line_that_helps(
    coordinator: CoordinatorProcess, site: httpx.Client, charted_campaign: int, path: str, status: int, says: str
) -> None:
    answer = coordinator.http.get(f"/campaigns/{charted_campaign}/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert says in answer.json()["detail"]


def test_an_unknown_campaign_has_a_page_that_says_so(site: httpx.Client) -> None:
    for path in ("figures", "report"):
        answer = site.get(f"/campaigns/999/{path}")
        assert answer.status_code == 404
        assert "999" in answer.text
        assert "text/html" in answer.headers["content-type"]


def test_figures_as_svg_png_and_specification(coordinator: CoordinatorProcess, charted_campaign: int) -> None:
    figures = coordinator.http.get(f"/campaigns/{charted_campaign}/figures").json()["figures"]
    assert all(figure["drawn"] for figure in figures if figure["id"] not in ("failures_by_decile", "failures_in_top20"))
    path = f"/campaigns/{charted_campaign}/figures/scatter"
    svg = coordinator.http.get(path, timeout=120)
    assert svg.headers["content-type"] == "image/svg+xml"
    assert "Latency here against latency there" in svg.text
    assert "XLA on the host CPU, not a TPU" in svg.text
    assert coordinator.http.get(path, params={"format": "png"}, timeout=120).content.startswith(b"\x89PNG")
    light, dark = (
        coordinator.http.get(path, params={"format": "json", "theme": theme}).json() for theme in ("light", "dark")
    )
    assert light["data"] == dark["data"]
    assert light["config"]["background"] != dark["config"]["background"]


def test_the_page_shows_every_figure_and_table(site: httpx.Client, charted_campaign: int) -> None:
    answer = site.get(f"/campaigns/{charted_campaign}/figures")
    assert answer.status_code == 200
    assert answer.text.rstrip().endswith("</html>")
    elements = Seen(answer.text)
    assert {f"table-{table}" for table in TABLES} <= elements.ids
    pictures = [source for source in elements.of("src") if "/figures/" in source and ".svg" in source]
    assert len(pictures) >= 9
    for source in pictures:
        picture = site.get(source)
        assert picture.status_code == 200
        assert picture.text.startswith("<svg ")
        assert "immutable" in picture.headers["cache-control"]
    for address in elements.of("data-spec"):
        assert site.get(address, params={"theme": "dark"}).json()["data"]["values"]
    assert "img" in elements.tags
    assert not elements.of("onerror")
    assert "torch.&lt;img src=x onerror=alert(1)&gt;" in answer.text


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("campaigns/{}/figures", "matrix_latencies"),
        ("campaigns/{}/report", "matrix_latencies"),
        ("reference", "reference_latencies"),
    ],
)
def test_the_head_of_a_page_does_not_wait_for_its_figures(
    coordinator: CoordinatorProcess, site: httpx.Client, charted_campaign: int, page: str, table: str
) -> None:
    """The rows of the figures cannot be read until the head of the page has arrived."""
    lock = asyncio.Runner()
    connection = lock.run(asyncpg.connect(coordinator.dsn))
    lock.run(connection.execute(f"begin; lock table {table}"))
    with site.stream("GET", f"/{page.format(charted_campaign)}") as answer:
        pieces = answer.iter_text()
        head = next(pieces)
        lock.run(connection.close())
        rest = "".join(pieces)
    lock.close()
    assert "<h1>" in head
    assert "<svg" not in head
    assert "data-figure" not in head
    assert rest.rstrip().endswith("</html>")


def test_a_picture_whose_drawing_is_forgotten_is_made_anew(site: httpx.Client, charted_campaign: int) -> None:
    answer = site.get(f"/campaigns/{charted_campaign}/figures/scatter.svg", params={"drawn": "0" * 32})
    assert answer.status_code == 200
    assert answer.text.startswith("<svg ")


def test_the_page_has_its_data_as_json(site: httpx.Client, charted_campaign: int) -> None:
    document = site.get(f"/campaigns/{charted_campaign}/figures", params={"as": "json"}).json()
    assert {table["id"] for table in document["tables"]} > TABLES
    assert {"scatter", "portability"} < {figure["id"] for figure in document["figures"]}


def test_a_form_with_empty_fields_is_no_error(site: httpx.Client, charted_campaign: int) -> None:
    parameters = {"reference": "none", "reference_device": "", "measure": "", "tolerable": "3"}
    answer = site.get(f"/campaigns/{charted_campaign}/figures", params=parameters)
    assert answer.status_code == 200
    assert "more than 3 times slower" in answer.text


def test_the_page_of_an_empty_campaign_says_so(site: httpx.Client, empty: int) -> None:
    answer = site.get(f"/campaigns/{empty}/figures", params={"reference": "none"})
    assert answer.status_code == 200
    assert "No function has a case that passed or failed" in answer.text
    assert "chart a second device" in answer.text
    assert not [source for source in Seen(answer.text).of("src") if ".svg?" in source]


def test_a_real_campaign_of_one_target(
    site: httpx.Client, coordinator: CoordinatorProcess, ended_campaign: int
) -> None:
    answer = site.get(f"/campaigns/{ended_campaign}/figures")
    assert answer.status_code == 200
    rows = coordinator.http.get(f"/campaigns/{ended_campaign}/tables/portability").json()["rows"]
    plain = next(row for row in rows if row["counted_by"] == "verdict")
    assert {word: plain[word]["count"] for word in ("success", "partial", "complete")} == {
        "success": 1,
        "partial": 1,
        "complete": 1,
    }
    report = site.get(f"/campaigns/{ended_campaign}/report").text
    assert "The campaign has only one target" in report
    assert "portolan-runner run" in report


def test_the_studys_page_shows_what_was_published_and_what_is_wrong_in_it(site: httpx.Client) -> None:
    answer = site.get("/reference")
    assert answer.status_code == 200
    assert "The Grand Illusion" in answer.text
    assert "adds up to 64 of 63 functions" in answer.text
    assert "torch.<wbr>argsort" in answer.text
    elements = Seen(answer.text)
    pictures = [source for source in elements.of("src") if ".svg" in source and "/figures/" in source]
    assert len(pictures) >= 5
    assert site.get(pictures[0]).text.startswith("<svg ")
    for link in {link for link in elements.of("href") if link.startswith("/reference/tables/")}:
        assert site.get(link).status_code == 200


def test_the_scripts_that_make_figures_interactive(site: httpx.Client) -> None:
    answer = site.get("/figures/vega.js")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "window.vegaEmbed" in answer.text


def test_the_report_is_one_file_that_needs_nothing_else(
    coordinator: CoordinatorProcess, charted_campaign: int, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    process = portolan(coordinator, "report", charted_campaign, "--out", path)
    assert process.stdout.strip() == str(path)
    text = path.read_text(encoding="utf-8")
    elements = Seen(text)
    assert not elements.tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    assert all(link.startswith("#") and link[1:] in elements.ids for link in elements.of("href", "xlink:href"))
    assert not elements.of("src", "srcset", "action")
    assert not [name for _, name, _ in elements.attributes if name.startswith("on")]
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in text
    assert "url(" not in text


def test_the_report_says_everything(coordinator: CoordinatorProcess, site: httpx.Client, charted_campaign: int) -> None:
    text = site.get(f"/campaigns/{charted_campaign}/report").text
    for sentence in (
        "two &lt;devices&gt;",
        "8 of 8 functions pass every case",
        "7 of 8 functions pass every case",
        "A call takes 4 times as long as on torch@9.9.9/cpu",
        "XLA on the host CPU, not a TPU",
        "portolan-runner run torch xla torch.function_0/one",
        "&lt;script&gt;alert(<wbr>1)&lt;/<wbr>script&gt;",
        "Wilson",
        "revision",
        "FROM function_verdicts",
        "FROM outcome_rows",
        "differ from the sums of its Table 1",
    ):
        assert sentence in text, sentence
    assert text.count("<svg ") >= 9
    assert "<script" not in text


def test_the_report_of_an_empty_campaign_says_so(site: httpx.Client, empty: int) -> None:
    text = site.get(f"/campaigns/{empty}/report").text
    assert "No job has an outcome yet" in text
    assert "Nothing failed, so there is nothing to reproduce." in text


def test_the_report_can_be_downloaded_and_read_by_programs(site: httpx.Client, charted_campaign: int) -> None:
    download = site.get(f"/campaigns/{charted_campaign}/report", params={"download": "1"})
    assert "attachment" in download.headers["content-disposition"]
    document = site.get(f"/campaigns/{charted_campaign}/report", params={"as": "json"}).json()
    assert {"summary", "tables", "figures", "failures", "fingerprints", "caveats"} < document.keys()


def test_tables_on_the_command_line(coordinator: CoordinatorProcess, charted_campaign: int, tmp_path: Path) -> None:
    assert {
        line.split()[0] for line in portolan(coordinator, "table", charted_campaign).stdout.splitlines()[1:]
    } >= TABLES
    output = portolan(coordinator, "table", charted_campaign, "portability").stdout
    assert "87.5 % (7/8; 53 to 98)" in output
    assert "not published" in output
    path = tmp_path / "table.txt"
    portolan(coordinator, "table", charted_campaign, "portability", "--out", path)
    assert "87.5 % (7/8; 53 to 98)" in path.read_text()
    as_csv = portolan(coordinator, "table", charted_campaign, "counts", "--format", "csv").stdout
    assert len(list(csv.DictReader(io.StringIO(as_csv)))) >= 4
    assert (
        json.loads(portolan(coordinator, "table", charted_campaign, "counts", "--format", "json").stdout)["id"]
        == "counts"
    )


def test_figures_on_the_command_line(coordinator: CoordinatorProcess, charted_campaign: int, tmp_path: Path) -> None:
    assert "scatter" in portolan(coordinator, "figure", charted_campaign).stdout
    for name, begins in (("a.svg", b"<svg "), ("a.png", b"\x89PNG"), ("a.json", b"{")):
        portolan(coordinator, "figure", charted_campaign, "scatter", "--out", tmp_path / name, "--theme", "dark")
        assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("table", "{}", "nothing"), "there is no table 'nothing'; choose one of: portability"),
        (("figure", "{}", "nothing", "--out", "x.svg"), "there is no figure 'nothing'; choose one of: portability"),
        (("figure", "{}", "scatter"), "give --out a name that ends in .svg, .png or .json"),
        (("figure", "{}", "scatter", "--out", "x.gif"), "give --out a name that ends in .svg, .png or .json"),
        (("table", "999"), "999"),
        (("report", "999"), "999"),
        (("report", "{}", "--tolerable", "0.5"), "give a factor above 1"),
        (("report", "{}", "--out", "/nowhere/x.html"), "there is no folder /nowhere"),
        (("table", "{}", "<b>"), "there is no table"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    coordinator: CoordinatorProcess, charted_campaign: int, arguments: tuple[str, ...], says: str
) -> None:
    process = portolan(coordinator, *(argument.format(charted_campaign) for argument in arguments), code=2)
    assert process.stdout == ""
    assert len(process.stderr.splitlines()) == 1
    assert says in process.stderr
