"""``portolan demo`` charts this machine, or another coordinator's runners, with one command and without preparation.

The environments of the frameworks are set up one after the other. As soon as an environment is ready, runners of its
targets are started, while the next environment is set up. Then one campaign charts all targets, verdicts first. One
loop drives all of this, and also keeps the runners alive.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from coordinator.campaigns.models import CampaignDetail, CampaignTarget
from coordinator.cli.credentials import find_token
from coordinator.cli.directory import DataDirectory
from coordinator.cli.interrupts import FirstInterrupt
from coordinator.cli.local import (
    LOOK_EVERY_S,
    LocalInstance,
    LocalRunner,
    local_instance,
    parse_targets,
    require_known,
    slots_here,
    stoppable,
)
from coordinator.cli.matrix_printer import answers, of_interest, print_results, print_summary
from coordinator.cli.outage_watch import OutageWatch, perhaps_stored
from coordinator.cli.processes import ChildProcess
from coordinator.cli.progress import Board
from coordinator.cli.report_commands import write_report
from coordinator.cli.rest_client import Client
from coordinator.cli.server import port_or_default
from coordinator.cli.shared_options import DataDir, split
from coordinator.cli.target_names import KNOWN_TARGETS
from coordinator.cli.terminal_console import console
from coordinator.errors import CoordinatorAwayError, CoordinatorError, InstanceError, PortolanError
from coordinator.figures.formats import duration, plural
from coordinator.reports.latencies import INTOLERABLE
from coordinator.results.models import MatrixPage
from coordinator.results.summary import Section

NAME = "demo"
HOPELESS_STARTS = 5
"""If a runner ended this many times in a row, the demo cancels the campaign's jobs on the runner's target."""
OURS = {target.split("/")[0] for target in KNOWN_TARGETS}
"""Frameworks whose environments Portolan can set up. Other frameworks must already be installed."""
RUNNERS_LIMIT_S = 180.0
"""Seconds to wait for runners that were requested by name; importing a framework takes long."""

Work = dict[str, Any]
"""The functions and the number of runs: the members of a demo's submission except its name and targets."""
Results = tuple[MatrixPage, Sequence[Section]]
T = TypeVar("T")
Steps = Generator[Sequence[CampaignTarget | str], None, T]
"""The steps to a chart. Each step yields the rows that the board shows, and does not wait."""


class DemoFollower:
    """Follows one campaign in a separate thread, because the loop must not wait. ``latest`` is the campaign's newest
    state."""

    def __init__(self, url: str, token: str | None, campaign: CampaignDetail, say: Callable[[str], None]) -> None:
        self.latest = campaign
        self.error: PortolanError | None = None
        self._url, self._token = url, token
        self._watch = OutageWatch(say, url, campaign.id)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def _follow(self) -> None:
        try:
            with Client(self._url, self._token) as client:
                for campaign in self._watch.follow(client, self.latest.id):
                    self.latest = campaign
        except PortolanError as error:
            self.error = error


