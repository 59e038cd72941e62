"""The cases that the check reads from a runner's catalogue, and the jobs that it makes from these cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Key = tuple[str, int]
"""A job's id and its attempt number."""


@dataclass(frozen=True)
class CheckCase:
    """One case of the runner's catalogue."""

    suite: str
    revision: str
    id: str
    function: str
    host_only: bool
    tags: tuple[str, ...]


@dataclass(frozen=True)
class CheckJob:
    """A job to post to the runner: the request body, which may be invalid on purpose, and the case from the catalogue
    on which the job is based."""

    body: dict[str, Any]
    case: CheckCase

    @property
    def key(self) -> Key:
        return self.body["id"], self.body["attempt"]

    def replace(self, **fields: Any) -> CheckJob:
        return CheckJob(self.body | fields, self.case)


def read_cases(catalogue: dict[str, Any]) -> Iterator[CheckCase]:
    """Yield every case that can be parsed. The clause ``identity.catalogue`` judges cases that cannot be parsed."""
    for suite in dicts(catalogue.get("suites")):
        for case in dicts(suite.get("cases")):
            tags = case.get("tags")
            yield CheckCase(
                suite=str(suite.get("name")),
                revision=str(suite.get("revision")),
                id=str(case.get("id")),
                function=str(case.get("function")),
                host_only=case.get("host_only") is not None,
                tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
            )


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The JSON objects in a list. Values of other types are ignored; a value that is not a list has no objects."""
    if isinstance(value, list):
        yield from (element for element in value if isinstance(element, dict))


def job_name(key: Key) -> str:
    return f"job {key[0]} attempt {key[1]}"
