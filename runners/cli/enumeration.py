"""``portolan-runner enumerate``: lists the public API of an installed framework as lines of JSON.

A child process imports the framework and its modules. If a module makes the child crash or hang, the module is
reported, and a new child skips it. So only the entries of this module are missing.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from protocol.surface import FORMAT, SurfaceEntry, SurfaceHeader
from runners import frameworks
from runners.errors import FrameworkBrokenError, UsageError
from runners.isolation import fork_server
from runners.isolation.fork_server import Interpreter
from runners.settings import inherited_variables

CHILD = "runners.surface.child"
SILENCE_S = 300.0
"""The maximum time in seconds between two messages of the child. On a busy machine, importing a framework takes a
minute."""
MOST_CHILDREN = 40
"""The maximum number of children. Each module that crashes or blocks its child needs another child."""
_PIECE = 65_536


@dataclass
class Walk:
    """The state of an enumeration that several children share."""

    skipped: dict[str, str] = field(default_factory=dict)
    importing: str | None = None
    failed: dict[str, str] = field(default_factory=dict)
    printed: dict[str, int] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    end: dict[str, Any] | None = None
    broken: str | None = None

    def begin(self) -> None:
        """Discard the entries from a child that did not finish."""
        self.importing, self.failed, self.printed, self.entries = None, {}, {}, []

    def take(self, message: dict[str, Any]) -> None:
        match message:
            case {"importing": str(name)}:
                self.importing = name
            case {"failed": str(name), "reason": str(reason)}:
                self.failed[name], self.importing = reason, None
            case {"printed": str(name), "bytes": int(size)}:
                self.printed[name] = size
            case {"walking": _}:
                self.importing = None
            case {"entry": dict(entry)}:
                self.entries.append(entry)
            case {"end": dict(end)}:
                self.end = end
            case {"type": "broken", "reason": str(reason)}:
                self.broken = self.failed.get(self.importing or "", reason)


def enumerate_surface(framework: str, interpreter: Interpreter, *, silence_s: float = SILENCE_S) -> bytes:
    """Return the public API as lines of JSON: a header, then one entry per line, sorted by name."""
    if frameworks.load(framework).surface is None:
        raise UsageError(
            f"{framework} declares no public surface: give its Framework (runners.suite.framework) a PublicSurface"
        )
    walk = Walk()
    for _ in range(MOST_CHILDREN):
        walk.begin()
        reason = _run_child(framework, interpreter, walk, silence_s)
        if walk.broken is not None:
            because = walk.failed.get(framework, walk.broken)
            raise FrameworkBrokenError(
                f"{framework} cannot be imported in {interpreter.path} ({because}): repair this environment, or name "
                "another with --python"
            )
        if walk.end is not None:
            return _lines(framework, walk)
        if walk.importing is None or walk.importing == framework:
            at = f"importing {walk.importing}" if walk.importing else "listing names"
            raise FrameworkBrokenError(
                f"{framework} cannot be enumerated in {interpreter.path}: the process {reason} while {at}; "
                "repair this environment, or name another one with --python"
            )
        walk.skipped[walk.importing] = reason
    raise FrameworkBrokenError(
        f"nothing was listed, because {MOST_CHILDREN} modules of {framework} ended their process or hung: "
        "repair this environment, or name another with --python"
    )


def _run_child(framework: str, interpreter: Interpreter, walk: Walk, silence_s: float) -> str:
    """Run one child until it ends. Returns a text that says how it ended."""
    ours, theirs = os.pipe()
    device = frameworks.variables(frameworks.load(framework), "cpu")
    process = subprocess.Popen(
        [interpreter.path, "-W", "ignore", str(fork_server.LAUNCHER), CHILD, str(theirs), framework],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**fork_server.environment(inherited_variables()), **device, "PYTHONHASHSEED": "0"},
        pass_fds=[theirs],
        start_new_session=True,
    )
    os.close(theirs)
    try:
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(json.dumps(walk.skipped).encode())
        with os.fdopen(ours, "rb", buffering=0) as pipe:
            for line in _lines_within(pipe.fileno(), silence_s):
                walk.take(json.loads(line))
        process.wait(silence_s)
    except (TimeoutError, subprocess.TimeoutExpired):
        return f"sent nothing for {silence_s:g} s"
    except ValueError:
        return "wrote into the runner's pipe"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
    code = process.returncode
    return f"ended with signal {-code}" if code < 0 else f"ended with exit code {code}"


def _lines_within(pipe: int, silence_s: float) -> Iterator[bytes]:
    """Yield the lines of a pipe until its end. Raises ``TimeoutError`` if no line arrives for this long."""
    rest = b""
    deadline = time.monotonic() + silence_s
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(pipe, _PIECE)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        if lines:
            deadline = time.monotonic() + silence_s
        yield from lines


def _lines(framework: str, walk: Walk) -> bytes:
    """Return the content of the output file. Equal installations give equal bytes."""
    assert walk.end is not None
    try:
        header = SurfaceHeader(
            format=FORMAT,
            framework=framework,
            entries=len(walk.entries),
            failed=dict(sorted(walk.failed.items())),
            printed=sorted(walk.printed),
            **walk.end,
        )
        entries = sorted((SurfaceEntry(**entry) for entry in walk.entries), key=lambda entry: (entry.name, entry.kind))
    except (ValidationError, TypeError) as error:
        problem = str(error).splitlines()[0]
        raise FrameworkBrokenError(
            f"the list of the names of {framework} cannot be read ({problem}): name another environment with --python"
        ) from error
    return b"".join(f"{model.model_dump_json()}\n".encode() for model in (header, *entries))