class Demo:
    """Submits and follows a demo's campaign on one coordinator."""

    def __init__(self, client: Client, board: Board, work: Work) -> None:
        self.client = client
        self.board = board
        self.watch = OutageWatch(board.say, client.url)
        self.campaign: int | None = None
        self.is_submitting = False
        """Whether a submission was sent and not answered, so that the campaign may be stored."""
        self._work = work
        # Jobs that an interrupted demo left queued would run before ours.
        self.watch.retry(self._cancel_leftovers)

    def drive(self, way: Steps[None], tend: Callable[[], None] = lambda: None) -> None:
        """Run the steps to the end. After each step, show its rows and call ``tend``."""
        with closing(way):
            for rows in way:
                self.board.show(rows)
                tend()
                time.sleep(LOOK_EVERY_S)
        self.board.show([])

    def chart(self, targets: Sequence[str] | None) -> Steps[None]:
        """Chart these targets; without targets, all whose runners are online now."""
        yield from self.follow((yield from self.submit((yield from self.online(targets)))))

    def online(self, targets: Sequence[str] | None) -> Steps[list[str]]:
        """Return the targets to chart: all that are online now; or the named ones, as soon as they are online."""
        began = time.monotonic()
        while True:
            try:
                runners = self.client.runners()
            except CoordinatorAwayError as error:
                self.watch.note_failure(error)
                yield []
                continue
            self.watch.note_success()
            online = {f"{runner.framework}/{runner.device}" for runner in runners if runner.state == "online"}
            missing = sorted(set(targets or ()) - online)
            elapsed_s = time.monotonic() - began
            if not missing or elapsed_s > RUNNERS_LIMIT_S:
                break
            yield [f"waiting for the runners of {', '.join(missing)}, {duration(elapsed_s)}"]
        for target in missing:
            self.board.say(f"{target}: left out, none of its runners is online after {duration(RUNNERS_LIMIT_S)}")
        to_chart = sorted(online) if targets is None else [target for target in targets if target in online]
        if not to_chart:
            url = self.client.url
            raise CoordinatorError(
                f"no runner is online at {url}: start one with `portolan-runner serve`, or see with "
                f"`portolan runner list --url {url}` why the registered runners are not online"
            )
        return to_chart

    def submit(self, targets: Sequence[str]) -> Steps[CampaignDetail]:
        """Submit a campaign on these targets, as soon as the coordinator can be reached."""
        key = token_hex(16)
        self.is_submitting = True
        while True:
            try:
                campaign = self.client.submit({"name": NAME, "targets": targets, **self._work}, key)
            except CoordinatorAwayError as error:
                self.watch.note_failure(error)
                yield []
                continue
            self.watch.note_success()
            self.campaign, self.is_submitting = campaign.id, False
            self.board.say(
                f"campaign {campaign.id}: {plural(campaign.counters.total, 'job')} on {', '.join(targets)}; "
                f"of each case one run for its verdict, then {plural(campaign.runs - 1, 'timed run')}"
            )
            return campaign

    def follow(self, campaign: CampaignDetail, hopeless: Callable[[], Sequence[str]] = tuple) -> Steps[None]:
        """Show the campaign's progress until it has ended. Cancel its jobs on ``hopeless`` targets, whose runners do
        not start.
        """
        follower, began = DemoFollower(self.client.url, self.client.token, campaign, self.board.say), time.monotonic()
        given_up: set[str] = set()
        first_interrupt: FirstInterrupt | None = None
        while not follower.ended:
            for target in set(hopeless()) - given_up:
                with suppress(PortolanError):
                    self.client.cancel(campaign.id, [target])
                    given_up.add(target)
                    self.board.say(f"{target}: left out, its runner ended {HOPELESS_STARTS} times in a row")
            if first_interrupt is None and all(target.verdicts_complete for target in follower.latest.by_target):
                first_interrupt = FirstInterrupt()
                self._tell_verdicts(campaign.id, time.monotonic() - began)
            if first_interrupt is not None and first_interrupt.take():
                self._end_timing(campaign.id)
            yield follower.latest.by_target
        if first_interrupt is not None:
            first_interrupt.give_back()
        if follower.error is not None:
            raise follower.error

    def _tell_verdicts(self, campaign: int, elapsed_s: float) -> None:
        self.board.say(f"all verdicts are on the chart after {duration(elapsed_s)}:")
        with suppress(PortolanError):
            for line in answers(self.client.matrix(campaign)):
                self.board.say(f"  {line}")
        self.board.say(
            f"now the cases that run on each target are timed; Ctrl-C ends the timing and keeps the chart: "
            f"{self.client.url}/campaigns/{campaign}/matrix"
        )

    def _end_timing(self, campaign: int) -> None:
        try:
            self.client.cancel(campaign)
        except PortolanError as error:
            self.board.say(f"the timing could not be ended: {error}; Ctrl-C again stops everything")
        else:
            self.board.say("the timing has ended; the chart has all verdicts, and the times measured so far")

    def results(self, campaign: int, tend: Callable[[], None] = lambda: None) -> Results:
        """Return the matrix and the summary. ``tend`` restarts this instance's database if it has ended."""

        def read() -> Results:
            tend()
            return self.client.matrix(campaign), self.client.summary(campaign)

        return OutageWatch(self.board.say, self.client.url, campaign).retry(read)

    def _cancel_leftovers(self) -> None:
        for campaign in self.client.campaigns().campaigns:
            if campaign.name == NAME and campaign.state == "running":
                self.client.cancel(campaign.id)
                self.board.say(f"campaign {campaign.id}, of an interrupted demo: cancelled")


