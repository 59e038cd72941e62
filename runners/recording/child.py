"""The child process that runs a user's command under a recorder, in the framework's interpreter.

It writes its records to a pipe, as lines of JSON. Its standard streams belong to the command.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from runners import frameworks
from runners.errors import FrameworkError
from runners.recording.command import AT, FILE, MODULE, RECORD_VALUES, WATCH
from runners.suite.framework import Framework
from runners.suite.recording.book import Book

FORKED = "It forked processes, such as workers of a DataLoader: their calls are not recorded."
STARTED = "It started other programs: their calls are not recorded."
OTHER_FRAMEWORK = "It also imported {0}, whose calls are not recorded: record them separately, with a target of {0}."


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    descriptor, framework, job, kind, target, *own = arguments
    pipe = _Pipe(int(descriptor))
    try:
        seeing = _seeing(frameworks.load(framework), job)
    except (ImportError, FrameworkError) as error:
        pipe.tell({"type": "broken", "reason": f"{framework} cannot be used here: {error}"})
        return 2
    # The version is read from the module, because TensorFlow has several distributions.
    pipe.tell({"version": str(import_module(framework).__version__).partition("+")[0]})
    book = Book(pipe.tell)
    sys.argv = [target, *own]
    imported_before = frozenset(sys.modules)
    with seeing(book, os.getcwd()) as stop:
        _watch_processes(pipe, stop)
        code = _run(kind, target)
        book.tell_counts()
    for name in sorted(frameworks.OURS.keys() & (sys.modules.keys() - imported_before)):
        pipe.note(OTHER_FRAMEWORK.format(name))
    return code


def _seeing(framework: Framework, job: str) -> Callable[[Book, str], AbstractContextManager[Callable[[], None]]]:
    """Return a context manager that observes the calls in its block, for a job of this kind.

    The context manager yields a function that ends the observation.
    """
    what, _, word = job.partition(AT)
    if what == WATCH:
        watching = _import_place(framework.watcher)
        device = frameworks.load_device(framework, word)
        device.describe()
        return lambda book, folder: watching(book, folder, device)
    recording = _import_place(framework.recorder)
    from runners.suite.recording.recorder import RecordingOptions

    options = RecordingOptions(what == RECORD_VALUES, word or None)
    return lambda book, folder: recording(book, folder, options)


def _import_place(place: str | None) -> Callable[..., AbstractContextManager[Callable[[], None]]]:
    module, _, name = str(place).partition(":")
    function: Callable[..., AbstractContextManager[Callable[[], None]]] = getattr(import_module(module), name)
    return function


class _Pipe:
    """The pipe to the parent process. Messages from several threads do not mix."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._is_open = True
        self._said: set[str] = set()

    def tell(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            while self._is_open and line:
                line = line[os.write(self._descriptor, line) :]

    def note(self, sentence: str) -> None:
        """Send a sentence to the parent process. A sentence that was sent before is not sent again."""
        if sentence not in self._said:
            self._said.add(sentence)
            self.tell({"note": sentence})

    def close(self) -> None:
        """Close the pipe in a forked process. It must not be used there, because its lock may be held by a thread that
        exists only in the parent process."""
        self._is_open, self._lock = False, threading.Lock()
        os.close(self._descriptor)


def _watch_processes(pipe: _Pipe, stop: Callable[[], None]) -> None:
    """Record that the command has started other processes. A forked process records nothing itself."""

    def note_fork() -> None:
        stop()
        pipe.close()

    def note_event(event: str, _: object) -> None:
        if event == "subprocess.Popen":
            pipe.note(STARTED)

    os.register_at_fork(before=lambda: pipe.note(FORKED), after_in_child=note_fork)
    sys.addaudithook(note_event)


def _run(kind: str, target: str) -> int:
    """Run the script, the module or the text as Python would, and return the exit code."""
    try:
        if kind == FILE:
            sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
            runpy.run_path(target, run_name="__main__")
        elif kind == MODULE:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, "")
            sys.argv[0] = "-c"
            exec(compile(target, "<string>", "exec"), import_module("__main__").__dict__)
    except SystemExit as ended:
        return _exit_code(ended.code)
    except BaseException as error:
        _show(error)
        return 1
    return 0


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """Print the traceback. It begins with the user's own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


_OWN_FILES: Sequence[str] = (__file__, runpy.__file__, "<frozen runpy>")


def _is_ours(file: str) -> bool:
    return file in _OWN_FILES
