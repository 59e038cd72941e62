"""``portolan-runner``: serves a device, runs a case or a suite, lists cases, targets or a surface, and sets up
environments.

Exit codes: 0 done or passed, 1 failed, 2 wrong usage or not possible here, 3 incomplete.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import os
import re
import shutil
import socket
import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from protocol.defaults import DEFAULT_RUNS, MAX_RUNS, MAX_TIMEOUT_S
from protocol.enums import DEFAULT_SUITE, TimedCases, TimingPolicy, Verdict
from protocol.exit_codes import UNKNOWN_TARGET
from protocol.function_names import did_you_mean
from protocol.jobs import Job
from protocol.outcomes import Outcome
from protocol.redaction import redact
from runners import frameworks
from runners.cli import environments
from runners.cli.suite_choice import chosen_suites
from runners.cli.targets import require_target, require_targets, target_names
from runners.errors import RunnerError, UnknownFrameworkError, UsageError
from runners.http.enrolment import EnrolmentOptions, default_name, enrolment_options
from runners.isolation.fork_server import Interpreter
from runners.isolation.secrecy import hide_own_variables
from runners.settings import SECRET, heartbeat_s, variables

if TYPE_CHECKING:
    from runners.cli.command_child import CommandOrder
    from runners.http.service import ServeOptions

MAX_SLOTS = 64
EXIT_CODES = {Verdict.passed: 0, Verdict.skipped: 0, Verdict.failed: 1, Verdict.incomplete: 3}


def run(options: argparse.Namespace) -> int:
    """Execute a command and return its exit code."""
    try:
        if options.command == "setup":
            for path in _set_up(options):
                print(path)
            return 0
        if options.command == "enumerate":
            return _enumerate(options)
        if options.command == "targets":
            return _targets(options)
        if options.command == "record":
            return _record(options)
        if options.command == "watch":
            return _watch(options)
        suites = chosen_suites(options.suites)
        options.suites = suites
        options.interpreter = replace(_interpreter(options), suites=suites.paths)
        match options.command:
            case "serve":
                return asyncio.run(_serve(options))
            case "run" if options.out is not None:
                return asyncio.run(_chart(options))
            case "run":
                return asyncio.run(_run(options))
            case _:
                return asyncio.run(_cases(options))
    except RunnerError as error:
        print(f"portolan-runner: {redact(str(error))}", file=sys.stderr)
        is_misspelt = options.command in ("serve", "targets") and isinstance(error, UnknownFrameworkError)
        return UNKNOWN_TARGET if is_misspelt else error.exit_code
    except UnicodeEncodeError as error:
        argument = error.object[error.start : error.end]
        print(f"portolan-runner: {argument!a} is not valid text: write every argument in UTF-8", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output (head, a pager) has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _enrolment(options: argparse.Namespace) -> EnrolmentOptions | None:
    if options.enrol is None:
        options_given = [
            option for option in ("enrolment_token_file", "name", "advertise") if getattr(options, option) is not None
        ]
        if options_given:
            raise UsageError(
                f"--{options_given[0].replace('_', '-')} goes with --enrol URL: add --enrol, or omit the option"
            )
        return None
    if options.enrolment_token_file is None:
        raise UsageError(
            "--enrol needs --enrolment-token-file FILE: write the output of `portolan runner token` into FILE"
        )
    if options.secret_file is not None or variables().secret is not None:
        raise UsageError(f"with --enrol the coordinator gives the secret: omit --secret-file, and unset ${SECRET}")
    name = (
        options.name
        if options.name is not None
        else default_name(socket.gethostname(), options.framework, options.device)
    )
    return enrolment_options(options.enrol, options.enrolment_token_file, name, options.advertise or "auto")


async def _serve(options: argparse.Namespace) -> int:
    # This is the only command that needs a web framework.
    from runners.http.service import serve

    return await serve(_serve_options(options))


def _serve_options(options: argparse.Namespace) -> ServeOptions:
    from runners.http.service import ServeOptions

    enrolment = _enrolment(options)
    secret = _secret(options.secret_file)
    hide_own_variables()
    if not 0 <= options.port <= 65_535:
        raise UsageError(f"--port is {options.port}: give a port from 0 to 65535")
    _check_slots(options.slots)
    options.suites.require_paths(options.framework)
    return ServeOptions(
        framework=options.framework,
        device=options.device,
        interpreter=options.interpreter,
        host=options.host,
        port=options.port,
        secret=secret,
        memory_limit=options.memory_limit,
        slots=options.slots,
        heartbeat_s=heartbeat_s(),
        ready_file=options.ready_file,
        enrolment=enrolment,
        accept_recordings=options.accept_recordings,
    )


def _secret(file: Path | None) -> str | None:
    """Read the secret from the file or, if no file is named, from the variable.

    None if there is neither; then the service generates a secret.
    """
    try:
        secret = file.read_text() if file is not None else variables().secret
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(
            f"--secret-file {file} cannot be read ({reason.lower()}): name a file that contains the secret"
        ) from error
    if secret is not None and not secret.strip():
        raise UsageError(f"{file or f'${SECRET}'} is empty: write a secret there, or omit it to generate one")
    return secret and secret.strip()


def _set_up(options: argparse.Namespace) -> Iterator[Path]:
    """Set up the environments for a framework's devices, or the environment for one release of the framework."""
    framework, is_release, version = options.framework.partition("==")
    plain = framework.partition("[")[0] if is_release else framework
    frameworks.require(plain)
    if options.with_cuda and frameworks.packages_to_spare(plain) is None:
        raise UsageError(f"--with-cuda has no effect on {plain}, whose environment is always complete: omit the option")
    if is_release:
        if options.devices or options.added:
            raise UsageError(f"DEVICE and --with cannot be combined with a release, {options.framework}: omit them")
        if re.fullmatch(r"[0-9][0-9A-Za-z.+!]*", version) is None:
            raise UsageError(f"{options.framework} is not a release: write it like {framework}==2.15.0")
        yield environments.set_up_release(options.framework, whole=options.with_cuda)
        return
    devices = options.devices or ["cpu"]
    for device in devices:
        if options.added:
            # The packages may add this device.
            frameworks.require_served(framework, device)
        else:
            require_target(framework, device)
    by_name: dict[str, list[str]] = {}
    for device in devices:
        by_name.setdefault(environments.name(framework, device), []).append(device)
    for sharing in by_name.values():
        # One environment for all of them: a whole one if any device needs it.
        whole = options.with_cuda or any(frameworks.packages_to_spare(framework, device) is None for device in sharing)
        yield environments.set_up(framework, sharing[0], additions=options.added, whole=whole)


