"""Sessions of pages: who gets a session, how long it lasts, and what ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from coordinator.access.identifier import HELD_S
from tests.acceptance.web.visitor import form_token
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.waiting import until

Make = Callable[..., httpx.Client]
HTML = {"Accept": "text/html"}


@pytest.fixture
def browser(coordinator: CoordinatorProcess) -> Iterator[httpx.Client]:
    headers = {**HTML, "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=coordinator.url, headers=headers, timeout=120.0) as browser:
        yield browser


def sign_in(browser: httpx.Client, token: str, **fields: str) -> httpx.Response:
    return send(browser, "/login", token=token, **fields)


def send(browser: httpx.Client, path: str, **fields: str) -> httpx.Response:
    """Send a form from a page that this browser has received."""
    return browser.post(path, data={"form_token": form_token(browser), **fields})


def test_a_token_gives_a_session_whose_cookie_no_script_and_no_other_site_gets(browser: httpx.Client) -> None:
    assert browser.get("/tokens").status_code == 401
    answer = sign_in(browser, ADMIN_TOKEN, next="/tokens")
    assert (answer.status_code, answer.headers["location"]) == (303, "/tokens")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ADMIN_TOKEN not in cookie
    assert browser.get("/tokens").status_code == 200
    assert "Sign out" in browser.get("/campaigns").text


@pytest.mark.parametrize("token", ["", "nonsense", "portolan_aaaaaaaa_" + "b" * 43])
def test_a_wrong_token_gives_none(browser: httpx.Client, token: str) -> None:
    answer = sign_in(browser, token)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "does not know the token" in answer.text


def test_a_form_of_another_site_signs_nobody_in(browser: httpx.Client) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
    own = {"token": ADMIN_TOKEN, "form_token": form_token(browser)}
    answer = browser.post("/login", data=own, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_after_signing_out_the_old_cookie_is_nothing(browser: httpx.Client) -> None:
    sign_in(browser, ADMIN_TOKEN)
    stolen = dict(browser.cookies)
    assert browser.get("/tokens").status_code == 200
    assert 'action="/logout"' in browser.get("/logout").text
    assert send(browser, "/logout").status_code == 303
    assert browser.get("/tokens").status_code == 401
    again = httpx.get(f"{browser.base_url}/tokens", headers=HTML, cookies=stolen, timeout=120.0)
    assert again.status_code == 401


def test_all_browsers_of_a_token_are_listed_and_signed_out_at_once(
    coordinator: CoordinatorProcess, caller: Make, browser: httpx.Client
) -> None:
    client = caller("viewer", name="ada")
    token = client.headers["Authorization"].removeprefix("Bearer ")
    sign_in(browser, token)
    assert "Other browsers" not in browser.get("/logout").text
    with (
        httpx.Client(base_url=coordinator.url, headers=browser.headers, timeout=120.0) as second,
        httpx.Client(base_url=coordinator.url, headers=browser.headers, timeout=120.0) as anothers,
    ):
        sign_in(second, token)
        sign_in(anothers, ADMIN_TOKEN)
        assert len(client.get("/sessions").json()["sessions"]) == 2
        assert "2 browsers are signed in with this token" in second.get("/logout").text
        assert send(second, "/logout", everywhere="yes").status_code == 303
        assert browser.get("/campaigns").status_code == second.get("/campaigns").status_code == 401
        assert anothers.get("/campaigns").status_code == 200
        assert client.get("/sessions").json() == {"sessions": []}
        sign_in(browser, token)
        assert client.delete("/sessions").status_code == 204
        assert browser.get("/campaigns").status_code == 401
        assert client.get("/whoami").status_code == 200, "the token stays"


def test_a_form_is_of_the_session_in_which_it_was_given(browser: httpx.Client) -> None:
    """A server on another port of the host can set a form cookie whose token it knows."""
    form = form_token(browser)
    sign_in(browser, ADMIN_TOKEN)
    assert browser.post("/logout", data={"form_token": form}).status_code == 403
    assert browser.get("/tokens").status_code == 200
    assert send(browser, "/logout").status_code == 303


def test_what_somebody_is_given_who_signed_in_is_in_no_cache(browser: httpx.Client) -> None:
    assert "cache-control" not in browser.get("/login").headers
    sign_in(browser, ADMIN_TOKEN)
    for path in ("/campaigns", "/tokens", "/campaigns?as=json", "/tokens?as=csv"):
        assert browser.get(path).headers["cache-control"] == "no-store", path


def test_a_session_ends_with_its_token(coordinator: CoordinatorProcess, caller: Make, browser: httpx.Client) -> None:
    client = caller("viewer", name="ada")
    token = client.headers["Authorization"].removeprefix("Bearer ")
    sign_in(browser, token)
    assert browser.get("/campaigns").status_code == 200
    assert browser.get("/campaigns/new").status_code == browser.get("/tokens").status_code == 403
    id = client.get("/whoami").json()["token_id"]
    assert coordinator.http.delete(f"/tokens/{id}").status_code == 204
    assert browser.get("/campaigns").status_code == 401


def test_a_link_signs_in_once(coordinator: CoordinatorProcess, caller: Make, browser: httpx.Client) -> None:
    link_answer = caller("submitter", name="ada").post("/login-links")
    path = link_answer.json()["path"]
    assert browser.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    answer = browser.get(path, headers={"Sec-Fetch-Site": "none"})
    assert (answer.status_code, urlsplit(answer.headers["location"]).path) == (303, "/campaigns")
    assert browser.get("/campaigns/new").status_code == 200
    again = httpx.get(f"{coordinator.url}{path}", headers=HTML, timeout=120.0)
    assert again.status_code == 401
    assert "already used" in again.text
    assert "portolan_session" not in again.headers["set-cookie"]


def test_a_session_that_is_over_is_nobody_s(coordinator: CoordinatorProcess, browser: httpx.Client) -> None:
    from tests.faults.access.test_tokens import fetch

    sign_in(browser, ADMIN_TOKEN)
    assert browser.get("/campaigns").status_code == 200
    fetch(coordinator, "update sessions set expires_at = now() - interval '1 second'")
    until(lambda: browser.get("/campaigns").status_code == 401, f"it is over within {HELD_S:g} s", 30.0)
