"""Records calls within the test process: returns the recorder's reports on a function, and its calls as a suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from protocol.enums import Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.recording.book import CALL, Book
from runners.suite.recording.reading import RecordedCall, functions_of
from runners.suite.recording.recorder import RecordingOptions
from tests.frameworks.common.running import run

Entries = list[dict[str, Any]]
Recording = Callable[[Book, str, RecordingOptions], AbstractContextManager[Callable[[], None]]]
"""The context in which a framework's recorder is active."""


def record(
    recording: Recording,
    work: Callable[[], object],
    *,
    folder: Path | None = None,
    with_values: bool = False,
    target: str | None = None,
) -> Entries:
    """Record a function. Returns the reported entries, each with its kind, its facts, its count and its sites."""
    entries: dict[int, dict[str, Any]] = {}

    def tell(message: dict[str, Any]) -> None:
        if "counts" in message:
            for number, _, sites in message["counts"]:
                entries[number].update(sites=sites, count=sum(count for *_, count in sites))
        else:
            entry = entries.setdefault(message["entry"], {"gradient": None})
            entry.update(message.get("facts", message.get("more")), kind=message.get("kind", entry.get("kind")))

    book = Book(tell)
    with recording(book, str(folder), RecordingOptions(with_values, target)):
        work()
        book.tell_counts()
    return list(entries.values())


def of_kind(entries: Entries, kind: str) -> Entries:
    return [entry for entry in entries if entry["kind"] == kind]


def counts(entries: Entries, kind: str = CALL) -> dict[str, int]:
    """The number of calls of each function. Different calls of one function are added up."""
    calls: dict[str, int] = {}
    for entry in of_kind(entries, kind):
        calls[entry["function"]] = calls.get(entry["function"], 0) + entry["count"]
    return calls


def cases(entries: Entries, framework: str, case_of: Callable[[RecordedCall], Case], folder: Path) -> list[Case]:
    """The recorded calls as cases. Calls with equal descriptions are one case."""
    file = folder / "recording.json"
    head = {"type": "portolan-recording", "format": 1, "portolan": "0", "framework": framework}
    calls = {(entry["function"], entry["name"]): entry for entry in of_kind(entries, CALL)}
    file.write_text(json.dumps({**head, "calls": list(calls.values())}))
    return [case for function in functions_of(file, framework, case_of) for case in function.cases]


def not_passed(device: Device, replay_cases: list[Case]) -> Mapping[str, object]:
    """The outcomes of the cases that did not pass, by id."""
    outcomes = {case.id: run(device, case) for case in replay_cases}
    return {case: outcome for case, outcome in outcomes.items() if outcome.verdict is not Verdict.passed}


def attack(entry: Mapping[str, Any], function: str, argument: str) -> dict[str, Any]:
    """A recorded call, changed so that it calls another function with a text."""
    return {**entry, "function": function, "call": {"tuple": [[argument], {"mapping": []}]}, "gradient": None}
