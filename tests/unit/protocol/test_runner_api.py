"""The page of the runner API agrees with the models: each message has a valid example and all its limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coordinator.conformance.validity import VERDICTS
from protocol.enums import Ending, Verdict
from scripts.docs import MESSAGES

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"
PAGE = (DOCS / "runner-api.md").read_text()
EXAMPLES = [
    (name, body) for name, body in re.findall(r"^`(\w+)`[^\n]*:\n\n```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
PARTS = {
    "Fingerprint",
    "CatalogueSuite",
    "CatalogueCase",
    "CaseOptions",
    "CallOptions",
    "Job",
    "JobReceipt",
    "Running",
    "Evidence",
    "PlacementProof",
    "Timing",
}
"""Messages that occur inside the examples of other messages."""


@pytest.mark.parametrize(("name", "body"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_is_valid(name: str, body: str) -> None:
    MESSAGES[name].model_validate_json(body)


def test_every_message_has_an_example_and_every_member_is_in_one() -> None:
    example_names = {name for name, _ in EXAMPLES}
    assert example_names == MESSAGES.keys() - PARTS
    text = "".join(body for _, body in EXAMPLES)
    for name in PARTS:
        assert any(f'"{member}"' in text for member in MESSAGES[name].model_fields), name


def test_the_endings_on_the_page_have_the_verdicts_that_the_conformance_check_expects() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (\w+) \|$", (DOCS / "runner-api.md").read_text(), re.MULTILINE)
    assert {Ending(ending): Verdict(verdict) for ending, verdict in rows if ending in set(Ending)} == VERDICTS