def _interpreter(options: argparse.Namespace) -> Interpreter:
    """Choose the Python that runs the framework: the Python that ``--python`` names. Without this option, choose the
    Python that runs Portolan if it has the framework, and otherwise the Python of the framework's environment."""
    framework, device = options.framework, options.device
    frameworks.require_served(framework, device)
    if options.python is not None:
        program = shutil.which(options.python)
        if program is None:
            raise UsageError(f"--python {options.python} is not a program here: name a Python that has {framework}")
        path = os.path.abspath(program)
        return Interpreter(path, is_chosen=True)
    frameworks.require(framework)
    if frameworks.is_importable(framework):
        return Interpreter()
    environment = environments.find(framework, device)
    if environment is None:
        raise UsageError(
            f"{framework} is not installed here; run: portolan-runner setup {framework} {device}, "
            "or name a Python that has it with --python"
        )
    return Interpreter(str(environment / "bin" / "python"))


async def _run(options: argparse.Namespace) -> int:
    from runners.cli.foreground import open_supervisor, run_one

    if any(option is not None for option in (options.functions, options.runs, options.timed_cases, options.slots)):
        raise UsageError(
            "--functions, --runs, --timed-cases and --slots go with --out FILE: add --out to run a whole suite"
        )
    if options.case is None:
        raise UsageError("no CASE is named: name the CASE to run, or run a whole suite with --out FILE")
    _check_timeout(options)
    run = 1 if options.run is None else options.run
    if run < 1:
        raise UsageError(f"--run is {run}: give a number from 1")
    target = options.framework, options.device
    async with open_supervisor(*target, options.memory_limit, options.interpreter) as (supervisor, log, offer):
        suites = offer.suites
        names = options.suites.searched or list(suites)
        suite = next((name for name in names if name in suites and options.case in suites[name].functions), None)
        if suite is None:
            function_cases = [case for name in names if name in suites for case in suites[name].functions]
            hint = did_you_mean(options.case, function_cases) or ";"
            raise UsageError(
                f"there is no case {options.case!r}{hint} `portolan-runner cases {options.framework}` lists all cases"
            )
        job = Job(
            id="1",
            attempt=1,
            case=options.case,
            run=run,
            timeout_s=options.timeout_s,
            timing=_timing(options) or suites[suite].timing,
        )
        outcome = await run_one(supervisor, log, job, suite, suites[suite].functions[options.case])
    for line in outcome_lines(outcome):
        print(line)
    return EXIT_CODES[outcome.verdict]


def _timing(options: argparse.Namespace) -> TimingPolicy | None:
    return TimingPolicy(options.timing) if options.timing else None


def _check_slots(slots: int) -> None:
    if not 1 <= slots <= MAX_SLOTS:
        raise UsageError(
            f"--slots is {slots}: give a number from 1 to {MAX_SLOTS}; more than one per core does not help"
        )


def _check_timeout(options: argparse.Namespace) -> None:
    if not 0 < options.timeout_s <= MAX_TIMEOUT_S:
        raise UsageError(f"--timeout-s is {options.timeout_s:g}: give seconds over 0 and up to {MAX_TIMEOUT_S:g}")


