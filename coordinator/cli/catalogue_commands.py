"""``portolan catalogue``: public functions of frameworks, their use, samples of them, and the share that is charted."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from coordinator.catalogue.coverage import coverage, remark, rows_of, suites_coverage, table_head, table_row
from coordinator.catalogue.models import FunctionSample, SuiteList
from coordinator.catalogue.releases import make_release
from coordinator.catalogue.sample import draw, population, with_aliases
from coordinator.catalogue.surfaces import array_methods, compare_surfaces, open_surface, shipped_releases
from coordinator.catalogue.usage.counting import count_corpus
from coordinator.catalogue.usage.counts import Tally, UsageCounts, open_counts
from coordinator.catalogue.usage.state import CountState
from coordinator.cli.output import print_columns, print_json, writing
from coordinator.cli.shared_options import AsJson, connect, split
from coordinator.errors import CatalogueError
from coordinator.figures.formats import plural
from protocol.host_only import load_host_only
from protocol.model import first_fault
from protocol.redaction import without_own_secrets
from protocol.surface import pack

LISTED = 20
"""The maximum number of printed names of one kind; --json has all."""

app = typer.Typer(
    help="Public functions of frameworks: their use, samples of them, and the share that is charted.",
    no_args_is_help=True,
)
CountsFile = Annotated[
    Path | None,
    typer.Option(
        "--counts", help="A file that `portolan catalogue count` wrote; default: the counts that ship with Portolan."
    ),
]
SURFACE = "A release that ships with Portolan (torch@2.9.0), or a file that `enumerate` wrote."


@app.command("enumerate")
def enumerate_(
    framework: Annotated[str, typer.Argument(metavar="FRAMEWORK", help="torch, tensorflow or jax.")],
    python: Annotated[str | None, typer.Option(help="An interpreter that has the framework.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output file; default: stdout. A name that ends in .gz is compressed.")
    ] = None,
) -> None:
    """List every public function and class of an installed framework, as lines of JSON."""
    options = [*(["--python", python] if python else []), *(["--out", str(out)] if out else [])]
    command = [sys.executable, "-P", "-m", "runners", "enumerate", framework, *options]
    process = subprocess.run(command, env=without_own_secrets({**os.environ}), stderr=subprocess.PIPE, check=False)
    if process.returncode != 0:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        raise CatalogueError(
            (lines or [f"the enumeration ended without a message: run `{shlex.join(command)}` to see why"])[
                -1
            ].removeprefix("portolan-runner: ")
        )


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=SURFACE)],
    b: Annotated[str, typer.Argument(metavar="B", help="The release to compare with.")],
    as_json: AsJson = False,
) -> None:
    """List what was added, removed, moved and deprecated from release A to release B."""
    comparison = compare_surfaces(open_surface(a), open_surface(b))
    if as_json:
        print_json(asdict(comparison))
        return
    print(
        f"{comparison.a} to {comparison.b}: {len(comparison.added)} added, {len(comparison.removed)} removed, "
        f"{len(comparison.moved)} moved, {len(comparison.deprecated)} now deprecated"
    )
    _list("removed", comparison.removed)
    _list("now deprecated", comparison.deprecated)
    _list("moved", [f"{move.name}: {move.before} → {move.after}" for move in comparison.moved])
    _list("added", comparison.added)


def _list(word: str, names: Sequence[str]) -> None:
    for name in names[:LISTED]:
        print(f"  {word}: {name}")
    if len(names) > LISTED:
        print(f"  … and {len(names) - LISTED} more {word}: --json has all")


@app.command()
def count(
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="A folder, an archive, or a .jsonl file.")],
    out: Annotated[
        Path | None, typer.Option(help="Output file; default: stdout. A name that ends in .gz is compressed.")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="File from which an interrupted count resumes; default: beside --out."),
    ] = None,
    processes: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
) -> None:
    """Count how often the Python files of a corpus use each function of each framework."""
    place = state or (out.with_name(f"{out.name}.state") if out is not None else None)
    with CountState(place, corpus) as count_state:
        counts = count_corpus(corpus, array_methods(), count_state, processes=processes, report=_progress)
        content = f"{counts.model_dump_json(indent=1)}\n".encode()
        if out is not None and out.suffix == ".gz":
            content = pack(content)
        with writing(out) as sink:
            sink.write(content)
        count_state.forget()
    for line in _count_lines(counts):
        print(line, file=sys.stderr)


def _progress(tally: Tally) -> None:
    if sys.stderr.isatty():
        print(f"\r{tally.files['seen']:,} files", end="", file=sys.stderr, flush=True)


def _count_lines(counts: UsageCounts) -> Iterator[str]:
    """Yield the result of a count as lines of text."""
    files = counts.files
    refusals = sum(files.refused.values())
    yield (
        f"{plural(files.seen, 'file')}: {files.counted} counted, {files.without_framework} without a framework, "
        f"{files.duplicates} duplicates, {refusals} refused"
    )
    for reason, times in files.refused.items():
        yield f"  refused: {times} × {reason}: {', '.join(files.examples[reason])}"
    for root, framework_counts in counts.frameworks.items():
        uses = framework_counts.names.values()
        every, guessed_uses = sum(use.all for use in uses), sum(use.guessed for use in uses)
        share = f"{guessed_uses / every:.0%}" if every else "none"
        typed_uses = sum(use.typed for use in uses)
        yield (
            f"{root}: {framework_counts.files} files, {every - guessed_uses - typed_uses} uses through imports, "
            f"{typed_uses} of members of known class, {guessed_uses} guessed ({share})"
        )
    if counts.star_imports:
        yield f"not followed: {plural(counts.star_imports, 'import')} of everything from a framework"


@app.command()
def sample(
    release: Annotated[str, typer.Argument(metavar="SURFACE", help=SURFACE)],
    counts: CountsFile = None,
    top: Annotated[int, typer.Option(min=0, help="Number of the most used functions to take.")] = 20,
    per_decile: Annotated[int, typer.Option(min=0, help="Number of functions to draw from each decile.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the draw; the same seed draws the same functions.")] = 0,
    replace: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=REASON: reject the drawn function NAME and take the next one of its decile; REASON is stored. "
            "Repeatable."
        ),
    ] = None,
    members: Annotated[bool, typer.Option("--members", help="Draw also from members of classes.")] = False,
    with_guesses: Annotated[
        bool, typer.Option("--guessed", help="Also count uses whose function is only guessed from its name.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the sample to this file, to submit it.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the sample; default: that of the file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Draw functions by how often they are used, and print them. --out writes a file for `portolan submit --sample`."""
    weights = open_counts(counts)
    drawn_from = make_release(open_surface(release), weights, load_host_only())
    uses = population(drawn_from, members=members, with_guesses=with_guesses)
    selection = draw(uses, top=top, per_decile=per_decile, seed=seed, replacements=dict(map(_reason, replace or ())))
    sample = _make_sample(
        name=name or (out.name.partition(".")[0] if out is not None else "") or f"{drawn_from.name}, seed {seed}",
        surface=drawn_from.name,
        corpus=weights.corpus,
        seed=seed,
        top=top,
        per_decile=per_decile,
        members=members,
        guessed=with_guesses,
        population=selection.population,
        drawn=with_aliases(selection.drawn, drawn_from),
        short=selection.short,
    )
    if out is not None:
        with writing(out) as sink:
            sink.write(f"{sample.model_dump_json(indent=1)}\n".encode())
    elif as_json:
        print_json(sample)
    else:
        for row in sample.drawn:
            print(row.function)
    _say_of_sample(sample)


