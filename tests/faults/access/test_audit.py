"""The record of changes: who, what, when and from where; nobody changes an entry, and nobody fills the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.faults.access.test_tokens import fetch
from tests.waiting import until

Make = Callable[..., httpx.Client]


def audited(coordinator: CoordinatorProcess, **wanted: Any) -> dict[str, Any]:
    """The newest entry that is so, as soon as it is stored."""

    def found() -> dict[str, Any] | None:
        entries = coordinator.http.get("/audit", params={"limit": 1000}).json()["entries"]
        return next((entry for entry in entries if wanted.items() <= entry.items()), None)

    entry: dict[str, Any] = until(found, f"an entry of the audit: {wanted}")
    return entry


def test_changes_and_refusals_are_recorded_with_who_what_and_from_where(
    coordinator: CoordinatorProcess, caller: Make
) -> None:
    eve = caller("viewer", name="eve")
    assert eve.post("/reclassify").status_code == 403
    refused = audited(coordinator, who="eve", status=403)
    assert (refused["method"], refused["path"], refused["role"]) == ("POST", "/api/v1/reclassify", "viewer")
    assert (refused["address"], refused["kind"]) == ("127.0.0.1", "token")
    assert refused["token_id"] == eve.get("/whoami").json()["token_id"]
    done = audited(coordinator, who="admin", method="POST", path="/api/v1/tokens", status=201)
    assert done["detail"].startswith("/api/v1/tokens/")
    read = [entry for entry in coordinator.http.get("/audit").json()["entries"] if entry["method"] == "GET"]
    assert {entry["status"] for entry in read} <= {303, 401, 403}


def test_entries_of_the_audit_cannot_be_changed_or_deleted(coordinator: CoordinatorProcess, caller: Make) -> None:
    caller("viewer", name="kept")
    audited(coordinator, who="admin", path="/api/v1/tokens", status=201)
    for statement in (
        "update audit_entries set who = 'nobody'",
        "delete from audit_entries",
        "truncate audit_entries",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="never changed or deleted"):
            fetch(coordinator, statement)


def test_refusals_do_not_fill_the_disk(coordinator: CoordinatorProcess, caller: Make) -> None:
    client = caller()
    for _ in range(200):
        assert client.post("/runners").status_code == 401
    stored = fetch(coordinator, "select count(*) from audit_entries where status >= 400")[0][0]
    assert stored < 150
