"""A script in a request has its own size limit, which is independent of the request's limit."""

from __future__ import annotations

import pytest

from coordinator.assess.script import MOST_BYTES, Script, read_script
from coordinator.errors import RequestError


def test_a_script_that_is_too_large_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        RequestError, match=r"^large\.py has 1,048,577 bytes, .*run `portolan assess` where the file is"
    ):
        read_script(Script("large.py", b"#" * (MOST_BYTES + 1)))