def _make_sample(**values: Any) -> FunctionSample:
    try:
        return FunctionSample(**values)
    except ValidationError as error:
        raise CatalogueError(
            f"no sample can be drawn with these options ({first_fault(error)}): correct the option"
        ) from error


def _say_of_sample(sample: FunctionSample) -> None:
    print(f"drawn from {plural(sample.population, 'function')} in use, seed {sample.seed}", file=sys.stderr)
    for row in sample.drawn:
        if row.instead_of is not None:
            print(f"{row.function} instead of {row.instead_of}: {row.because}", file=sys.stderr)
    if sample.short:
        print(f"fewer functions than requested in {', '.join(sample.short)}", file=sys.stderr)


def _reason(option: str) -> tuple[str, str]:
    name, _, reason = option.partition("=")
    if not reason.strip():
        raise CatalogueError(f"--replace {option}: write NAME=REASON, such as 'torch.range=it is gone'")
    return name, reason.strip()


@app.command("coverage")
def coverage_(
    release: Annotated[
        list[str] | None,
        typer.Argument(metavar="SURFACE", help=f"{SURFACE} Default: all releases that ship with Portolan."),
    ] = None,
    functions: Annotated[
        Path | None, typer.Option(help="A file with one function per line, instead of the coordinator's suites.")
    ] = None,
    counts: CountsFile = None,
    url: Annotated[str | None, typer.Option("--url", help="The coordinator's address.")] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", help="Data directory of the local instance.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how much of a framework's public surface each suite charts, unweighted and weighted by use."""
    surfaces = [open_surface(name) for name in release or shipped_releases()]
    weights = open_counts(counts)
    releases = [make_release(surface, weights, load_host_only()) for surface in surfaces]
    if functions is not None:
        names = _names_in(functions)
        rows = [coverage(str(functions), names, release) for release in releases]
    else:
        with connect(url, data_dir) as client:
            suite_functions = _suites(client.catalogue())
        of_releases = (suites_coverage(suite_functions, release) for release in releases)
        rows = [row for release in of_releases if release is not None for row in rows_of(release)]
    if as_json:
        print_json(rows)
        return
    print_columns(table_head(), list(map(table_row, rows)), "no registered runner serves a suite of these frameworks")
    for line in dict.fromkeys(map(remark, rows)):
        print(line)


def _suites(catalogue: SuiteList) -> dict[tuple[str, str], list[str]]:
    """Return the functions of every suite, over all its revisions."""
    functions_by_suite: dict[tuple[str, str], list[str]] = {}
    for suite in catalogue.suites:
        functions_by_suite.setdefault((suite.suite, suite.framework), []).extend(
            function.function for function in suite.functions
        )
    return functions_by_suite


def _names_in(file: Path) -> list[str]:
    try:
        return split(file.read_text().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise CatalogueError(f"--functions {file}: {reason.lower()}; name a file with one function per line") from error
