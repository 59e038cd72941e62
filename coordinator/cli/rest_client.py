"""The client of the REST API, for the command line and for programs. Every failure becomes a message of one line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError

from coordinator.cli.directory import DEFAULT_URL
from coordinator.cli.http_library import authorities, httpx
from coordinator.errors import CoordinatorAwayError, CoordinatorError
from coordinator.figures.counting import ANYWHERE
from protocol.problems import Problem

# Each method imports the models of its answer. A command parses only one or two of them, and building all of them takes
# longer than most requests.
if TYPE_CHECKING:
    import pyarrow as pa

    from coordinator.access.models import AuditPage, LoginLink, NewToken, Token, WhoAmI
    from coordinator.assess.answers import Answer
    from coordinator.assess.evidence import EvidenceSet
    from coordinator.bundles.models import Signer
    from coordinator.campaigns.models import CampaignDetail, CampaignPage, DryRun
    from coordinator.campaigns.request import CampaignRequest
    from coordinator.catalogue.models import CampaignCoverage, CoverageList, SuiteCases, SuiteList
    from coordinator.causes.models import Override, Reclassified
    from coordinator.deletion.models import DeletedCampaign, StoredSuite
    from coordinator.registry.models import Runner
    from coordinator.results.comparison.models import Comparison
    from coordinator.results.condition_rows import CampaignConditions
    from coordinator.results.models import CampaignSample, History, MatrixPage
    from coordinator.results.operations import CampaignOperations, OperationCases
    from coordinator.results.summary import Section
    from protocol.recording import Recording

ANSWER_S = 60.0
SILENCE_S = 30.0
"""The seconds without data after which a stream of events counts as dead. The coordinator sends something every 10
s."""
WHOLE_S = 600.0
"""The time limit for responses that take long: a file is complete before its first byte is sent, and a bundle, or a
campaign of a million jobs, is stored before the response."""

REALM = 'Bearer realm="portolan"'
"""The WWW-Authenticate value of a coordinator that requires a token."""

AWAY = (httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.GATEWAY_TIMEOUT)
"""The statuses with which a proxy answers if it cannot reach its coordinator. Such answers have no problem details."""

BUNDLE = {"Content-Type": "application/x-ndjson"}

MATRIX_ROWS = 5000
"""The number of functions per request for a matrix."""
REFRESH_WAIT_S = 120.0
REFRESH_LOOK_S = 1.0
"""The seconds between looks at a large campaign's matrix, which is updated in the background after the campaign's
end."""

Query = Mapping[str, str | int | None]
Model = TypeVar("Model", bound=BaseModel)


class Client:
    """``with Client(url, token) as client: client.campaign(3)``. The token is sent only to this URL.

    Methods raise ``CoordinatorError``, with the coordinator's message, for rejected requests, and
    ``CoordinatorAwayError`` if the coordinator or its database is unreachable.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.token = token
        try:
            host = urlsplit(url).hostname or ""
            # A proxy from the environment is not used for addresses of this machine.
            local = host == "localhost" or host == "::1" or host.startswith("127.")
            self._http = httpx.Client(
                base_url=f"{url}/api/v1",
                headers={} if token is None else {"Authorization": f"Bearer {token}"},
                timeout=_timeout(ANSWER_S),
                verify=authorities(url),
                trust_env=not local,
                # A redirect could lead to another origin, which must not get the token.
                follow_redirects=False,
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise CoordinatorError(f"'{url}' is not a URL: write it like {DEFAULT_URL}") from error

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Call it at the end of a program or a notebook that does not use ``with``."""
        self._http.close()

    def whoami(self) -> WhoAmI:
        from coordinator.access.models import WhoAmI

        return self._get(WhoAmI, "/whoami")

    def catalogue(self) -> SuiteList:
        from coordinator.catalogue.models import SuiteList

        return self._get(SuiteList, "/catalogue")

    def suite_cases(self, suite_id: int, function: str | None = None, offset: int = 0) -> SuiteCases:
        """Return a page of the cases of a suite in the catalogue. ``function`` is a glob."""
        from coordinator.catalogue.models import SuiteCases

        return self._get(SuiteCases, f"/suites/{suite_id}/cases", {"function": function, "offset": offset})

    def coverage(self) -> CoverageList:
        """Return how much of each framework's public surface the suites of registered runners chart."""
        from coordinator.catalogue.models import CoverageList

        return self._get(CoverageList, "/coverage")

    def campaign_coverage(self, campaign_id: int) -> CampaignCoverage:
        """Return how much of each framework's public surface a campaign has charted."""
        from coordinator.catalogue.models import CampaignCoverage

        return self._get(CampaignCoverage, f"/campaigns/{campaign_id}/coverage", within_s=WHOLE_S)

    def sample(self, campaign_id: int) -> CampaignSample:
        from coordinator.results.models import CampaignSample

        return self._get(CampaignSample, f"/campaigns/{campaign_id}/sample")

    def login_link(self) -> LoginLink:
        """Return a link that signs in a browser once."""
        from coordinator.access.models import LoginLink

        return self._parse(LoginLink, self._send("POST", "/login-links"))

    def create_token(self, request: Mapping[str, Any]) -> NewToken:
        from coordinator.access.models import NewToken

        return self._parse(NewToken, self._send("POST", "/tokens", json=dict(request)))

    def tokens(self) -> list[Token]:
        from coordinator.access.models import TokenList

        return self._get(TokenList, "/tokens").tokens

    def revoke_token(self, token_id: int) -> None:
        self._send("DELETE", f"/tokens/{token_id}")

    def audit(self, who: str | None, limit: int) -> AuditPage:
        from coordinator.access.models import AuditPage

        return self._get(AuditPage, "/audit", {"who": who, "limit": limit})

    def submit(self, request: CampaignRequest | Mapping[str, Any], key: str | None = None) -> CampaignDetail:
        """Plan and queue a campaign. A repeated call with the same key, for example after an outage, returns the first
        campaign."""
        from coordinator.campaigns.models import CampaignDetail

        headers = {"Idempotency-Key": key or token_hex(16)}
        response = self._send("POST", "/campaigns", json=_json(request), headers=headers, within_s=WHOLE_S)
        return self._parse(CampaignDetail, response)

    def dry_run(self, request: CampaignRequest | Mapping[str, Any]) -> DryRun:
        """Return the plan of a campaign without storing anything."""
        from coordinator.campaigns.models import DryRun

        return self._parse(DryRun, self._send("POST", "/campaigns", json={**_json(request), "dry_run": True}))

    def import_bundle(
        self, path: Path, name: str | None, *, accept_unsigned: bool = False
    ) -> tuple[CampaignDetail, bool]:
        """Store a bundle. Returns its campaign, and whether the campaign is new.

        If there is a signature file next to the bundle (its name with ``.sig`` added), the client sends it too. Without
        a signature, the coordinator refuses the bundle, unless ``accept_unsigned`` is true.
        """
        from coordinator.bundles.signature import SIGNATURE, read_signature
        from coordinator.campaigns.models import CampaignDetail

        signature = read_signature(path)
        headers = BUNDLE if signature is None else {**BUNDLE, SIGNATURE: signature}
        query = {"name": name, "unsigned": True if accept_unsigned else None}
        with path.open("rb") as file:
            answer = self._send("POST", "/bundles", query=query, content=file, headers=headers, within_s=WHOLE_S)
        return self._parse(CampaignDetail, answer), answer.status_code == httpx.codes.CREATED

    def signers(self) -> list[Signer]:
        """Return the keys that are or were trusted to sign bundles, newest first."""
        from coordinator.bundles.models import SignerList

        return self._get(SignerList, "/signers").signers

    def add_signer(self, name: str, key: str) -> Signer:
        """Trust a public key, the content of a file such as ``id_ed25519.pub``, under a name."""
        from coordinator.bundles.models import Signer

        return self._parse(Signer, self._send("POST", "/signers", json={"name": name, "key": key}))

    def revoke_signer(self, signer_id: int) -> Signer:
        from coordinator.bundles.models import Signer

        return self._parse(Signer, self._send("DELETE", f"/signers/{signer_id}"))

    def campaigns(self, limit: int = 50) -> CampaignPage:
        from coordinator.campaigns.models import CampaignPage

        return self._get(CampaignPage, "/campaigns", {"limit": limit})

    def campaign(self, campaign_id: int) -> CampaignDetail:
        from coordinator.campaigns.models import CampaignDetail

        return self._get(CampaignDetail, f"/campaigns/{campaign_id}")

    def cancel(self, campaign_id: int, targets: Sequence[str] = ()) -> CampaignDetail:
        """Cancel the jobs that are not done, on these targets, or on all targets if none is named."""
        from coordinator.campaigns.models import CampaignDetail

        path = f"/campaigns/{campaign_id}/cancel"
        response = self._send("POST", path, json={"targets": list(targets)}) if targets else self._send("POST", path)
        return self._parse(CampaignDetail, response)

    def delete_campaign(self, campaign_id: int) -> DeletedCampaign:
        from coordinator.deletion.models import DeletedCampaign

        return self._parse(DeletedCampaign, self._send("DELETE", f"/campaigns/{campaign_id}", within_s=WHOLE_S))

    def suites(self) -> list[StoredSuite]:
        """Return every stored suite with each of its revisions."""
        from coordinator.deletion.models import StoredSuites

        return self._get(StoredSuites, "/suites").suites

    def delete_suite(self, suite_id: int) -> StoredSuite:
        from coordinator.deletion.models import StoredSuite

        return self._parse(StoredSuite, self._send("DELETE", f"/suites/{suite_id}", within_s=WHOLE_S))

    def matrix(
        self,
        campaign_id: int,
        function: str | None = None,
        device: str | None = None,
        rule: str = ANYWHERE.name,
    ) -> MatrixPage:
        """Return the whole matrix, or the functions that a glob matches. If the campaign has ended, wait until the
        matrix is up to date."""
        from coordinator.results.models import MatrixPage

        query_text = function and f"function:{function}"
        query = {"limit": MATRIX_ROWS, "device": device, "q": query_text, "rule": rule}

        def page(offset: int) -> MatrixPage:
            return self._get(MatrixPage, f"/campaigns/{campaign_id}/matrix", {**query, "offset": offset})

        deadline = time.monotonic() + REFRESH_WAIT_S
        while not (matrix := page(0)).freshness.current and matrix.state != "running" and time.monotonic() < deadline:
            time.sleep(REFRESH_LOOK_S)
        while len(matrix.rows) < matrix.found and (more := page(len(matrix.rows)).rows):
            matrix = matrix.model_copy(update={"rows": [*matrix.rows, *more]})
        return matrix

    def summary(self, campaign_id: int, function: str | None = None, device: str | None = None) -> Sequence[Section]:
        """Return the campaign in sentences, as in its report."""
        from coordinator.results.summary import Summary

        query = {"function": function, "device": device}
        return self._get(Summary, f"/campaigns/{campaign_id}/summary", query, within_s=WHOLE_S).sections

    def conditions(self, campaign_id: int, function: str, device: str | None = None) -> CampaignConditions:
        """Return the conditions of the functions that match a glob. Functions without a case that fails or falls back
        are not included."""
        from coordinator.results.condition_rows import CampaignConditions

        query = {"function": function, "device": device}
        return self._get(CampaignConditions, f"/campaigns/{campaign_id}/conditions", query, within_s=WHOLE_S)

    def operations(self, campaign_id: int, name: str = "") -> CampaignOperations:
        """Return the operations that fell back, failed, gave a wrong result or lack a lowering."""
        from coordinator.results.operations import CampaignOperations

        return self._get(CampaignOperations, f"/campaigns/{campaign_id}/operations", {"name": name}, within_s=WHOLE_S)

    def operation_cases(self, campaign_id: int, operation: str) -> OperationCases:
        from coordinator.results.operations import OperationCases

        path = f"/campaigns/{campaign_id}/operations/{quote(operation)}"
        return self._get(OperationCases, path, within_s=WHOLE_S)

    def compare(self, a: str, b: str, rule: str) -> Comparison:
        from coordinator.results.comparison.models import Comparison

        return self._get(Comparison, "/compare", {"a": a, "b": b, "rule": rule})

    def history(self, framework: str, function: str) -> History:
        from coordinator.results.models import History

        return self._get(History, f"/history/{quote(framework)}/{quote(function)}")

    def evidence(self, target: str, *, with_cpu: bool = False) -> EvidenceSet:
        """Return all results of campaigns for the targets that a selector matches, without the CPU unless ``with_cpu``.
        If the selector matches no target, the returned set has no targets."""
        from coordinator.assess.evidence_file import read

        content = self.get_bytes("/evidence", {"target": target, "with_cpu": "true" if with_cpu else None})
        return read(content, f"the answer of {self.url}", f"from {self.url}")

    def assess(self, source: str, *, on: str = "*/*", name: str = "script.py") -> list[dict[str, Any]]:
        """Return the findings about a script on each target that a selector matches, as ``portolan assess`` reports
        them.

        ``source`` is the text of the file ``name``, a script or a notebook. Each document has the format of ``--format
        json``.
        """
        body = {"source": source, "name": name, "target": on}
        try:
            answer = self._send("POST", "/assessments", json=body, within_s=WHOLE_S)
            assessments: list[dict[str, Any]] = json.loads(answer.content)
        except ValueError as error:
            raise self._not_ours() from error
        return assessments

    def outcomes(self, campaign_id: int, filters: Query, page: int = 1000) -> Iterator[dict[str, Any]]:
        """Yield all outcomes that match the filters, reading page by page."""
        from coordinator.results.outcomes.models import OutcomePage

        after: int | None = 0
        while after is not None:
            query = {**filters, "after": after, "limit": page}
            answer = self._get(OutcomePage, f"/campaigns/{campaign_id}/outcomes", query)
            yield from answer.outcomes
            after = answer.next

    def export(self, campaign_id: int, format: str, filters: Query) -> Iterator[bytes]:
        """Yield the outcomes as one file in pieces."""
        with self._stream(f"/campaigns/{campaign_id}/outcomes", {**filters, "format": format}, WHOLE_S) as answer:
            yield from answer.iter_bytes()

    def results(self, campaign_id: int, filters: Query | None = None) -> pa.Table:
        """Return all outcomes that match the filters as an Arrow table, with the columns of the exported files.

        Example: ``client.results(3, {"device": "xla"}).to_pandas()``.
        """
        from pyarrow import parquet

        return parquet.read_table(BytesIO(b"".join(self.export(campaign_id, "parquet", filters or {}))))

    def can_i(self, function: str, *, on: str, dtype: str | None = None) -> Answer:
        """Say whether a function works on a target, according to all campaigns of the coordinator.

        It has the same results and errors as ``portolan.can_i``, which uses the evidence that ships with Portolan.
        """
        from coordinator.assess.answers import Question, answer
        from coordinator.targets.selectors import Selector

        return answer(Question(function, Selector.parse(on), dtype), self.evidence(on))

    def progress(self, campaign_id: int) -> Iterator[CampaignDetail]:
        """Yield the campaign's state now, whenever it changes, and at its end.

        Raises ``CoordinatorAwayError`` if the coordinator is unreachable. The campaign continues, and ``progress`` can
        be called again.
        """
        from httpx_sse import EventSource, SSEError

        from coordinator.campaigns.models import CampaignDetail

        with self._stream(f"/campaigns/{campaign_id}/events", {}, SILENCE_S) as answer:
            try:
                for event in EventSource(answer).iter_sse():
                    if event.event == "away":
                        raise CoordinatorAwayError(Problem.model_validate_json(event.data).detail)
                    campaign = CampaignDetail.model_validate_json(event.data)
                    yield campaign
                    if campaign.state != "running":
                        return
            except (SSEError, ValidationError) as error:
                raise self._not_ours() from error
        raise CoordinatorAwayError(f"the coordinator at {self.url} ended its answer early: try again")

    def reclassify(self, campaign_id: int | None) -> Reclassified:
        """Apply the current rules to the stored evidence of one campaign, or of all campaigns if ``campaign_id`` is
        None."""
        from coordinator.causes.models import Reclassified

        path = "/reclassify" if campaign_id is None else f"/campaigns/{campaign_id}/reclassify"
        return self._parse(Reclassified, self._send("POST", path, within_s=WHOLE_S))

    def override(self, campaign_id: int, request: Mapping[str, Any]) -> Override:
        from coordinator.causes.models import Override

        return self._parse(Override, self._send("PUT", f"/campaigns/{campaign_id}/overrides", json=dict(request)))

    def undo_override(self, campaign_id: int, case: str, target: str) -> None:
        self._send("DELETE", f"/campaigns/{campaign_id}/overrides", query={"case": case, "target": target})

    def overrides(self, campaign_id: int) -> list[Override]:
        from coordinator.causes.models import OverrideList

        return self._get(OverrideList, f"/campaigns/{campaign_id}/overrides").overrides

    def runners(self) -> list[Runner]:
        from coordinator.registry.models import RunnerList

        return self._get(RunnerList, "/runners").runners

    def runner(self, runner_id: int) -> Runner:
        from coordinator.registry.models import Runner

        return self._get(Runner, f"/runners/{runner_id}")

    def register(self, url: str, secret: str) -> Runner:
        from coordinator.registry.models import Runner

        return self._parse(Runner, self._send("POST", "/runners", json={"url": url, "secret": secret}))

    def send_recording(self, runner_id: int, recording: Recording) -> str:
        """Send a recording to a runner. Returns the name that its suite will have on the runner."""
        from protocol.recording import AcceptedRecording

        content = recording.model_dump(mode="json")
        answer = self._send("POST", f"/runners/{runner_id}/recordings", json=content)
        return self._parse(AcceptedRecording, answer).suite

    def remove(self, runner_id: int) -> None:
        self._send("DELETE", f"/runners/{runner_id}")

    def get_json(self, path: str, query: Query) -> dict[str, Any]:
        """Return a JSON response that has no model."""
        try:
            answer: dict[str, Any] = json.loads(self.get_bytes(path, query))
        except ValueError as error:
            raise self._not_ours() from error
        return answer

    def get_bytes(self, path: str, query: Query) -> bytes:
        """Return the body of a response. Waits longer than other methods, because the coordinator may create a file
        during the request."""
        return self._send("GET", path, query=query, within_s=WHOLE_S).content

    def _get(self, model: type[Model], path: str, query: Query | None = None, within_s: float = ANSWER_S) -> Model:
        return self._parse(model, self._send("GET", path, query=query, within_s=within_s))

    def _send(
        self, method: str, path: str, *, query: Query | None = None, within_s: float = ANSWER_S, **body: Any
    ) -> httpx.Response:
        parameters = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            answer = self._http.request(method, path, params=parameters, timeout=_timeout(within_s), **body)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if answer.is_error:
            raise self._refusal(answer)
        return answer

    @contextmanager
    def _stream(self, path: str, query: Query, silence_s: float) -> Iterator[httpx.Response]:
        try:
            with self._http.stream("GET", path, params=query, timeout=_timeout(silence_s)) as answer:
                if answer.is_error:
                    answer.read()
                    raise self._refusal(answer)
                yield answer
        except httpx.HTTPError as error:
            raise self._away(error) from error

    def _parse(self, model: type[Model], answer: httpx.Response) -> Model:
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._not_ours() from error

    def _refusal(self, answer: httpx.Response) -> CoordinatorError:
        if answer.status_code == httpx.codes.UNAUTHORIZED and answer.headers.get("www-authenticate") != REALM:
            return self._not_ours()  # the answer of a runner
        try:
            detail = Problem.model_validate_json(answer.content).detail
        except ValidationError:
            if answer.status_code in AWAY:
                return CoordinatorAwayError(
                    f"the server at {self.url} cannot reach its coordinator (status {answer.status_code}): "
                    "check that the coordinator runs"
                )
            return self._not_ours()
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return CoordinatorAwayError(detail)
        return CoordinatorError(detail)

    def _not_ours(self) -> CoordinatorError:
        return CoordinatorError(
            f"the server at {self.url} is not a coordinator of this version: give another address with --url"
        )

    def _away(self, error: httpx.HTTPError) -> CoordinatorError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return CoordinatorAwayError(f"no coordinator answers at {self.url}: start one with `portolan up`")
        if isinstance(error, httpx.TimeoutException):
            return CoordinatorAwayError(f"the coordinator at {self.url} did not answer in time: try again")
        if isinstance(error, httpx.UnsupportedProtocol):
            return CoordinatorError(f"'{self.url}' is not a URL: write it like {DEFAULT_URL}")
        return CoordinatorAwayError(f"the coordinator at {self.url} stopped in the middle of its answer: try again")


def _json(request: CampaignRequest | Mapping[str, Any]) -> dict[str, Any]:
    return request.model_dump(mode="json") if isinstance(request, BaseModel) else dict(request)


def _timeout(silence_s: float) -> httpx.Timeout:
    return httpx.Timeout(silence_s, connect=5.0)