class LocalDemo:
    """Charts this machine's frameworks: sets up environments, starts runners and runs a campaign."""

    def __init__(self, demo: Demo, instance: LocalInstance) -> None:
        self._demo = demo
        self._instance = instance

    def chart(self, groups: Mapping[str, Sequence[str]]) -> Steps[None]:
        """Chart the targets of each framework."""
        runners: list[LocalRunner] = []
        for framework, targets in groups.items():
            failure = (yield from self._set_up(framework, targets)) if framework in OURS else None
            if failure is None:
                runners += self._instance.serve(targets)
            else:
                self._leave_out(targets, f"its environment could not be set up: {failure}")
        began = time.monotonic()
        while waiting := [runner.target for runner in runners if runner.id is None and runner.state != "left out"]:
            elapsed_time = duration(time.monotonic() - began)
            yield [f"{target}: starting its runner, {elapsed_time}" for target in waiting]
        serving = [runner for runner in runners if runner.id is not None]
        if not serving:
            return
        try:
            # A runner that was ready may be offline again, because a busy machine keeps it from answering.
            online = yield from self._demo.online([runner.target for runner in serving])
            campaign = yield from self._demo.submit(online)
        except PortolanError as error:
            self._leave_out([runner.target for runner in serving], str(error))
            return
        yield from self._demo.follow(
            campaign, lambda: [runner.target for runner in serving if runner.failures >= HOPELESS_STARTS]
        )

    def _set_up(self, framework: str, targets: Sequence[str]) -> Steps[str | None]:
        """Set up a framework's environment. Returns the reason if this failed, otherwise None."""
        devices = [target.partition("/")[2] for target in targets]
        setup, began = (
            ChildProcess([sys.executable, "-P", "-m", "runners", "setup", framework, *devices]),
            time.monotonic(),
        )
        try:
            while (status := setup.exit_status()) is None:
                elapsed_time = duration(time.monotonic() - began)
                yield [f"{framework}: environment, {elapsed_time}: {setup.latest_line or 'looking'}"]
        finally:
            setup.stop()
        if status != 0:
            return setup.complaint
        self._demo.board.say(f"{framework}: environment ready after {duration(time.monotonic() - began)}")
        return None

    def _leave_out(self, targets: Sequence[str], reason: str) -> None:
        for target in targets:
            self._demo.board.say(f"{target}: left out, {reason}")


