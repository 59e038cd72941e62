"""The limits of a body are exact: a body at the limit passes, and one beyond it does not."""

from __future__ import annotations

import pytest

from coordinator.access.json_scan import require_few_fields, require_modest_json
from coordinator.errors import RequestError

MOST, DEEPEST = 4, 3


@pytest.mark.parametrize("body", [b"[[[1]]]", b"[1,[2],3]", b'"[[[[[["', b'{"a":",,,,,,"}', b"no JSON"])
def test_a_modest_text_passes(body: bytes) -> None:
    require_modest_json(body, MOST, DEEPEST)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"[[[[1]]]]", "nested more than 3 levels deep"), (b"[1,2,3,4,5]", "more than 4 members")],
)
def test_a_text_beyond_a_bound_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        require_modest_json(body, MOST, DEEPEST)


def test_a_form_has_as_many_fields_as_its_bound_and_no_more() -> None:
    require_few_fields(b"a=1&b=2&c=3&d=4", MOST)
    with pytest.raises(RequestError, match="more than 4 fields"):
        require_few_fields(b"a=1&b=2&c=3&d=4&e=5", MOST)
