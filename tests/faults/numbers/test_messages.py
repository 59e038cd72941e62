"""Every number, text or list in every message can be stored, or the message is refused. No field is left out."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

import protocol
from protocol import limits
from protocol.events import EVENT
from protocol.model import Message
from protocol.outcomes import Evidence, Outcome, PlacementProof, Timing

for module in pkgutil.iter_modules(protocol.__path__):
    importlib.import_module(f"protocol.{module.name}")

MESSAGES = sorted(Message.__subclasses__(), key=lambda message: message.__name__)
NUMBERS = st.floats() | st.integers() | st.integers(2**62, 2**70) | st.integers(-(2**70), -(2**62))
CHECKED_BY_ITSELF = {"Enrolment.url"}
"""A web address of printable ASCII, or null."""
OUTCOME: dict[str, Any] = {"verdict": "passed", "ending": "returned", "duration_s": 0.0}


def unbounded_places(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The places in a JSON Schema at which a value has no size limit."""
    for choice in schema.get("anyOf", []):
        yield from unbounded_places(choice, path)
    match schema.get("type"):
        case "integer" | "number":
            lower = {"minimum", "exclusiveMinimum"} & schema.keys()
            upper = {"maximum", "exclusiveMaximum"} & schema.keys()
            if not (lower and upper) and "const" not in schema:
                yield path
        case "string":
            is_closed = {"enum", "const"} & schema.keys() or schema.get("format") == "date-time"
            short = "maxLength" in schema or schema.get("pattern", "").endswith("}$")
            if not is_closed and not (short and "pattern" in schema) and path not in CHECKED_BY_ITSELF:
                yield path
        case "array":
            if "maxItems" not in schema:
                yield path
            yield from unbounded_places(schema["items"], f"{path}[]")
        case "object" if "additionalProperties" in schema and schema["additionalProperties"] is not False:
            if "maxProperties" not in schema or "propertyNames" not in schema:
                yield path
            yield from unbounded_places(schema["additionalProperties"], f"{path}{{}}")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_no_field_is_without_bounds(message: type[BaseModel]) -> None:
    whole = message.model_json_schema()
    own = {message.__name__: whole, **whole.get("$defs", {})}
    places = [
        place
        for name, schema in own.items()
        for field, field_schema in schema.get("properties", {}).items()
        for place in unbounded_places(field_schema, f"{name}.{field}")
    ]
    assert places == []


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "-1", "1e13", "1" + "0" * 400])
@pytest.mark.parametrize("field", ["init_ms", "cold_ms", "lock_wait_ms", "samples_ms", "duration_s"])
def test_a_time_that_nothing_can_have_measured_is_refused(field: str, literal: str) -> None:
    place = f'"samples_ms": [1.0, {literal}]' if field == "samples_ms" else f'"{field}": {literal}'
    timing = "{}" if field == "duration_s" else f"{{{place}}}"
    duration = place if field == "duration_s" else '"duration_s": 1'
    outcome = f'{{"verdict": "passed", "ending": "returned", "timing": {timing}, {duration}}}'
    line = f'{{"type": "finished", "n": 1, "id": "1", "attempt": 1, "outcome": {outcome}}}'
    with pytest.raises(ValidationError, match=field):
        EVENT.validate_json(line)


@given(value=NUMBERS, field=st.sampled_from(sorted(Timing.model_fields)))
@example(-0.0, "cold_ms")
@example(5e-324, "init_ms")
def test_a_number_of_a_timing_is_storable_or_refused(value: float, field: str) -> None:
    given_value = [value] if field == "samples_ms" else value
    try:
        timing = Timing.model_validate({field: given_value})
    except ValidationError:
        return
    kept_value = getattr(timing, field)
    if field in ("calls_per_sample", "position"):
        assert 0 <= kept_value <= limits.MAX_INTEGER
    else:
        (number,) = kept_value if field == "samples_ms" else [kept_value]
        assert 0 <= number <= limits.MAX_MILLISECONDS
    assert Timing.model_validate_json(timing.model_dump_json()) == timing
    assert json.loads(timing.model_dump_json(), parse_constant=pytest.fail)


@given(NUMBERS)
def test_other_numbers_of_an_outcome_are_storable_or_refused(value: float) -> None:
    for model, document, low, high in (
        (Outcome, OUTCOME | {"duration_s": value}, 0, limits.MAX_SECONDS),
        (Outcome, OUTCOME | {"log_bytes": value}, 0, limits.MAX_BIGINT),
        (Evidence, {"exit_code": value}, -(2**31), limits.MAX_INTEGER),
        (PlacementProof, {"fallbacks": {"aten::sort": value}}, 0, limits.MAX_BIGINT),
    ):
        try:
            model.model_validate(document)
        except ValidationError:
            continue
        assert low <= value <= high


@pytest.mark.parametrize("n", ["-1", "0", "9223372036854775808", "1.5", "NaN"])
def test_an_event_number_fits_the_cursor(n: str) -> None:
    with pytest.raises(ValidationError, match="n"):
        EVENT.validate_json(f'{{"type": "started", "n": {n}, "id": "1", "attempt": 1}}')


@pytest.mark.parametrize("text", ['"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '"a\x00b"'])
@pytest.mark.parametrize("place", ["log_tail", "message", "frames", "devices", "fallbacks", "stage"])
def test_text_that_cannot_be_stored_is_refused(place: str, text: str) -> None:
    outcome = {
        "log_tail": f'"log_tail": {text}',
        "message": f'"evidence": {{"message": {text}}}',
        "stage": f'"evidence": {{"stage": {text}}}',
        "frames": f'"evidence": {{"frames": [{text}]}}',
        "devices": f'"proof": {{"devices": [{text}]}}',
        "fallbacks": f'"proof": {{"fallbacks": {{{text}: 1}}}}',
    }[place]
    with pytest.raises(ValidationError):
        Outcome.model_validate_json(f'{{"verdict": "failed", "ending": "raised", "duration_s": 1, {outcome}}}')


def test_what_is_as_large_as_allowed_is_taken() -> None:
    line = "x" * limits.MAX_LINE
    outcome = Outcome.model_validate(
        OUTCOME
        | {
            "duration_s": limits.MAX_SECONDS,
            "log_tail": "𝄞" * limits.MAX_TEXT,
            "log_bytes": limits.MAX_BIGINT,
            "timing": {"cold_ms": limits.MAX_MILLISECONDS, "samples_ms": [0.0] * limits.MAX_SAMPLES},
            "evidence": {"exit_code": -(2**31), "frames": [line] * limits.MAX_LINES},
            "proof": {"fallbacks": {line: limits.MAX_BIGINT}},
        }
    )
    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome


def test_a_moment_can_be_told_in_any_zone() -> None:
    moment = TypeAdapter(limits.Moment)
    assert moment.validate_python("1970-01-01T00:00:00Z") == datetime(1970, 1, 1, tzinfo=UTC)
    for text in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-01-01T00:00:00"):
        with pytest.raises(ValidationError):
            moment.validate_python(text)


def test_what_got_past_the_checks_is_not_written_as_not_measured() -> None:
    """Null would mean *not measured*, while invalid JSON is refused by every reader."""
    bad_timing = Timing().model_copy(update={"cold_ms": math.inf})
    with pytest.raises(ValidationError, match="finite"):
        Timing.model_validate_json(bad_timing.model_dump_json())
