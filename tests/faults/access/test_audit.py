"""The audit of changes records who changed what, when and from where. Nobody can change an entry, and nobody can fill
the disk with entries."""

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


def wait_audit_entry(coordinator: CoordinatorProcess, **fields: Any) -> dict[str, Any]:
    """Wait until a matching entry is stored, and return the newest."""

    def find() -> dict[str, Any] | None:
        entries = coordinator.http.get("/audit", params={"limit": 1000}).json()["entries"]
        return next((entry for entry in entries if fields.items() <= entry.items()), None)

    entry: dict[str, Any] = until(find, f"an entry of the audit: {fields}")
    return entry


def test_changes_and_refusals_are_recorded_with_who_what_and_from_where(
    coordinator: CoordinatorProcess, caller: Make
) -> None:
    eve = caller("viewer", name="eve")
    assert eve.post("/reclassify").status_code == 403
    refusal = wait_audit_entry(coordinator, who="eve", status=403)
    assert (refusal["method"], refusal["path"], refusal["role"]) == ("POST", "/api/v1/reclassify", "viewer")
    assert (refusal["address"], refusal["kind"]) == ("127.0.0.1", "token")
    assert refusal["token_id"] == eve.get("/whoami").json()["token_id"]
    creation = wait_audit_entry(coordinator, who="admin", method="POST", path="/api/v1/tokens", status=201)
    assert creation["detail"].startswith("/api/v1/tokens/")
    read = [entry for entry in coordinator.http.get("/audit").json()["entries"] if entry["method"] == "GET"]
    assert {entry["status"] for entry in read} <= {303, 401, 403}


def test_entries_of_the_audit_cannot_be_changed_or_deleted(coordinator: CoordinatorProcess, caller: Make) -> None:
    caller("viewer", name="kept")
    wait_audit_entry(coordinator, who="admin", path="/api/v1/tokens", status=201)
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
    stored_refusals = fetch(coordinator, "select count(*) from audit_entries where status >= 400")[0][0]
    assert stored_refusals < 150
