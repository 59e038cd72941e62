"""The page of the runner API says of every message what the models say: an example that is valid, and every limit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from coordinator.conformance.validity import VERDICTS
from protocol import catalogue, events, jobs, outcomes, problems, runner
from protocol.enums import Ending, Verdict
from protocol.limits import NO_SLASH
from protocol.option_limits import MAX_VALUE

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"
PAGE = (DOCS / "runner-api.md").read_text()
EXAMPLES = [
    (name, body) for name, body in re.findall(r"^`(\w+)`[^\n]*:\n\n```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
MODELS: dict[str, type[BaseModel]] = {
    name: value
    for module in (runner, catalogue, jobs, events, outcomes, problems)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
}
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
"""Messages that stand within the examples of others."""
POWERS = {
    2**15 - 1: "32,767",
    2**31 - 1: "2³¹ - 1",
    2**63 - 1: "2⁶³ - 1",
    -(2**31): "-2³¹",
    1e9: "10⁹",
    1e12: "10¹²",
}


@pytest.mark.parametrize(("name", "body"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_is_valid(name: str, body: str) -> None:
    MODELS[name].model_validate_json(body)


def test_every_message_has_an_example_and_every_member_is_in_one() -> None:
    shown = {name for name, _ in EXAMPLES}
    assert shown == MODELS.keys() - PARTS
    text = "".join(body for _, body in EXAMPLES)
    for name in PARTS:
        assert any(f'"{member}"' in text for member in MODELS[name].model_fields), name


def test_the_endings_of_the_words_have_the_verdicts_that_the_kit_asks_for() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (\w+) \|$", (DOCS / "words.md").read_text(), re.MULTILINE)
    assert {Ending(ending): Verdict(verdict) for ending, verdict in rows if ending in set(Ending)} == VERDICTS


def test_every_limit_of_every_member_stands_on_the_page() -> None:
    section = PAGE.partition("\n## Limits\n")[2]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == list(_rows())


def _rows() -> Iterator[str]:
    for name, model in MODELS.items():
        if name == "Problem":
            continue  # RFC 9457 says it.
        schema = model.model_json_schema()
        for member, field in schema["properties"].items():
            default = f"`{json.dumps(field['default'])}`" if "default" in field and "const" not in field else ""
            if not default and "const" not in field and member not in schema.get("required", []):
                default = "empty"
            yield f"| `{name}.{member}` | {_told(field, schema.get('$defs', {}))} | {default} |"


def _told(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What a member may be, in words."""
    if "anyOf" in field:
        return " or ".join(_told(choice, definitions) for choice in field["anyOf"])
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        if name == "JsonValue":
            return f"any value of at most {MAX_VALUE} characters in JSON"
        words = definitions[name].get("enum")
        return "one of " + ", ".join(f"`{word}`" for word in words) if words else f"`{name}`"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return "one of " + ", ".join(f"`{word}`" for word in field["enum"])
    match field["type"]:
        case "integer" | "number":
            whole = "a whole number" if field["type"] == "integer" else "a number"
            lowest = field.get("minimum", field.get("exclusiveMinimum"))
            above = "over" if "exclusiveMinimum" in field else "from"
            return f"{whole} {above} {_number(lowest)} to {_number(field.get('maximum'))}"
        case "string":
            text = f"text of {field['minLength']} to" if "minLength" in field else "text of at most"
            only = ", of `A-Z a-z 0-9 _ . : -`" if "A-Z" in field.get("pattern", "") else ""
            none = ", without `/`" if field.get("pattern") == NO_SLASH else ""
            return f"{text} {_number(field.get('maxLength'))} characters{only}{none}"
        case "array":
            least = f"{field['minItems']} to" if "minItems" in field else "at most"
            return f"a list of {least} {_number(field.get('maxItems'))}, each {_told(field['items'], definitions)}"
        case "object":
            values = field.get("patternProperties", {"": field.get("additionalProperties")})
            inner = _told(next(iter(values.values())), definitions)
            return f"an object of at most {_number(field.get('maxProperties'))} members, each {inner}"
        case other:
            return {"boolean": "true or false", "null": "null"}[other]


def _number(value: float | None) -> str:
    assert value is not None, "every number, text and list has its limits"
    return POWERS.get(value, f"{value:,.0f}")