def demo(
    targets: Annotated[
        list[str] | None,
        typer.Option(help=f"Targets, such as 'torch/cpu jax/cpu'; default: {' '.join(KNOWN_TARGETS)}."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, max=99, help="Number of timed runs of each case; a real campaign has 3.")
    ] = 1,
    functions: Annotated[
        list[str] | None, typer.Option(help="Globs such as 'jax.lax.* jax.numpy.sum'; default: all.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="A running coordinator: chart its runners instead of this machine.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Show every function at the end.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Set up this machine's frameworks, chart every function on its targets, show the matrix, and stop."""
    work: Work = {
        "runs": 1 + runs,
        "verdicts_first": True,
        **({"functions": split(functions)} if functions is not None else {}),
    }
    if url is not None and data_dir is not None:
        raise InstanceError("--url and --data-dir cannot be combined: give one of them")
    selected_targets = None if targets is None else parse_targets(targets)
    if url is None:
        require_known(selected_targets or ())
    directory, began = DataDirectory(data_dir), time.monotonic()
    try:
        with stoppable(), Board() as board:
            if url is None:
                results, last_lines = _chart_here(
                    directory, KNOWN_TARGETS if selected_targets is None else selected_targets, work, board, data_dir
                )
            else:
                results, last_lines = _chart_elsewhere(url.rstrip("/"), selected_targets, work, board)
    except KeyboardInterrupt:
        if url is None:
            print(f"interrupted; the data stay in {directory.path}; the next demo starts over", file=sys.stderr)
        raise
    out = console()
    _print(*results, out, whole=whole)
    out.print(f"\ndone after {duration(time.monotonic() - began)}")
    for line in last_lines:
        out.print(line, soft_wrap=True)


def _print(matrix: MatrixPage, summary: Sequence[Section], out: Console, *, whole: bool) -> None:
    """Print the main result first, then the functions that fail, fall back or are slow (with ``whole``, all functions),
    then the summary."""
    for line in answers(matrix):
        out.print(Text(line), soft_wrap=True)
    selected_rows = matrix if whole else of_interest(matrix)
    if not whole:
        of = plural(len(matrix.rows), "function")
        slow = f"take over {INTOLERABLE:g} times as long"
        out.print(f"{len(selected_rows.rows):,} of {of} fail, fall back or {slow}; --all shows the others")
    if selected_rows.rows:
        print_results(selected_rows, summary, out)
    else:
        print_summary(summary, out)


def _chart_here(
    directory: DataDirectory, targets: Sequence[str], work: Work, board: Board, data_dir: Path | None
) -> tuple[Results, list[str]]:
    """Chart this machine's targets. Returns the results, and the lines that the demo prints at its end."""
    board.say(f"charting {', '.join(targets)}; data in {directory.path}")
    with local_instance(
        directory,
        database=None,
        host="127.0.0.1",
        port=port_or_default(None),
        or_any_port=True,
        say=board.say,
        slots=slots_here(len(targets)),
    ) as instance:
        board.say(f"watch it at {instance.url}")
        instance.say_login_link()
        with Client(instance.url, instance.token) as client:
            demo = Demo(client, board, work)
            demo.drive(LocalDemo(demo, instance).chart(_by_framework(targets)), instance.tend)
            campaign = demo.campaign
            if campaign is None:
                raise InstanceError(
                    "none of these targets can be served here, for the reasons above: choose other targets"
                )
            results = demo.results(campaign, instance.tend)
            reports = []
            # If the report fails, the chart is still complete.
            try:
                reports.append(f"report: {write_report(client, campaign, directory.report(campaign))}")
            except (PortolanError, OSError) as error:
                board.say(f"the report of campaign {campaign} could not be written: {error}")
        board.say("stopping")
    program, place = _program(), f" --data-dir {shlex.quote(str(data_dir))}" if data_dir else ""
    return results, [
        *reports,
        "To look further:",
        f"  {program} up{place}   starts everything again on the same data; then, elsewhere,",
        f"  {program} results {campaign}{place}   the matrix and every failure",
        f'  psql "$({program} db url{place})"   the views outcome_rows, function_verdicts, function_latencies',
        f"  {program} submit --wait --runs 3{place}   a campaign as the study made them",
    ]


def _chart_elsewhere(url: str, targets: Sequence[str] | None, work: Work, board: Board) -> tuple[Results, list[str]]:
    """Chart the runners of the coordinator at ``url``. Returns the results, and the lines that the demo prints at its
    end.

    Raises ``CoordinatorAwayError`` immediately if no coordinator answers, because no campaign runs yet that could be
    lost.
    """
    with Client(url, find_token(url, DataDirectory())) as client:
        client.whoami()
        board.say(f"charting at {url}; Ctrl-C stops the demo")
        demo = Demo(client, board, work)
        try:
            demo.drive(demo.chart(targets))
            campaign = demo.campaign
            assert campaign is not None, "it was submitted, or an error was raised"
            results = demo.results(campaign)
        except KeyboardInterrupt:
            board.say(_what_continues(demo, url))
            raise
    results_line = f"  {_program()} results {campaign} --url {url}   every failure"
    login_line = f"  {_program()} login --link {url}   a link that signs a browser in"
    return results, ["To look further:", results_line, login_line]


def _what_continues(demo: Demo, url: str) -> str:
    if demo.is_submitting:
        return f"{perhaps_stored(url)}; the next demo cancels it"
    if demo.campaign is None:
        return "interrupted; no campaign was submitted"
    return f"interrupted; campaign {demo.campaign} continues at {url}; the next demo cancels it"


def _by_framework(targets: Iterable[str]) -> dict[str, list[str]]:
    """Group the targets by framework, because the targets of a framework share an environment."""
    groups: dict[str, list[str]] = {}
    for target in targets:
        groups.setdefault(target.split("/")[0], []).append(target)
    return groups


def _program() -> str:
    """Return the command with which the reader can call this program again from the current folder."""
    own = Path(sys.argv[0]).absolute()
    if shutil.which("portolan") == str(own):
        return "portolan"
    with suppress(ValueError):
        return shlex.quote(str(own.relative_to(Path.cwd())))
    return shlex.quote(str(own))
