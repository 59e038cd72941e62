"""The coordinator's log: each line is an event and its fields, as key=value text or as one JSON object.

Ids are fields (``campaign``, ``job``, ``attempt``, ``runner``, ``boot``) and not part of an event's text. A field that
several lines need is bound once: the runner at the start of its session, the campaign at the start of its request.
Tasks inherit the bound fields when they start. Lines of other libraries, such as uvicorn, are logged in the same way.

A traceback contains no local variables and no SQL parameters, because they may be secrets. Secrets that still get into
a line (a row that PostgreSQL rejected, a URL with a password) are removed from the finished line, whichever library
logged it. A thread finishes and writes the lines, so that a slow disk, or a pipe that nobody reads, delays no request
and no runner.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from queue import Full, Queue
from threading import Thread
from typing import Any, NamedTuple, TextIO

import structlog
from structlog.processors import ExceptionRenderer, JSONRenderer, TimeStamper
from structlog.stdlib import BoundLogger, LoggerFactory, ProcessorFormatter, add_log_level, add_logger_name
from structlog.typing import EventDict, Processor

from coordinator.configuration.settings import LogFormat
from protocol.redaction import cut, redact

LONGEST_FIELD = 16 * 1024
"""The maximum number of characters of a field. It is enough for a traceback, and less than a header of 60 KB."""


def _bound_fields(_logger: Any, _method: str, fields: EventDict) -> EventDict:
    """Truncate each value that is too long. The field is truncated and not the line, so that a JSON line stays
    valid."""
    for name, value in fields.items():
        if isinstance(value, str) and len(value) > LONGEST_FIELD:
            fields[name] = redact(cut(value, LONGEST_FIELD))
    return fields


_FIELDS_OF_ALL: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_log_level,
    add_logger_name,
    TimeStamper(fmt="iso", utc=True, key="time"),
)
_RENDERERS: dict[LogFormat, tuple[Processor, ...]] = {
    "json": (ExceptionRenderer(), _bound_fields, JSONRenderer(default=str)),
    "text": (
        _bound_fields,
        structlog.dev.ConsoleRenderer(
            colors=False, pad_level=False, timestamp_key="time", exception_formatter=structlog.dev.plain_traceback
        ),
    ),
}

structlog.configure(
    processors=[structlog.stdlib.filter_by_level, *_FIELDS_OF_ALL, ProcessorFormatter.wrap_for_formatter],
    logger_factory=LoggerFactory(),
    wrapper_class=BoundLogger,
)


def get_logger(name: str) -> BoundLogger:
    logger: BoundLogger = structlog.stdlib.get_logger(name)
    return logger


MOST_WAITING = 10_000
"""The maximum number of lines that wait to be written. Further lines are dropped and counted."""
END_WITHIN_S = 3.0
"""The time limit for writing the last lines of a process that ends."""


class _Line(NamedTuple):
    record: logging.LogRecord
    context: Context
    """The fields that were bound at the logging call."""


class _Waiting(logging.Handler):
    """Puts records into a queue before they are formatted. If the queue is full, records are dropped, so that the
    caller is never blocked."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: Queue[_Line | None] = Queue(MOST_WAITING)
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._left_out:
                self.lines.put_nowait(_Line(_left_out(self._left_out), copy_context()))
                self._left_out = 0
            self.lines.put_nowait(_Line(record, copy_context()))
        except Full:
            self._left_out += 1


class _Writer(Thread):
    """A thread that formats and writes the lines of a queue. If its stream blocks, ``end`` returns nevertheless."""

    def __init__(self, lines: Queue[_Line | None], handler: logging.Handler) -> None:
        super().__init__(name="log", daemon=True)
        self._lines = lines
        self._handler = handler

    def run(self) -> None:
        while (line := self._lines.get()) is not None:
            line.context.run(self._handler.handle, line.record)
        self._handler.close()

    def end(self) -> None:
        with suppress(Full):
            self._lines.put(None, timeout=END_WITHIN_S)
        self.join(END_WITHIN_S)


def _left_out(count: int) -> logging.LogRecord:
    message = f"{count} lines were dropped: the log is written faster than its reader takes it"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, None, None)


@contextmanager
def log_to(stream: TextIO, form: LogFormat, secrets: Collection[str] = ()) -> Iterator[None]:
    """Write the events of this process to a stream: the coordinator's events from level *info*, events of libraries
    from *warning*.

    ``secrets`` are values that are removed from every line. Texts that look like secrets are removed as well.
    """

    def redact_line(_logger: Any, _method: str, line: Any) -> str:
        return redact(line, secrets)

    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=_FIELDS_OF_ALL,
            processors=[ProcessorFormatter.remove_processors_meta, *_RENDERERS[form], redact_line],
        )
    )
    root, waiting = logging.getLogger(), _Waiting()
    writer = _Writer(waiting.lines, handler)
    writer.start()
    root.addHandler(waiting)
    logging.getLogger("coordinator").setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(waiting)
        writer.end()
