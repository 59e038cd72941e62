"""An impostor gets no job of another runner: with a copied boot id, with another runner's token, or with another device
after a restart."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx
import pytest

from protocol.enrolment_tokens import EnrolmentToken
from tests.faults.registration.listing_runner import ListingRunner, cases
from tests.faults.registration.runner_launcher import ENROLMENT_KEY, RunnerLauncher
from tests.waiting import until

LISTED = cases("f.one", "f.two")


def who_ran(place: RunnerLauncher, campaign: int) -> set[int]:
    async def read() -> set[int]:
        connection = await asyncpg.connect(place.coordinator.dsn)
        rows = await connection.fetch("SELECT runner_id FROM outcomes WHERE campaign_id = $1", campaign)
        await connection.close()
        return {row["runner_id"] for row in rows}

    return asyncio.run(read())


def detail(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json()["detail"])


def enrol(place: RunnerLauncher, runner: ListingRunner, name: str, token: EnrolmentToken) -> httpx.Response:
    body = {"name": name, "url": runner.url, "secret": "p" * 32}
    return place.coordinator.http.post("/runners/enrol", json=body, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("how", ["registers", "enrols"])
def test_a_copied_identity_takes_no_job(place: RunnerLauncher, how: str) -> None:
    honest, impostor = place.start(LISTED), place.start(LISTED)
    mine = place.register_or_fail(honest)["id"]
    impostor.boot_id = honest.boot_id
    answer = place.register(impostor) if how == "registers" else place.enrol(impostor, "impostor")
    assert f"the runner has the same boot_id as runner {mine} at {honest.url}" in detail(answer, 409)
    assert who_ran(place, place.run()) == {mine}


def test_an_identity_that_is_copied_later_takes_no_job(place: RunnerLauncher) -> None:
    """A runner registers as itself, and restarts with the identity of another."""
    honest, impostor = place.start(LISTED), place.start(LISTED)
    mine, other = place.register_or_fail(honest)["id"], place.register_or_fail(impostor)["id"]
    impostor.restart()
    impostor.boot_id = honest.boot_id

    def is_off() -> bool:
        return any(
            runner["id"] == other and "a runner is registered only once" in (runner["reason"] or "")
            for runner in place.runner_rows()
        )

    until(is_off, "the impostor is off")
    assert who_ran(place, place.run()) == {mine}


def test_a_runner_that_restarts_as_another_framework_is_off(place: RunnerLauncher) -> None:
    """Without this rule, whoever owns the port of one runner would get the jobs of any target."""
    runner = place.start(LISTED)
    place.register_or_fail(runner)
    was, runner.framework = runner.framework, "torch"
    runner.restart()

    def reason() -> str:
        (only,) = place.runner_rows()
        return only["reason"] or ""

    until(lambda: f"was registered for {was}/cpu and serves torch/cpu now" in reason(), "it is off, with the reason")


def test_a_token_is_of_no_use_under_another_name_or_for_another_target(place: RunnerLauncher) -> None:
    runner = place.start(LISTED)
    for name, target, words in (
        ("beta", f"{place.framework}/cpu", "is for a runner named alpha, not beta"),
        ("alpha", "torch/cpu", "is for torch/cpu, and the runner serves"),
    ):
        token = EnrolmentToken.make(ENROLMENT_KEY, "alpha", target)
        assert words in detail(enrol(place, runner, name, token), 403)
    forged_token = EnrolmentToken.make("another-key-of-thirty-two-letters", "alpha", f"{place.framework}/cpu")
    assert "missing or wrong" in detail(enrol(place, runner, "alpha", forged_token), 401)
    assert place.runner_rows() == []


def test_a_token_that_was_read_does_not_take_the_place_of_its_runner(place: RunnerLauncher) -> None:
    """A case can read the token of its own runner. The runner that is alive keeps its place."""
    honest, impostor = place.start(LISTED), place.start(LISTED)
    assert place.enrol(honest, "alpha").status_code == 201
    assert "belongs to the runner at" in detail(place.enrol(impostor, "alpha"), 409)


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254", "http://[::ffff:127.0.0.1]:9", "http://10.0.0.1:9", "http://0:8642"]
)
def test_addresses_that_are_no_runners_are_refused_without_a_call(place: RunnerLauncher, url: str) -> None:
    answer = place.coordinator.register(url, "")
    assert "may not connect to the runner" in detail(answer, 422)
