"""The parts of a log line that are removed, and the parts that stay."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, ValidationError

from coordinator.access.tokens import new_token
from protocol.enrolment_tokens import EnrolmentToken
from protocol.redaction import MASK, mask, mask_tail, redact, secret_values

HIDDEN = "Zq3vN8-hidden_Tt7w"


class Registration(BaseModel):
    secret: int


def _invalid() -> str:
    with pytest.raises(ValidationError) as excinfo:
        Registration.model_validate({"secret": HIDDEN})
    return str(excinfo.value)


LINES = {
    "dsn": f"cannot connect to postgresql://portolan:{HIDDEN}@127.0.0.1:5432/portolan",
    "url": f"GET http://admin:{HIDDEN}@runner:8790/v1/runner",
    "header": f"headers {{'Authorization': 'Bearer {HIDDEN}'}}",
    "bare header": f"authorization: bearer {HIDDEN}",
    "token": f"token portolan_adm_{HIDDEN} is revoked",
    "field": f"secret='{HIDDEN}' url='http://x'",
    "unquoted field": f"password={HIDDEN} host=x",
    "json": json.dumps({"url": "u", "secret": HIDDEN}),
    "json in json": json.dumps({"event": json.dumps({"runner_secret": HIDDEN})}),
    "repr": repr({"enrolment_token": HIDDEN}),
    "pydantic": _invalid(),
    "refused row": f"violates check constraint\nDETAIL:  Failing row contains (1, http://x, {HIDDEN}, null).",
    "refused row in json": json.dumps({"e": f"x\nDETAIL:  Failing row contains (1, (a), {HIDDEN}).\nmore"}),
    "parameters": f"[SQL: INSERT]\n[parameters: ('http://x', '{HIDDEN}')]\n(Background)",
    "parameters in json": json.dumps({"e": f"[SQL: INSERT]\n[parameters: ('u', '{HIDDEN}')]\n(Background)"}),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_secret_is_known_by_its_form(line: str) -> None:
    assert HIDDEN in line
    without = redact(line)
    assert HIDDEN not in without
    assert MASK in without
    assert redact(without) == without


def test_every_token_that_is_given_out_has_the_form() -> None:
    for _ in range(200):
        token = new_token()
        assert redact(f"the token {token.text} is revoked") == f"the token {token.prefix}_{MASK} is revoked"


def test_the_code_of_an_enrolment_token_goes_and_says_still_whose_it_is() -> None:
    token = EnrolmentToken.make("k" * 32, "lab3-torch-cuda", "torch/cuda")
    assert redact(f"{token} is refused") == f"portolan-enrol~lab3-torch-cuda~torch/cuda~{MASK} is refused"


def test_a_line_of_json_stays_json() -> None:
    line = {"event": f'x secret="{HIDDEN}" postgresql://a:{HIDDEN}@h/d', "secret": HIDDEN, "n": 1}
    document = json.loads(redact(json.dumps(line)))
    assert document == {"event": f'x secret="{MASK}" postgresql://a:{MASK}@h/d', "secret": MASK, "n": 1}


@pytest.mark.parametrize(
    "line",
    [
        "campaign 3: tokenize/fast passed in 12 ms at http://127.0.0.1:8642/campaigns/3",
        "the enrolment secret cannot be read from /run/secrets/enrolment: no such file",
        "a basic block; bearer of news; portolan_toy is simulated",
        "runner http://[::1]:8790 answers 401: its secret is another",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == line


def test_a_known_value_goes_wherever_it_stands() -> None:
    assert mask(f"a{HIDDEN}b {HIDDEN}", {HIDDEN}) == f"a{MASK}b {MASK}"
    assert mask_tail(f"{HIDDEN[5:]} and {HIDDEN}", {HIDDEN}) == f"{MASK} and {MASK}"
    assert mask_tail("nothing of it", {HIDDEN}) == "nothing of it"


def test_variables_say_by_their_names_what_is_secret() -> None:
    variables = {
        "HF_TOKEN": HIDDEN,
        "AWS_SECRET_ACCESS_KEY": "a-long-value",
        "PGPASSWORD": "12345678",
        "API_KEY": "short",
    }
    harmless = {"HOME": "/root/long", "PORTOLAN_ENROLMENT_KEY_FILE": "/run/secrets/x", "KEYBOARD": "german-layout"}
    assert secret_values(variables | harmless) == {HIDDEN, "a-long-value", "12345678"}
