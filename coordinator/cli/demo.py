"""``portolan demo``: from nothing to a chart of this machine, in one command.

One environment (a framework's) after the other is set up; as soon as one is ready its
targets get runners and a campaign of their own, while the next is still being set up.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from coordinator.cli import elsewhere
from coordinator.cli.client import Client
from coordinator.cli.directory import DEFAULT_PORT, DataDirectory
from coordinator.cli.elsewhere import NAME, Follower, Work, cancel_leftovers
from coordinator.cli.local import KNOWN_TARGETS, Instance, LocalRunner, Say, stoppable
from coordinator.cli.matrix import print_matrix, print_summary
from coordinator.cli.options import DataDir, split
from coordinator.cli.patience import of_campaigns
from coordinator.cli.processes import Child
from coordinator.cli.progress import Bar, Board
from coordinator.cli.report import write_report
from coordinator.cli.tables import console
from coordinator.cli.up import TEND_EVERY_S, targets_of
from coordinator.errors import CoordinatorAwayError, InstanceError, PortolanError
from coordinator.formats import duration, plural
from coordinator.results.models import MatrixPage
from coordinator.results.summary import Section

HOPELESS_STARTS = 5
"""A runner that ended this often in a row takes its campaign with it."""
OURS = {target.split("/")[0] for target in KNOWN_TARGETS}
"""Frameworks whose environment we know how to set up; others are there or are not."""

Stage = Literal["waiting", "setting up", "starting", "charting", "charted", "left out"]


@dataclass
class Environment:
    """The targets that share one framework's environment, on their way to a chart."""

    framework: str
    targets: list[str]
    state: Stage = "waiting"
    setup: Child | None = None
    runners: list[LocalRunner] = field(default_factory=list)
    follower: Follower | None = None
    since: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        return self.state in ("charted", "left out")

    def rows(self) -> list[Bar | str]:
        """How it stands, for the board."""
        elapsed = duration(time.monotonic() - self.since)
        if self.state == "setting up" and self.setup is not None:
            said = self.setup.lines[-1] if self.setup.lines else "looking"
            return [f"{self.framework}: environment, {elapsed}: {said}"]
        if self.state == "starting":
            return [f"{each.target}: starting its runner, {elapsed}" for each in self.runners if each.id is None]
        if self.state == "charting" and self.follower is not None:
            return [*self.follower.bars()]
        return []