async def _chart(options: argparse.Namespace) -> int:
    from runners.cli.charting import ChartingOptions, chart

    if options.case is not None or options.run is not None:
        raise UsageError("--out runs a suite: choose with --functions and --runs, not with CASE and --run")
    _check_timeout(options)
    runs = DEFAULT_RUNS if options.runs is None else options.runs
    if not 1 <= runs <= MAX_RUNS:
        raise UsageError(f"--runs is {runs}: give a number from 1 to {MAX_RUNS}")
    globs = [part for argument in options.functions or ["*"] for part in re.split(r"[\s,]+", argument) if part]
    if not globs:
        raise UsageError("--functions is empty: omit the option to run all functions")
    suite, slots = options.suites.only() or DEFAULT_SUITE, 1 if options.slots is None else options.slots
    _check_slots(slots)
    await chart(
        ChartingOptions(
            framework=options.framework,
            device=options.device,
            interpreter=options.interpreter,
            suite=suite,
            functions=globs,
            runs=runs,
            timeout_s=options.timeout_s,
            timing=_timing(options),
            timed_cases=TimedCases(options.timed_cases) if options.timed_cases else None,
            memory_limit=options.memory_limit,
            slots=slots,
            out=options.out,
        )
    )
    return 0


def _targets(options: argparse.Namespace) -> int:
    require_targets(options.names)
    print("\n".join(options.names or target_names()))
    return 0


def _enumerate(options: argparse.Namespace) -> int:
    from protocol.surface import pack
    from runners.cli.enumeration import enumerate_surface

    lines = enumerate_surface(options.framework, _interpreter(options))
    if options.out is None:
        sys.stdout.write(lines.decode())
        return 0
    try:
        options.out.write_bytes(pack(lines) if options.out.suffix == ".gz" else lines)
    except OSError as error:
        raise UsageError(f"--out {options.out}: {error.strerror}; name a file that can be written") from error
    return 0


def _record(options: argparse.Namespace) -> int:
    from runners.cli.recording import record

    return record(_command_order(options), with_values=options.with_values, target=options.target)


def _watch(options: argparse.Namespace) -> int:
    from runners.cli.watching import watch

    return watch(_command_order(options))


def _command_order(options: argparse.Namespace) -> CommandOrder:
    from runners.cli.command_child import CommandOrder
    from runners.recording.command import Command

    _check_timeout(options)
    command = Command.parse(options.words)
    options.python = options.python or command.interpreter
    return CommandOrder(
        framework=options.framework,
        device=options.device,
        interpreter=_interpreter(options),
        command=command,
        words=options.words,
        out=options.out,
        timeout_s=options.timeout_s,
    )


async def _cases(options: argparse.Namespace) -> int:
    from runners.cli.foreground import open_supervisor

    async with open_supervisor(options.framework, options.device, None, options.interpreter) as (_, _, offer):
        lines = [
            f"{name}\t{case}"
            for name, suite in offer.suites.items()
            if name in (options.suites.names or [name])
            for case in suite.functions
            if fnmatch.fnmatchcase(case, options.match)
        ]
    if not lines:
        among = f" in a suite {' or '.join(map(repr, options.suites.names))}" if options.suites.names else ""
        raise UsageError(f"no case{among} matches the glob {options.match!r}: give another, such as 'torch.nn.*'")
    print("\n".join(lines))
    return 0


def outcome_lines(outcome: Outcome) -> list[str]:
    """Write an outcome as lines for people, the most important line first."""
    lines = [f"{outcome.verdict} ({outcome.ending}) in {outcome.duration_s:.3f} s"]
    fallbacks = ", ".join(f"{name} x{count}" for name, count in outcome.proof.fallbacks.items())
    devices = ", ".join(outcome.proof.devices)
    lines.append(f"placement  {outcome.placement}" + (f" on {devices}" if devices else ""))
    if fallbacks:
        lines.append(f"fallbacks  {fallbacks}")
    if outcome.proof.executed is not None:
        lines.append(f"executed   {outcome.proof.executed} times on the device")
    timing = outcome.timing
    if timing.init_ms is not None:
        lines.append(f"priming    {timing.init_ms:.1f} ms")
    if timing.cold_ms is not None:
        lines.append(f"cold       {timing.cold_ms:.3f} ms")
    if timing.samples_ms:
        median = statistics.median(timing.samples_ms)
        spread = f"{min(timing.samples_ms):.4f} to {max(timing.samples_ms):.4f}"
        lines.append(f"steady     {median:.4f} ms median of {len(timing.samples_ms)} samples ({spread})")
    if outcome.evidence is not None:
        for name, value in outcome.evidence.model_dump(exclude_none=True, exclude={"frames"}).items():
            lines.append(f"{name:<10} {value}")
        lines += [f"  {frame}" for frame in outcome.evidence.frames]
    if outcome.log_bytes:
        cut = f" (the last {len(outcome.log_tail)})" if outcome.log_bytes > len(outcome.log_tail.encode()) else ""
        lines += [f"printed {outcome.log_bytes} bytes{cut}:", outcome.log_tail.rstrip("\n")]
    return lines
