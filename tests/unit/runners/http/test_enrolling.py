"""The enrollment request of a runner, its reaction to the response, and the secrets that it accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.enrolment import NAME
from protocol.enrolment_tokens import EnrolmentToken
from runners.errors import RefusedError, UnansweredError
from runners.http.access import Access
from runners.http.enrolment import MAX_NAME, _answer, default_name, enrolment_options, reached_at

TOKEN = str(EnrolmentToken.make("k" * 32, "alpha", "hazards/cpu"))


def opens(access: Access, secret: str) -> bool:
    return access.opens(b"Bearer " + secret.encode())


@pytest.mark.parametrize(
    ("listening", "local", "url"),
    [
        ("127.0.0.1", "127.0.0.1", "http://127.0.0.1:7"),
        ("0.0.0.0", "127.0.0.1", "http://127.0.0.1:7"),
        ("0.0.0.0", "10.0.0.5", "http://10.0.0.5:7"),
        ("10.1.1.1", "10.0.0.5", "http://10.1.1.1:7"),
        ("10.1.1.1", "127.0.0.1", "http://10.1.1.1:7"),
        ("::", "10.0.0.5", "http://10.0.0.5:7"),
        ("::", "fd00::5", "http://[fd00::5]:7"),
        ("::1", "::1", "http://[::1]:7"),
    ],
)
def test_the_address_is_the_one_from_which_the_coordinator_is_reached(listening: str, local: str, url: str) -> None:
    assert reached_at((listening, 7), local) == url


@pytest.mark.parametrize(
    ("listening", "local", "words"),
    [
        ("127.0.0.1", "10.0.0.5", "--host 0.0.0.0"),
        ("::1", "fd00::5", "--host 0.0.0.0"),
        ("0.0.0.0", "fd00::5", "--host ::"),
        ("::", "fe80::5%eth0", "--advertise"),
    ],
)
def test_an_address_that_the_coordinator_cannot_reach_is_told_at_once(listening: str, local: str, words: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(words)):
        reached_at((listening, 7), local)


@pytest.mark.parametrize("host", ["box", "a box (of mine)", "h" * 64, "höst"])
def test_the_name_of_a_runner_that_has_none_fits(host: str) -> None:
    name = default_name(host, "tensorflow", "xla")
    assert re.fullmatch(NAME, name)
    assert name.endswith("-tensorflow-xla")
    assert len(name) <= MAX_NAME


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coordinator": "box:8642"}, "--enrol 'box:8642'"),
        ({"coordinator": "http://box:port"}, "--enrol"),
        ({"coordinator": "http://box/?a=1"}, "--enrol"),
        ({"name": "x" * 65}, "--name"),
        ({"name": "a\nname"}, "--name"),
        ({"advertise": "here"}, "--advertise"),
        ({"content": "two words"}, "--enrolment-token-file"),
        ({"content": ""}, "--enrolment-token-file"),
        ({"content": None}, "--enrolment-token-file"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_starts(
    tmp_path: Path, change: dict[str, str | None], words: str
) -> None:
    values = {"coordinator": "http://box:8642", "name": "alpha", "advertise": "auto", "content": TOKEN} | change
    file = tmp_path / "secret"
    if values["content"] is not None:
        file.write_text(values["content"])
    with pytest.raises(RefusedError, match=words) as excinfo:
        enrolment_options(str(values["coordinator"]), file, str(values["name"]), str(values["advertise"]))
    assert "\n" not in str(excinfo.value)


@pytest.mark.parametrize("status", [400, 401, 403, 409, 413, 422])
def test_a_refusal_is_final_and_says_why_in_one_line(status: int) -> None:
    with pytest.raises(RefusedError, match=r"^told so$"):
        _answer("http://box", status, b'{"title": "No", "status": 0, "detail": "told\\nso"}')


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_what_may_be_better_later_is_tried_again(status: int) -> None:
    with pytest.raises(UnansweredError, match="told so"):
        _answer("http://box", status, b'{"title": "No", "status": 0, "detail": "told so"}')


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (200, b"{}"), (302, b""), (404, b'{"title": "No", "status": 404, "detail": "?"}'), (401, b"")],
)
def test_what_is_no_coordinator_is_told(status: int, body: bytes) -> None:
    with pytest.raises(
        RefusedError, match=f"the program at http://box does not enroll runners \\(it answered {status}\\)"
    ):
        _answer("http://box", status, body)


def test_a_proxy_without_its_coordinator_is_tried_again() -> None:
    with pytest.raises(UnansweredError, match="answers 502"):
        _answer("http://box", 502, b"<html>")


def test_a_secret_that_was_given_opens_for_ever() -> None:
    access = Access("given")
    assert opens(access, "given")
    assert opens(access, "given")
    assert not opens(access, "")
    assert not opens(access, "other")
    assert not access.confirmed.is_set()


def test_both_secrets_open_until_the_new_one_is_used() -> None:
    access = Access("unknown")
    provisional = access.propose()
    assert opens(access, provisional)
    access.adopt("own")
    assert opens(access, provisional), "the coordinator may still be asking"
    assert not access.confirmed.is_set()
    assert opens(access, "own")
    assert access.confirmed.is_set()
    assert not opens(access, provisional)
    assert opens(access, "own")


def test_only_the_last_request_can_be_probed() -> None:
    access = Access("unknown")
    late = access.propose()
    access.adopt("own")
    last = access.propose()
    assert not opens(access, late)
    assert opens(access, last)
    assert opens(access, "own"), "the coordinator that was not heard may have stored it"