class Demo:
    """Drives all environments from one loop, which also keeps the runners alive."""

    def __init__(self, instance: Instance, board: Board, environments: Sequence[Environment], work: Work) -> None:
        self._instance = instance
        self._board = board
        self._environments = environments
        self._work = work
        self._patience = of_campaigns(board.say, instance.url)

    def run(self) -> None:
        """Until every environment is charted or left out."""
        with Client(self._instance.url) as client:
            self._patience.ask(lambda: cancel_leftovers(client, NAME, self._board.say))
        try:
            while not all(each.over for each in self._environments):
                self._begin_next_setup()
                self._instance.tend()
                for environment in self._environments:
                    self._advance(environment)
                self._board.show([row for each in self._environments for row in each.rows()])
                time.sleep(TEND_EVERY_S)
        finally:
            for environment in self._environments:
                if environment.setup is not None:
                    environment.setup.stop()

    def _begin_next_setup(self) -> None:
        """One at a time: the first chart comes soonest if the first environment has the network to itself."""
        if any(each.state == "setting up" for each in self._environments):
            return
        for environment in self._environments:
            if environment.state == "waiting":
                if environment.framework in OURS:
                    devices = [target.partition("/")[2] for target in environment.targets]
                    command = [sys.executable, "-P", "-m", "runners", "setup", environment.framework, *devices]
                    environment.setup = Child(command)
                self._turn(environment, "setting up")
                return

    def _advance(self, environment: Environment) -> None:
        match environment.state:
            case "setting up":
                self._check_setup(environment)
            case "starting":
                self._check_runners(environment)
            case "charting":
                self._check_campaign(environment)

    def _check_setup(self, environment: Environment) -> None:
        status = environment.setup.ended() if environment.setup is not None else 0
        if status is None:
            return
        if status != 0:
            assert environment.setup is not None
            self._leave_out(environment, f"its environment could not be set up: {environment.setup.complaint}")
            return
        if environment.setup is not None:
            took = duration(time.monotonic() - environment.since)
            self._board.say(f"{environment.framework}: environment ready after {took}")
        environment.runners = self._instance.serve(environment.targets)
        self._turn(environment, "starting")

    def _check_runners(self, environment: Environment) -> None:
        if any(each.state != "left out" and each.id is None for each in environment.runners):
            return
        serving = [each.target for each in environment.runners if each.id is not None]
        if not serving:
            self._turn(environment, "left out")
            return
        with Client(self._instance.url) as client:
            try:
                campaign = client.submit({"name": NAME, "targets": serving, **self._work})
            except CoordinatorAwayError as error:
                # Again at the next look; what was queued all the same is cancelled by the next demo.
                self._patience.lost(error)
                return
            except PortolanError as error:
                self._leave_out(environment, str(error))
                return
        self._patience.heard()
        self._board.say(
            f"campaign {campaign.id}: {plural(campaign.counters.total, 'job')} on {', '.join(serving)}, "
            f"{plural(campaign.runs, 'run')} of each case"
        )
        environment.follower = Follower(self._instance.url, campaign, self._board.say)
        self._turn(environment, "charting")

    def _check_campaign(self, environment: Environment) -> None:
        assert environment.follower is not None
        if environment.follower.error is not None:
            raise environment.follower.error
        if environment.follower.ended:
            self._turn(environment, "charted")
        elif all(each.failures >= HOPELESS_STARTS for each in environment.runners if each.id is not None):
            with Client(self._instance.url) as client, suppress(PortolanError):
                client.cancel(environment.follower.latest.id)

    def _leave_out(self, environment: Environment, reason: str) -> None:
        for target in environment.targets:
            self._board.say(f"{target}: left out, {reason}")
        self._turn(environment, "left out")

    def _turn(
        self, environment: Environment, state: Literal["setting up", "starting", "charting", "charted", "left out"]
    ) -> None:
        environment.state, environment.since = state, time.monotonic()


