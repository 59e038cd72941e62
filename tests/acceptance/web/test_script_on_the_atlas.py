"""A script that is uploaded on the front page: the functions that it uses, their results on each target, and rejected
files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import portolan
from coordinator.atlas.addresses import as_link, function_path
from tests import bundles
from tests.acceptance.web.visitor import Visitor, form_token, text
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan

FAILING, FINE, UNKNOWN = "torch.cumsum", "torch.add", "torch.cumprod"
SCRIPT = f"""\
import torch


def step(x):
    return {FINE}({FAILING}(x, 0), {UNKNOWN}(x, 0))
"""


@pytest.fixture(scope="module")
def campaign(coordinator: CoordinatorProcess, tmp_path_factory: pytest.TempPathFactory) -> int:
    file = tmp_path_factory.mktemp("bundle") / "torch-xla.bundle"
    bundles.as_torch(file, {FAILING: "hazards.fail", FINE: "hazards.add"})
    with portolan.Client(coordinator.url, ADMIN_TOKEN) as client:
        return client.import_bundle(file, "torch on xla", accept_unsigned=True)[0].id


@pytest.fixture
def client(coordinator: CoordinatorProcess) -> Iterator[portolan.Client]:
    with portolan.Client(coordinator.url, ADMIN_TOKEN) as client:
        yield client


def send(visitor: Visitor, content: str | bytes, name: str = "train.py", **query: str) -> httpx.Response:
    """Send the form with a file, like a browser without JavaScript."""
    return visitor.http.post(
        "/", params=query, data={"form_token": form_token(visitor.http)}, files={"script": (name, content)}
    )


def test_the_front_shows_its_functions_with_their_marks_and_what_goes_wrong(visitor: Visitor, campaign: int) -> None:
    answer = send(visitor, SCRIPT)
    assert answer.status_code == 200, answer.text
    page = text(answer.text)
    assert "What train.py uses" in page
    assert f"On torch/xla this code calls 1 function that fails ({FAILING} at train.py:5)." in page
    for name in (FAILING, FINE):
        (cell,) = visitor.data(f"/atlas/{as_link(function_path(name))}")["functions"][name]["cells"]
        assert f"{name} {cell['mark']}" in page
    assert f"{UNKNOWN} not charted" in page
    assert f'href="/atlas/{as_link(function_path(FAILING))}"' in answer.text
    assert f"return {FINE}({FAILING}(x, 0), {UNKNOWN}(x, 0))" in page


def test_page_rest_and_command_line_find_the_same(
    visitor: Visitor, client: portolan.Client, campaign: int, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = ("assess", str(tmp_path / "train.py"), "--on", "torch/xla", "--format", "json")
    output = Portolan(tmp_path / "data", PORTOLAN_TOKEN=ADMIN_TOKEN).ask(*command, "--url", client.url)
    on_command_line = json.loads(output)
    (over_rest,) = client.assess(SCRIPT, on="torch/xla", name="train.py")
    (on_page,) = send(visitor, SCRIPT, **{"as": "json"}).json()

    def essence(document: Any) -> Any:
        return {name: document[name] for name in ("summary", "target", "findings", "charted", "unknown")}

    assert essence(on_page) == essence(over_rest) == essence(on_command_line)
    assert over_rest["findings"]


@pytest.mark.parametrize(
    "script",
    ["import tensorflow as tf\ntf.cumsum(tf.ones(3))\n", "import jax.numpy as jnp\njnp.cumsum(jnp.ones(3))\n"],
)
def test_a_framework_that_nobody_charted_is_set_against_the_evidence_that_ships(
    client: portolan.Client, script: str
) -> None:
    (assessment,) = client.assess(script)
    assert assessment["origin"] == "ships with Portolan"


def test_a_target_without_any_of_its_functions_is_said_to_be_unknown(client: portolan.Client, campaign: int) -> None:
    (assessment,) = client.assess("import torch\ntorch.sparse.mm(a, b)\n", on="torch/xla")
    assert assessment["summary"].startswith("On torch/xla nothing is known")


def test_a_comment_silences_a_finding_and_a_script_without_functions_has_none(
    visitor: Visitor, client: portolan.Client, campaign: int
) -> None:
    ignoring_script = SCRIPT.replace("(x, 0))\n", "(x, 0))  # portolan: ignore[torch.*]\n")
    (assessment,) = client.assess(ignoring_script, on="torch/xla")
    assert (assessment["findings"], assessment["ignored"]) == ([], 1)
    assert "The script uses no function of torch" in text(send(visitor, "print('hello')\n").text)


def test_a_notebook_is_read_by_its_cells(client: portolan.Client, campaign: int) -> None:
    cells = [{"cell_type": "code", "source": [line]} for line in ("import torch\n", f"{FAILING}(1, 0)\n")]
    (assessment,) = client.assess(json.dumps({"cells": cells}), on="torch/xla", name="train.ipynb")
    assert [place["path"] for finding in assessment["findings"] for place in finding["places"]] == ["train.ipynb#2"]


@pytest.mark.parametrize(
    ("name", "content", "status", "words"),
    [
        ("notes.txt", b"", 422, "notes.txt is not a script: choose a .py file or a notebook (.ipynb)"),
        ("old.py", b"print 'hello'", 422, "old.py cannot be read (Python 2)"),
        ("deep.py", b"(" * 200_000, 422, "deep.py "),
        ("binary.py", b"\x00\xff", 422, "binary.py cannot be read (NUL or bad encoding)"),
        ("<b>.ipynb", b"[]", 422, "<b>.ipynb cannot be read (no notebook)"),
        ("large.py", b"#" * (1 << 20), 413, "is larger than"),
    ],
)
def test_what_is_no_script_is_refused_with_what_to_do(
    visitor: Visitor, name: str, content: bytes, status: int, words: str
) -> None:
    answer = send(visitor, content, name)
    assert answer.status_code == status
    assert words in text(answer.text)
    assert "<b>.ipynb" not in answer.text


def test_it_needs_a_token_of_any_role_and_a_form_of_ours(
    visitor: Visitor, coordinator: CoordinatorProcess, client: portolan.Client
) -> None:
    viewer = client.create_token({"name": "reader", "role": "viewer", "expires_in_days": 1})
    with portolan.Client(coordinator.url, viewer.secret) as reader:
        assert reader.assess("import torch\n", on="torch/xla") == []
    script = {"script": ("train.py", SCRIPT)}
    forgery = visitor.http.post("/", files=script, headers={"Sec-Fetch-Site": "same-origin"})
    assert forgery.status_code == 403
    stranger = httpx.post(f"{coordinator.url}/", files=script, headers={"Accept": "text/html"})
    assert stranger.status_code == 401
