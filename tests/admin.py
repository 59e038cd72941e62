"""The admin token of the tests' coordinators, all of which have access control."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

ADMIN_TOKEN = "portolan_testests_of-the-tests-and-of-nothing-else-000000000000"
AS_ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}


@cache
def admin_token_file() -> Path:
    """A file with the admin token, for coordinators in separate processes."""
    file = Path(tempfile.mkdtemp(prefix="portolan-admin-")) / "admin-token"
    file.write_text(ADMIN_TOKEN)
    return file
