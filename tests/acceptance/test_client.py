"""``portolan.Client`` with a real coordinator: each method sends a request of the OpenAPI document, and the response
matches this document."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pyarrow as pa
import pytest

import portolan
from coordinator.errors import CoordinatorError, UnknownNameError
from protocol.recording import Recording
from tests import bundles
from tests.acceptance.conftest import SECRET
from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess

API = "/api/v1"
ON = "hazards/xla"
WITHOUT_A_METHOD = {
    "GET /sessions": "browsers",
    "DELETE /sessions": "browsers",
    "POST /runners/enrol": "runners",
    "GET /campaigns/{campaign_id}/tables/{table}": "get_json and get_bytes",
    "GET /campaigns/{campaign_id}/figures": "get_json",
    "GET /campaigns/{campaign_id}/figures/{figure}": "get_json and get_bytes",
    "GET /campaigns/{campaign_id}/report": "get_bytes",
}
"""For operations that no method with a response model calls: who calls them, or the method without a model."""

EMPTY = Recording(
    portolan="0.1.0",
    framework="hazards",
    version="1.0",
    command=["python", "train.py"],
    folder="/home/me/project",
    recorded_at=datetime(2026, 1, 2, tzinfo=UTC),
    seconds=1.0,
    exit_code=0,
    notes=[],
    calls=[],
    crossings=[],
    left_out=[],
)


@pytest.fixture
def client(coordinator: CoordinatorProcess) -> Iterator[portolan.Client]:
    with portolan.Client(coordinator.url, ADMIN_TOKEN) as client:
        yield client


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the hazards, changed as if it came from another device than the CPU, so that its evidence is
    compared."""
    folder = tmp_path_factory.mktemp("bundle")
    lines = bundles.lines_of(bundles.make(folder / "made.bundle", runs=1).read_bytes())
    lines[0]["runner"]["device"] = "xla"
    file = folder / "hazards.bundle"
    file.write_bytes(bundles.sealed(lines))
    return file


class Contract:
    """The coordinator's OpenAPI document, and the client's requests that were compared with it."""

    def __init__(self, coordinator: CoordinatorProcess) -> None:
        self.document = httpx.get(f"{coordinator.url}/openapi.json").json()
        self.called: set[str] = set()

    @property
    def operations(self) -> dict[str, dict[str, Any]]:
        return {
            f"{method.upper()} {path.removeprefix(API)}": operation
            for path, methods in self.document["paths"].items()
            if path.startswith(API)
            for method, operation in methods.items()
        }

    def check(self, answer: httpx.Response) -> None:
        """Check that the document declares the request with all its parameters, and that the response matches the
        document."""
        name = self._operation(answer.request)
        operation = self.operations[name]
        self.called.add(name)
        declared = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
        assert set(answer.request.url.params) <= declared, name
        response = operation["responses"][str(answer.status_code)]
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if schema and answer.headers["content-type"] == "application/json":
            answer.read()
            jsonschema.validate(answer.json(), {**schema, "components": self.document["components"]})

    def _operation(self, request: httpx.Request) -> str:
        called = f"{request.method} {request.url.path.removeprefix(API)}"
        # A path without parameters comes before one that it also fits.
        for name in sorted(self.operations, key=lambda name: name.count("{")):
            if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(name)), called):
                return name
        raise AssertionError(f"{called} is not in the OpenAPI")


class Noted:
    """A client that records the names of the methods that were called."""

    def __init__(self, client: portolan.Client) -> None:
        self.names: set[str] = set()
        self._client = client

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._client, name)


# A method that is added far from here fails it.
@pytest.mark.every_change
def test_every_method_is_an_operation_of_the_openapi_and_answers_as_it_says(
    client: portolan.Client, coordinator: CoordinatorProcess, runner: RunnerProcess, bundle: Path
) -> None:
    contract = Contract(coordinator)
    client._http.event_hooks["response"].append(contract.check)
    noted = Noted(client)
    call_everything(noted, runner, bundle)
    methods = {name for name, _ in inspect.getmembers(portolan.Client, inspect.isfunction) if not name.startswith("_")}
    assert methods - noted.names == set()
    assert contract.operations.keys() - contract.called == WITHOUT_A_METHOD.keys()


