"""The coordinator's log: each line is an event and its fields, as key=value text or as one JSON object.

Ids are fields (``campaign``, ``job``, ``attempt``, ``runner``, ``boot``) and stand in no event's text. A field that
holds for more than one line is bound where it becomes known: the runner where its session starts, the campaign where
its request comes in. Tasks inherit what is bound when they start. Lines of other libraries, uvicorn among them, go the
same way. No local variables and no parameters of SQL stand in a traceback: they may be secrets. What still gets into
a line (a row that PostgreSQL refused, an address with a password) is taken out of the finished line, whoever logged it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import structlog
from structlog.processors import ExceptionRenderer, JSONRenderer, TimeStamper
from structlog.stdlib import BoundLogger, LoggerFactory, ProcessorFormatter, add_log_level, add_logger_name
from structlog.typing import Processor

from coordinator.settings import LogFormat
from protocol.redaction import redacted

_FIELDS_OF_ALL: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_log_level,
    add_logger_name,
    TimeStamper(fmt="iso", utc=True, key="time"),
)
_RENDERERS: dict[LogFormat, tuple[Processor, ...]] = {
    "json": (ExceptionRenderer(), JSONRenderer(default=str)),
    "text": (
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


@contextmanager
def log_to(stream: TextIO, form: LogFormat, secrets: Collection[str] = ()) -> Iterator[None]:
    """Write the events of this process to a stream: those of the coordinator from *info*, others from *warning*.

    ``secrets`` are values that stand in no line, besides whatever has the form of a secret.
    """

    def redact(_logger: Any, _method: str, line: Any) -> str:
        return redacted(line, secrets)

    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=_FIELDS_OF_ALL,
            processors=[ProcessorFormatter.remove_processors_meta, *_RENDERERS[form], redact],
        )
    )
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("coordinator").setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
