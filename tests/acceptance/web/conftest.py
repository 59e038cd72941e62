"""A visitor of the pages of a module's coordinator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.web.visitor import Visitor
from tests.coordinator_process import CoordinatorProcess


@pytest.fixture(scope="module")
def visitor(coordinator: CoordinatorProcess) -> Iterator[Visitor]:
    visitor = Visitor(coordinator)
    yield visitor
    visitor.http.close()