def demo(
    targets: Annotated[
        list[str] | None, typer.Option(help=f"Such as torch/cpu; unless given {' '.join(KNOWN_TARGETS)}.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=100, help="How often each case runs; a real campaign takes 3.")] = 1,
    functions: Annotated[list[str] | None, typer.Option(help="Globs such as jax.lax.*; all unless given.")] = None,
    url: Annotated[
        str | None, typer.Option(help="A coordinator that runs already: chart its runners instead of this machine.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Set up, start, chart every function on this machine's targets, show the matrix, stop."""
    work: Work = {"runs": runs, **({"functions": split(functions)} if functions is not None else {})}
    if url is not None:
        if data_dir is not None:
            raise InstanceError("--url and --data-dir exclude each other: what is elsewhere keeps its own data")
        _demo_elsewhere(url.rstrip("/"), targets_of(targets) if targets is not None else None, work)
        return
    wanted = targets_of(targets)
    directory = DataDirectory(data_dir)
    environments = by_environment(wanted)
    began = time.monotonic()
    try:
        with stoppable(), Board() as board:
            board.say(f"charting {', '.join(wanted)}; data in {directory.path}")
            with Instance(
                directory, database=None, host="127.0.0.1", port=DEFAULT_PORT, or_any_port=True, say=board.say
            ) as instance:
                board.say(f"watch it at {instance.url}")
                Demo(instance, board, environments, work).run()
                board.show([])
                followers = [each.follower for each in environments if each.follower is not None]
                if not followers:
                    raise InstanceError("none of these targets can be served here, for the reasons above")
                charted = [follower.latest.id for follower in followers]
                with Client(instance.url) as client:
                    matrices = _matrices(client, charted, board, instance.tend)
                    reports = _reports(client, charted, directory, board.say)
                board.say("stopping")
    except KeyboardInterrupt:
        print(f"interrupted; the data stay in {directory.path}, and the next demo starts over", file=sys.stderr)
        raise
    _show(matrices, began)
    for path in reports:
        console().print(f"report: {path}", soft_wrap=True)
    console().print(_further([each.latest.id for each in followers], data_dir), soft_wrap=True)


def _demo_elsewhere(url: str, targets: Sequence[str] | None, work: Work) -> None:
    began = time.monotonic()
    try:
        with stoppable(), Board() as board, Client(url) as client:
            charted = elsewhere.chart(client, targets, work, board)
            matrices = _matrices(client, charted, board)
    except KeyboardInterrupt:
        print(f"interrupted; what was submitted goes on at {url}, and the next demo cancels it", file=sys.stderr)
        raise
    _show(matrices, began)
    shown = "\n".join(f"  {_program()} results {each} --url {url}   every failure" for each in charted)
    console().print(f"To look further:\n{shown}", soft_wrap=True)


def _matrices(
    client: Client, campaigns: Sequence[int], board: Board, tend: Callable[[], None] = lambda: None
) -> list[tuple[MatrixPage, list[Section]]]:
    """The matrix and the summary of each campaign; ``tend`` brings back a database of ours that is away."""
    patience = of_campaigns(board.say, client.url, *campaigns)

    def matrix(campaign: int) -> tuple[MatrixPage, list[Section]]:
        tend()
        return client.matrix(campaign), client.summary(campaign)

    return [patience.ask(partial(matrix, campaign)) for campaign in campaigns]


def _reports(client: Client, campaigns: Sequence[int], directory: DataDirectory, say: Say) -> list[Path]:
    """A file a campaign, in the data directory; a chart without one is still a chart."""
    written = []
    for campaign in campaigns:
        try:
            written.append(write_report(client, campaign, directory.report(campaign)))
        except (PortolanError, OSError) as error:
            say(f"the report of campaign {campaign} could not be written: {error}")
    return written


def _show(matrices: Sequence[tuple[MatrixPage, list[Section]]], began: float) -> None:
    out = console()
    for matrix, summary in matrices:
        print_matrix(matrix, out)
        out.print()
        print_summary(summary, out)
    out.print(f"\ndone after {duration(time.monotonic() - began)}")


def by_environment(targets: Sequence[str]) -> list[Environment]:
    """Targets of one framework share its environment, and so a campaign."""
    groups: dict[str, list[str]] = {}
    for target in targets:
        groups.setdefault(target.split("/")[0], []).append(target)
    return [Environment(framework, members) for framework, members in groups.items()]


def _further(campaigns: Sequence[int], data_dir: Path | None) -> str:
    program = _program()
    place = f" --data-dir {shlex.quote(str(data_dir))}" if data_dir else ""
    shown = "\n".join(f"  {program} results {each}{place}   the matrix and every failure" for each in campaigns)
    return (
        "To look further:\n"
        f"  {program} up{place}   starts everything again on the same data; then, elsewhere,\n"
        f"{shown}\n"
        f'  psql "$({program} db url{place})"   the views outcome_rows, function_verdicts, function_latencies\n'
        f"  {program} submit --wait --runs 3{place}   a campaign as the study made them"
    )


def _program() -> str:
    """How the reader can call this program again from where they are."""
    own = Path(sys.argv[0]).absolute()
    if shutil.which("portolan") == str(own):
        return "portolan"
    with suppress(ValueError):
        return shlex.quote(str(own.relative_to(Path.cwd())))
    return shlex.quote(str(own))
