"""The parts of access control without I/O: roles, tokens, the page after signing in, and the limit on recorded
refusals."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from coordinator.access.audit import LONGEST_PATH, RefusalLimit, make_entry
from coordinator.access.caller import NOBODY, Caller
from coordinator.access.identifier import cookie_value
from coordinator.access.roles import Role
from coordinator.access.tokens import TOKEN, digest, local_path, new_token
from coordinator.cli.anonymous import role_of_nobody
from coordinator.cli.credentials import Origin
from coordinator.database.tables import ROLES
from coordinator.errors import RoleMissingError, SettingError, UnauthorizedError
from coordinator.runner_requests.addresses import is_loopback


def test_each_role_includes_those_before_it_and_no_other() -> None:
    order = [Role.viewer, Role.submitter, Role.operator, Role.admin]
    assert list(Role) == order
    assert list(map(str, order)) == list(ROLES)
    for rank, role in enumerate(order):
        assert [role.includes(other) for other in order] == [other <= rank for other in range(len(order))]


def test_a_refusal_names_the_role_that_is_needed_and_the_one_that_is_held() -> None:
    Caller("ada", Role.operator, "token").require(Role.submitter)
    with pytest.raises(RoleMissingError, match="needs the role operator, but ada has the role viewer"):
        Caller("ada", Role.viewer, "token").require(Role.operator)
    with pytest.raises(UnauthorizedError, match="portolan login"):
        NOBODY.require(Role.viewer)
    with pytest.raises(UnauthorizedError, match="portolan login"):
        Caller("anonymous", Role.viewer, "anonymous").require(Role.submitter)


def test_tokens_have_a_readable_part_and_their_hash_says_nothing_of_them() -> None:
    tokens = {new_token().text for _ in range(100)}
    assert len(tokens) == 100
    token = new_token()
    assert TOKEN.fullmatch(token.text)
    assert re.fullmatch("portolan_[a-z0-9]{8}", token.prefix)
    assert token.text.startswith(f"{token.prefix}_")
    assert len(token.sha256) == 32
    assert token.sha256 == digest(token.text) != digest(token.text[:-1])
    assert token.text not in repr(token)
    assert token.text not in repr(Caller("ada", Role.viewer, "token", 1, token.sha256))


@pytest.mark.parametrize(
    ("next_page", "leads_to"),
    [
        ("/campaigns/3", "/campaigns/3"),
        ("/campaigns?before=3", "/campaigns?before=3"),
        (None, "/campaigns"),
        ("", "/campaigns"),
        ("https://elsewhere.example/", "/campaigns"),
        ("//elsewhere.example/", "/campaigns"),
        ("/\\elsewhere.example/", "/campaigns"),
        ("/a\\..\\b", "/campaigns"),
        ("/a\r\nSet-Cookie: b=c", "/campaigns"),
        ("javascript:alert(1)", "/campaigns"),
    ],
)
def test_signing_in_leads_to_a_page_of_this_site(next_page: str | None, leads_to: str) -> None:
    assert local_path(next_page) == leads_to


def test_of_refusals_only_so_many_are_recorded_and_the_rest_are_counted() -> None:
    limit = RefusalLimit(at_once=3, per_s=0.5)
    assert [limit.admit(0.0) for _ in range(5)] == [0, 0, 0, None, None]
    assert limit.admit(1.0) is None
    assert limit.admit(2.0) == 3
    assert limit.admit(2.0) is None
    assert limit.admit(1000.0) == 1
    assert [limit.admit(1000.0) for _ in range(3)] == [0, 0, None]


def test_an_entry_is_bounded_and_holds_no_token_and_no_control_character() -> None:
    token = new_token().text
    entry = make_entry(NOBODY, "127.0.0.1", "POST", None, f"/a\x1b[2J\0/{token}", 401, f"/b?token={token}")
    assert entry.at <= datetime.now(UTC)
    assert token[-20:] not in f"{entry}"
    assert entry.path.isprintable()
    assert len(make_entry(NOBODY, "", "POST", None, "/x" * 9999, 401, None).path) == LONGEST_PATH


@pytest.mark.parametrize(
    ("header", "value"),
    [("a=1; s=abc; b=2", "abc"), ("s=", ""), ("a=1", None), ("xs=abc", None), ("", None), ("s;;==", None)],
)
def test_a_cookie_is_read_by_its_name(header: str, value: str | None) -> None:
    assert cookie_value(header, "s") == value


def test_an_origin_is_scheme_host_and_port() -> None:
    same = [
        Origin.of(url) for url in ("https://There.example", "https://there.example:443/x", "https://there.example/?a")
    ]
    assert len(set(same)) == 1
    others = ("http://there.example", "https://there.example:8443", "https://there.example.org", "https://here.example")
    assert not {Origin.of(url) for url in others} & set(same)
    assert str(Origin.of("http://[::1]:8642/")) == "http://[::1]:8642"
    for bad in ("nonsense", "ftp://there", "file:///etc/passwd", "http://"):
        with pytest.raises(ValueError):
            Origin.of(bad)


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.1", "localhost.example", "127.0.0.1.example", "")))


def test_nobody_reads_unless_only_this_machine_reaches_the_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTOLAN_ANONYMOUS_ROLE", raising=False)

    def role(host: str | None, token_name: str | None = None, *, without: bool = False) -> str | None:
        return role_of_nobody(host, token_name, without_access_control=without)

    assert role("127.0.0.1") == role("::1") == "viewer"
    assert role("0.0.0.0") is role("::") is role("192.168.0.7") is role(None) is None
    assert role("127.0.0.1", "none") is None
    assert role("0.0.0.0", "viewer") == "viewer"
    assert role("0.0.0.0", without=True) == "admin"
    for bad in ("admin", "submitter", "operator"):
        with pytest.raises(SettingError, match="none or viewer"):
            role("127.0.0.1", bad)
    with pytest.raises(SettingError, match="cannot be combined"):
        role("127.0.0.1", "none", without=True)
    monkeypatch.setenv("PORTOLAN_ANONYMOUS_ROLE", "none")
    assert role("127.0.0.1") is None
    monkeypatch.setenv("PORTOLAN_ANONYMOUS_ROLE", "viewer")
    assert role("0.0.0.0") == "viewer"
