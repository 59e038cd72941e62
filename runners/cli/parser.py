"""Defines the commands of ``portolan-runner`` and their options. Imports only modules that ``--help`` needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from protocol.defaults import DEFAULT_RUNS, DEFAULT_TIMEOUT_S
from protocol.enums import DEFAULT_SUITE, TimedCases, TimingPolicy
from runners.isolation import memory

DESCRIPTION = (
    "``portolan-runner``: serve a device, run a case or a suite, record or watch a command, list cases or a surface, "
    "set an environment up."
)


class _Parser(argparse.ArgumentParser):
    """Reports a usage error in one line, without the usage text. The parsers of the commands also have this class."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"portolan-runner: {message}: see {self.prog} --help\n")


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="portolan-runner", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    serve = _command(commands, "serve", "serve one device of one framework, and run jobs that arrive over HTTP")
    _target(serve)
    serve.add_argument("--host", default="127.0.0.1", help="address of the runner (default: %(default)s)")
    serve.add_argument(
        "--port", type=int, default=8790, help="port of the runner; 0 takes any free port (default: %(default)s)"
    )
    serve.add_argument(
        "--secret-file",
        type=Path,
        help="file with the bearer secret; default: $PORTOLAN_RUNNER_SECRET if set, otherwise a new "
        "secret, which the ready line contains",
    )
    serve.add_argument(
        "--memory-limit",
        type=_size,
        help="memory limit of a case's processes, such as 2G; default: 80 %% of the memory that is free at the start",
    )
    serve.add_argument(
        "--slots",
        type=int,
        default=1,
        help="maximum number of untimed cases at once; always 1 on an accelerator (default: %(default)s)",
    )
    _suites(
        serve, "PATH", "path of an additional suite: a module's file, a package's folder or a recording; repeatable"
    )
    serve.add_argument(
        "--accept-recordings",
        action="store_true",
        help="accept recordings from the coordinator and run their calls (default: refuse recordings)",
    )
    serve.add_argument(
        "--ready-file", type=Path, help="also write the ready line to this file, readable by its owner only"
    )
    serve.add_argument(
        "--enrol", metavar="URL", help="enroll with the coordinator at this URL, which gives the runner its secret"
    )
    serve.add_argument(
        "--enrolment-token-file",
        metavar="FILE",
        type=Path,
        help="with --enrol: file with this runner's token, from `portolan runner token`",
    )
    serve.add_argument("--name", help="with --enrol: the runner's permanent name (default: HOST-FRAMEWORK-DEVICE)")
    serve.add_argument(
        "--advertise",
        metavar="URL",
        help="with --enrol: URL at which the coordinator reaches the runner; auto takes the address from which the "
        "runner enrolls, and the runner's port (default: auto)",
    )

    run = _command(commands, "run", "run one case in the foreground, or a whole suite into a file")
    _target(run)
    run.add_argument("case", metavar="CASE", nargs="?", help="id of the case, from 'portolan-runner cases'")
    _suites(run, "SUITE", f"name of a suite, or path of your own (default: {DEFAULT_SUITE})")
    run.add_argument(
        "--timing",
        choices=[policy.value for policy in TimingPolicy],
        help="how calls are timed (default: the policy that the suite declares, which is off for docs, library, "
        "library_quick and pairs; otherwise steady)",
    )
    run.add_argument(
        "--timed-cases",
        choices=[which.value for which in TimedCases],
        help="with --out: time all cases of a function, or one (default: what the suite declares, which is "
        "representative for docs, library, library_quick and pairs; otherwise all)",
    )
    run.add_argument(
        "--run",
        type=int,
        help="number that the output shows for the run; it does not change how the case runs (default: 1)",
    )
    run.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="run a whole suite and write its outcomes to this bundle, for `portolan import`; the file must not exist",
    )
    run.add_argument(
        "--functions",
        metavar="GLOB",
        nargs="+",
        action="extend",
        help="with --out: globs of function names; globs without a match are listed (default: all)",
    )
    run.add_argument("--runs", type=int, help=f"with --out: runs of each case, 1 to 100 (default: {DEFAULT_RUNS})")
    run.add_argument("--slots", type=int, help="with --out: maximum number of untimed cases at once (default: 1)")
    _timeout(run, "a case")
    run.add_argument("--memory-limit", type=_size, help="memory limit of a case's processes, as for serve")

    cases = _command(commands, "cases", "list the cases of a framework")
    cases.add_argument("framework", metavar="FRAMEWORK")
    cases.add_argument("device", metavar="DEVICE", nargs="?", default="cpu")
    _python(cases)
    _suites(cases, "SUITE", "only the cases of this suite; a name, or the path of your own suite (default: all)")
    cases.add_argument("--match", default="*", help="only cases whose id matches this glob")

    targets = _command(commands, "targets", "list the targets for which a runner can be started")
    targets.add_argument(
        "names", metavar="TARGET", nargs="*", help="only check that these names exist: FRAMEWORK/DEVICE"
    )

    record = _command(commands, "record", "run a command of yours, and record which functions it calls and how")
    record.add_argument("framework", metavar="FRAMEWORK")
    _python(record)
    record.add_argument(
        "--out", metavar="FILE", type=Path, required=True, help="output file; an existing recording is replaced"
    )
    _timeout(record, "the command")
    record.add_argument(
        "--with-values",
        action="store_true",
        help="also store the values of floating-point arrays, not only their range",
    )
    record.add_argument(
        "--target",
        metavar="DEVICE",
        help="the device for which the calls are recorded; for xla and tpu, torch's arrays report that they are on "
        "this device; `assess --run` sets this option",
    )
    _words(record)
    record.set_defaults(device="cpu")

    watch = _command(commands, "watch", "run a command of yours on a device, and note what falls back or raises")
    _target(watch)
    watch.add_argument("--out", metavar="FILE", type=Path, required=True, help="output file")
    _timeout(watch, "the command")
    _words(watch)

    surface = _command(commands, "enumerate", "list every public function and class of a framework")
    surface.add_argument("framework", metavar="FRAMEWORK")
    _python(surface)
    surface.add_argument(
        "--out", metavar="FILE", type=Path, help="output file, compressed if its name ends in .gz (default: stdout)"
    )
    surface.set_defaults(device="cpu")

    setup = _command(commands, "setup", "install a framework into an environment of its own")
    setup.add_argument("framework", metavar="FRAMEWORK", help="torch; or one release of it, torch==2.15.0")
    setup.add_argument(
        "devices", metavar="DEVICE", nargs="*", help="devices that the environment is for (default: cpu)"
    )
    setup.add_argument(
        "--with",
        dest="added",
        metavar="PACKAGE",
        action="append",
        default=[],
        help="a package with a device or a suite: a folder, a file or a requirement; repeatable",
    )
    setup.add_argument(
        "--with-cuda",
        action="store_true",
        help="also install the packages that only torch/cuda uses, even if you do not name cuda",
    )
    return parser


def _command(commands: argparse._SubParsersAction[_Parser], name: str, purpose: str) -> argparse.ArgumentParser:
    """Add a command whose purpose stands in the list of the commands and in the command's own help."""
    return commands.add_parser(name, help=purpose, description=f"{purpose[:1].upper()}{purpose[1:]}.")


def _target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("framework", metavar="FRAMEWORK")
    parser.add_argument("device", metavar="DEVICE")
    _python(parser)


def _python(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        help="a Python from 3.9 that has the framework and NumPy; nothing is installed in it",
    )


def _timeout(parser: argparse.ArgumentParser, what: str) -> None:
    help_text = f"deadline of {what} in seconds (default: %(default)g)"
    parser.add_argument("--timeout-s", type=float, default=DEFAULT_TIMEOUT_S, help=help_text)


def _words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="-- COMMAND", nargs="+", help="python with a script, -m MODULE or -c TEXT")


def _suites(parser: argparse.ArgumentParser, metavar: str, meaning: str) -> None:
    parser.add_argument("--suite", dest="suites", metavar=metavar, action="append", default=[], help=meaning)


def _size(text: str) -> int:
    try:
        return memory.parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
