"""Callers without a token, with a wrong, expired, revoked or stolen token, or with a role that is too small, are
refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.waiting import until

Make = Callable[..., httpx.Client]

CHANGES = [
    ("POST", "/campaigns", {"suite": "none"}),
    ("POST", "/campaigns/1/cancel", None),
    ("POST", "/runners", {"url": "http://127.0.0.1:1", "secret": "s"}),
    ("DELETE", "/runners/1", None),
    ("POST", "/bundles", None),
    ("POST", "/reclassify", None),
    ("POST", "/campaigns/1/reclassify", None),
    ("PUT", "/campaigns/1/overrides", {}),
    ("DELETE", "/campaigns/1/overrides", None),
    ("POST", "/tokens", {"name": "eve", "role": "admin"}),
    ("DELETE", "/tokens/1", None),
    ("POST", "/login-links", None),
]
READS = ("/campaigns", "/runners", "/catalogue", "/tokens", "/audit", "/whoami", "/campaigns/1/outcomes")
LEAST = {"/tokens": "admin", "/audit": "admin"}


def fetch(coordinator: CoordinatorProcess, query: str, *values: Any) -> list[Any]:
    async def run() -> list[Any]:
        connection = await asyncpg.connect(coordinator.dsn)
        try:
            return list(await connection.fetch(query, *values))
        finally:
            await connection.close()

    return asyncio.run(run())


@pytest.mark.parametrize("token", [None, "nonsense", "portolan_aaaaaaaa_" + "b" * 43, "portolan_aaaaaaaa_" + "é" * 43])
def test_without_a_token_and_with_a_wrong_one_nothing_can_be_read_or_changed(
    coordinator: CoordinatorProcess, caller: Make, token: str | None
) -> None:
    client = caller()
    if token is not None:
        client.headers.encoding = "utf-8"
        client.headers["Authorization"] = f"Bearer {token}"
    answers = [client.get(path) for path in READS]
    answers += [client.request(method, path, json=body) for method, path, body in CHANGES]
    for answer in answers:
        assert answer.status_code == 401, answer.url
        assert answer.headers["www-authenticate"] == 'Bearer realm="portolan"'
        assert "portolan login" in answer.json()["detail"]
        assert token is None or token not in answer.text
    page = client.get(f"{coordinator.url}/campaigns", headers={"Accept": "text/html"})
    assert page.status_code == 401
    assert 'href="/login?next=%2Fcampaigns"' in page.text
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/login", "/static/portolan.css"):
        assert caller().get(f"{coordinator.url}{path}").status_code == 200


def test_a_body_of_nobody_is_not_read(coordinator: CoordinatorProcess, caller: Make) -> None:
    answer = caller().post("/campaigns", content=b"{ this is no json", headers={"Content-Type": "application/json"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("viewer", {"POST /login-links"}),
        ("submitter", {"POST /login-links", "POST /campaigns", "POST /campaigns/1/cancel"}),
        ("operator", {f"{method} {path}" for method, path, _ in CHANGES if not path.startswith("/tokens")}),
        ("admin", {f"{method} {path}" for method, path, _ in CHANGES}),
    ],
)
def test_a_role_may_what_it_includes_and_nothing_else(caller: Make, role: str, may: set[str]) -> None:
    client = caller(role, name=f"of-{role}")
    for method, path, body in CHANGES:
        if f"{method} {path}" == "DELETE /tokens/1":
            path = "/tokens/999999"
        answer = client.request(method, path, json=body)
        if f"{method} {path.replace('999999', '1')}" in may:
            assert answer.status_code not in (401, 403), (path, answer.text)
        else:
            assert answer.status_code == 403, (path, answer.text)
            assert f"of-{role} has the role {role}" in answer.json()["detail"]
            assert "needs the role" in answer.json()["detail"]
    for path in READS:
        is_allowed = path not in LEAST or role == "admin"
        assert (client.get(path).status_code == 403) is not is_allowed, path


def test_a_token_is_stored_as_a_hash_and_shown_once(coordinator: CoordinatorProcess, caller: Make) -> None:
    creation = coordinator.http.post("/tokens", json={"name": "grace", "role": "viewer", "expires_in_days": 1})
    assert creation.headers["cache-control"] == "no-store"
    secret = creation.json()["secret"]
    assert secret.startswith(creation.json()["prefix"])
    token_list = coordinator.http.get("/tokens")
    assert secret not in token_list.text
    assert (
        next(token for token in token_list.json()["tokens"] if token["id"] == creation.json()["id"])["created_by"]
        == "admin"
    )
    for table in ("tokens", "audit_entries"):
        rows = fetch(coordinator, f"select t::text as row from {table} t")
        assert rows
        assert not [row for row in rows if secret in row["row"] or secret[20:] in row["row"]]
    client = caller(token=secret)
    assert client.get("/whoami").json()["name"] == "grace"
    until(
        lambda: fetch(coordinator, "select last_used_at from tokens where id = $1", creation.json()["id"])[0][0],
        "its use is written",
    )


def test_a_revoked_token_stops_at_once_here_and_soon_elsewhere(coordinator: CoordinatorProcess, caller: Make) -> None:
    client = caller("operator", name="stolen")
    other = CoordinatorProcess(coordinator.dsn)
    try:
        there = httpx.Client(base_url=f"{other.url}/api/v1", headers=client.headers, timeout=120.0)
        assert client.get("/runners").status_code == there.get("/runners").status_code == 200
        id = client.get("/whoami").json()["token_id"]
        assert coordinator.http.delete(f"/tokens/{id}").status_code == 204
        refusal = client.get("/runners")
        assert refusal.status_code == 401
        assert "was revoked on" in refusal.json()["detail"]
        until(lambda: there.get("/runners").status_code == 401, "it is refused there too", 30.0)
        there.close()
    finally:
        other.stop()
    assert coordinator.http.delete(f"/tokens/{id}").status_code == 204
    assert coordinator.http.delete("/tokens/999999").status_code == 404


def test_an_expired_token_is_refused_and_says_so(coordinator: CoordinatorProcess, caller: Make) -> None:
    client = caller("admin", name="late")
    id = client.get("/whoami").json()["token_id"]
    fetch(coordinator, "update tokens set expires_at = now() - interval '1 minute' where id = $1", id)
    until(lambda: client.get("/runners").status_code == 401, "it is refused", 30.0)
    assert "expired on" in client.get("/runners").json()["detail"]


def test_a_submitter_cannot_cancel_what_another_submitted(coordinator: CoordinatorProcess, caller: Make) -> None:
    # With work that nobody does, and all in one statement: one without any is done as soon as it is seen.
    (row,) = fetch(
        coordinator,
        "with target as (insert into targets (framework, version, device, device_class, hardware, environment) "
        "values ('f', '1', 'd', 'cpu', 'h', 'e') returning id), "
        "suite as (insert into suites (name, framework, revision, digest) values ('s', 'f', '1', '') returning id), "
        "campaign as ("
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing, created_by) "
        "values ('n', 's', '[]', '[]', 1, 1, 'off', 'grace') returning id) "
        "insert into campaign_targets (campaign_id, target_id, suite_id, total) "
        "select campaign.id, target.id, suite.id, 1 from campaign, target, suite returning campaign_id as id",
    )
    path = f"/campaigns/{row['id']}/cancel"
    refusal = caller("submitter", name="eve").post(path)
    assert refusal.status_code == 403
    assert "needs the role operator, but eve has the role submitter" in refusal.json()["detail"]
    assert coordinator.http.get(f"/campaigns/{row['id']}").json()["state"] == "running"
    cancellation = caller("submitter", name="grace").post(path)
    assert (cancellation.status_code, cancellation.json()["created_by"]) == (200, "grace")


def test_two_callers_at_once_keep_their_roles(caller: Make) -> None:
    """Requests of the two callers run at the same time, and each keeps its own caller."""
    viewer, admin = caller("viewer", name="small"), caller("admin", name="large")

    def ask(number: int) -> tuple[str, int, str]:
        client = (viewer, admin)[number % 2]
        return client.get("/whoami").json()["name"], client.get("/tokens").status_code, str(number % 2)

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(100)))
    assert answers == {("small", 403, "0"), ("large", 200, "1")}
