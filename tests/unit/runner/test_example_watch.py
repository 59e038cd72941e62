"""The watch over examples: which of Python's audit events cost an example its statement."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from runners.suite.freezing.watch import ASKS, FILES, PLOTS, PROCESSES, SOCKETS, refusal


@pytest.mark.parametrize(
    ("event", "arguments", "reason"),
    [
        ("open", ("/tmp/model.pt", "w", os.O_WRONLY | os.O_CREAT), FILES),
        ("open", ("/etc/passwd", "r", os.O_RDONLY), FILES),
        ("open", (os.__file__, "r", os.O_RDONLY), None),
        ("open", (os.__file__, "w", os.O_WRONLY), FILES),
        ("open", ("/dev/null", "w", os.O_WRONLY), None),
        ("open", (3, "r", 0), None),
        ("os.remove", ("model.pt", -1), FILES),
        ("socket.connect", (None, ("example.org", 80)), SOCKETS),
        ("os.fork", (), PROCESSES),
        ("subprocess.Popen", ("gcc", [], None, None), PROCESSES),
        ("import", ("matplotlib.pyplot", None, None, None, None), PLOTS),
        ("import", ("math", None, None, None, None), None),
        ("builtins.input", ("?",), ASKS),
        ("object.__getattr__", (sys, "path"), None),
    ],
)
def test_an_event_is_refused_by_its_kind(event: str, arguments: tuple[Any, ...], reason: str | None) -> None:
    assert refusal(event, arguments) == reason