def call_everything(client: Any, runner: RunnerProcess, bundle: Path) -> None:
    """Call each method, in an order in which each has data to return."""
    assert client.whoami().role == "admin"
    client.login_link()
    token = client.create_token({"name": "notebook", "role": "viewer", "expires_in_days": 1})
    assert token.id in {one.id for one in client.tokens()}
    client.revoke_token(token.id)
    client.audit(None, 10)

    request = portolan.CampaignRequest(suite="hazards", functions=["hazards.add"], runs=1)
    assert client.dry_run(request).jobs > 0
    campaign = client.submit(request).id
    *_, ended = client.progress(campaign)
    assert ended.state == "done"
    assert campaign in {one.id for one in client.campaigns().campaigns}
    assert client.campaign(campaign).counters == ended.counters
    assert client.matrix(campaign).rows
    client.summary(campaign)
    client.conditions(campaign, "*")
    client.operations(campaign)
    with pytest.raises(CoordinatorError):
        client.operation_cases(campaign, "aten::none")
    with pytest.raises(CoordinatorError):
        client.sample(campaign)
    client.campaign_coverage(campaign)
    client.history("hazards", "hazards.add")
    assert len(list(client.outcomes(campaign, {}))) == client.results(campaign).num_rows
    assert b"hazards.add" in b"".join(client.export(campaign, "csv", {}))
    assert client.get_json(f"/campaigns/{campaign}/tables", {})["tables"]

    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIENKZXlpYpuwJNR9pUs/8U84sKl2PHgMAvJ39kdUo8mS lab"
    signer = client.add_signer("lab@example.org", key)
    assert signer in client.signers()
    assert client.revoke_signer(signer.id).revoked_at is not None

    imported, is_new = client.import_bundle(bundle, "xla", accept_unsigned=True)
    assert is_new
    client.compare(str(campaign), str(imported.id), "anywhere")
    assert client.evidence(ON).targets
    assert client.can_i("hazards.add", on=ON).of > 0
    (assessment,) = client.assess("import torch\ntorch.cumsum(1, 0)\n", on="torch/xla")
    assert assessment["origin"] == "ships with Portolan"
    wrong = next(row for row in client.outcomes(imported.id, {"verdict": "failed"}))
    override = {"case": wrong["case"], "target": ON, "cause": "type", "why": "a test"}
    client.override(imported.id, override)
    assert len(client.overrides(imported.id)) == 1
    client.undo_override(imported.id, wrong["case"], ON)
    client.reclassify(imported.id)
    client.reclassify(None)
    client.delete_campaign(imported.id)

    (suite, *_) = client.catalogue().suites
    assert client.suite_cases(suite.suite_id).cases
    client.coverage()
    assert client.suites()
    with pytest.raises(CoordinatorError):
        client.delete_suite(suite.suite_id)
    with pytest.raises(CoordinatorError):
        client.cancel(campaign)
    (registered,) = client.runners()
    assert client.runner(registered.id) == registered
    with pytest.raises(CoordinatorError, match="accept"):
        client.send_recording(registered.id, EMPTY)
    client.remove(registered.id)
    client.register(runner.ready["url"], SECRET)
    assert client.get_bytes(f"/campaigns/{campaign}/tables", {})
    client.close()


def test_results_are_a_table_with_the_columns_of_the_exported_file(
    client: portolan.Client, runner: RunnerProcess
) -> None:
    campaign = client.submit({"suite": "hazards", "functions": ["hazards.add"], "runs": 1, "timing": "off"}).id
    *_, ended = client.progress(campaign)
    table = client.results(campaign)
    assert isinstance(table, pa.Table)
    assert table.num_rows == ended.counters.done
    assert set(table["function"].to_pylist()) == {"hazards.add"}
    frame = client.results(campaign, {"verdict": "failed"}).to_pandas()
    assert len(frame) == ended.counters.failed
    assert set(frame["verdict"]) == {"failed"}


def test_a_submission_with_the_same_key_is_one_campaign(client: portolan.Client, runner: RunnerProcess) -> None:
    request = portolan.CampaignRequest(suite="hazards", functions=["hazards.add"], runs=1)
    first = client.submit(request, "key-of-this-test")
    assert client.submit(request, "key-of-this-test").id == first.id
    assert client.submit(request).id != first.id


def test_a_coordinator_answers_by_what_its_own_campaigns_found(
    client: portolan.Client, bundle: Path, tmp_path: Path
) -> None:
    client.import_bundle(bundle, None, accept_unsigned=True)
    file = tmp_path / "evidence.json"
    file.write_bytes(client.get_bytes("/evidence", {"target": ON}))
    answer = client.can_i("hazards.add", on=ON)
    assert answer == portolan.can_i("hazards.add", on=ON, data=file)
    assert (answer.word, answer.of) == ("it depends", 4)
    assert client.can_i("hazards.never", on=ON).word == "unknown"
    with pytest.raises(UnknownNameError):
        client.can_i("hazards.add", on="no selector")


def test_a_program_connects_as_a_command_does(coordinator: CoordinatorProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTOLAN_URL", coordinator.url)
    monkeypatch.setenv("PORTOLAN_TOKEN", ADMIN_TOKEN)
    with portolan.connect() as client:
        assert client.whoami().role == "admin"


def test_a_refusal_has_the_words_of_the_coordinator(client: portolan.Client) -> None:
    with pytest.raises(CoordinatorError, match="there is no campaign 987654"):
        client.campaign(987654)


def test_what_is_not_promised_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'campaigns'"):
        portolan.campaigns  # noqa: B018
    assert all(hasattr(portolan, name) for name in portolan.__all__)


def test_a_large_bundle_without_a_signature_is_refused_with_the_reason(client: portolan.Client, tmp_path: Path) -> None:
    file = tmp_path / "large.bundle"
    with file.open("wb") as sparse:
        sparse.truncate(64 << 20)
    with pytest.raises(CoordinatorError, match="the bundle is not signed"):
        client.import_bundle(file, None)
