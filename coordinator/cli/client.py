"""A client of the REST API for the command line: every failure becomes one line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from httpx_sse import EventSource, SSEError
from pydantic import BaseModel, ValidationError

from coordinator.campaigns.models import CampaignDetail, CampaignPage, DryRun
from coordinator.causes.models import Override, OverrideList, Reclassified
from coordinator.cli.directory import DEFAULT_URL
from coordinator.errors import CoordinatorAwayError, CoordinatorError
from coordinator.registry.models import Runner, RunnerList
from coordinator.results.comparison.models import Comparison
from coordinator.results.models import History, MatrixPage
from coordinator.results.outcomes.models import OutcomePage
from coordinator.results.summary import Section, Summary
from protocol.problems import Problem

SILENCE_S = 30.0
"""A stream of events that says nothing for this long is dead; the coordinator speaks every 10 s."""
EXPORT_SILENCE_S = 600.0
"""Parquet is written whole before its first byte comes."""
IMPORT_SILENCE_S = 600.0
"""A bundle is checked and stored whole before there is an answer."""

AWAY = (httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.GATEWAY_TIMEOUT)
"""Said without a problem, by a proxy in front of a coordinator that is away."""

MATRIX_ROWS = 5000
"""Functions of a matrix that are read at once."""
REFRESH_WAIT_S = 120.0
REFRESH_LOOK_S = 1.0
"""A large campaign's matrix is brought up to date beside the requests, a while after its end."""

Query = Mapping[str, str | int]
Model = TypeVar("Model", bound=BaseModel)


class Client:
    """``with Client(url) as client: client.campaign(3)``."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            host = urlsplit(url).hostname or ""
            # A proxy for the world outside is none for this machine, whatever the environment says.
            local = host == "localhost" or host == "::1" or host.startswith("127.")
            self._http = httpx.Client(
                base_url=f"{url}/api/v1",
                timeout=httpx.Timeout(60.0, connect=5.0),
                trust_env=not local,
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise CoordinatorError(f"'{url}' is not a URL: write it like {DEFAULT_URL}") from error

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def submit(self, request: Mapping[str, Any]) -> CampaignDetail:
        """Plan and queue a campaign."""
        return self._read(CampaignDetail, self._call("POST", "/campaigns", json=dict(request)))

    def dry_run(self, request: Mapping[str, Any]) -> DryRun:
        """What ``submit`` would plan."""
        return self._read(DryRun, self._call("POST", "/campaigns", json={**request, "dry_run": True}))

    def import_bundle(self, path: Path, name: str | None) -> tuple[CampaignDetail, bool]:
        """The campaign of the bundle, and whether it is new there."""
        query = {} if name is None else {"name": name}
        timeout = httpx.Timeout(IMPORT_SILENCE_S, connect=5.0)
        with path.open("rb") as file:
            answer = self._call("POST", "/bundles", params=query, content=file, timeout=timeout)
        return self._read(CampaignDetail, answer), answer.status_code == httpx.codes.CREATED

    def campaigns(self, limit: int = 50) -> CampaignPage:
        return self._read(CampaignPage, self._call("GET", "/campaigns", params={"limit": limit}))

    def campaign(self, campaign_id: int) -> CampaignDetail:
        return self._read(CampaignDetail, self._call("GET", f"/campaigns/{campaign_id}"))

    def cancel(self, campaign_id: int) -> CampaignDetail:
        return self._read(CampaignDetail, self._call("POST", f"/campaigns/{campaign_id}/cancel"))

    def matrix(self, campaign_id: int, function: str | None = None, device: str | None = None) -> MatrixPage:
        """The whole matrix, or the functions that a glob matches; of an ended campaign when it is up to date."""
        query: dict[str, str | int] = {"limit": MATRIX_ROWS}
        if function is not None:
            query["q"] = f"function:{function}"
        if device is not None:
            query["device"] = device
        deadline = time.monotonic() + REFRESH_WAIT_S
        page = self._matrix(campaign_id, query)
        while not page.freshness.current and page.state != "running" and time.monotonic() < deadline:
            time.sleep(REFRESH_LOOK_S)
            page = self._matrix(campaign_id, query)
        while len(page.rows) < page.found:
            more = self._matrix(campaign_id, {**query, "offset": len(page.rows)})
            page = page.model_copy(update={"rows": [*page.rows, *more.rows]})
            if not more.rows:
                break
        return page

    def _matrix(self, campaign_id: int, query: Query) -> MatrixPage:
        return self._read(MatrixPage, self._call("GET", f"/campaigns/{campaign_id}/matrix", params=query))

    def summary(self, campaign_id: int, function: str | None = None, device: str | None = None) -> list[Section]:
        """The campaign in sentences, as its report has them."""
        query = {name: value for name, value in {"function": function, "device": device}.items() if value}
        timeout = httpx.Timeout(EXPORT_SILENCE_S, connect=5.0)
        answer = self._call("GET", f"/campaigns/{campaign_id}/summary", params=query, timeout=timeout)
        return list(self._read(Summary, answer).sections)

    def compare(self, a: str, b: str, verdict: str) -> Comparison:
        return self._read(Comparison, self._call("GET", "/compare", params={"a": a, "b": b, "verdict": verdict}))

    def history(self, framework: str, function: str) -> History:
        return self._read(History, self._call("GET", f"/history/{quote(framework)}/{quote(function)}"))

    def outcomes(self, campaign_id: int, filters: Query, page: int = 1000) -> Iterator[dict[str, Any]]:
        """All outcomes that the filters let through, page by page."""
        after: int | None = 0
        while after is not None:
            query = {**filters, "after": after, "limit": page}
            answer = self._read(OutcomePage, self._call("GET", f"/campaigns/{campaign_id}/outcomes", params=query))
            yield from answer.outcomes
            after = answer.next

    def export(self, campaign_id: int, format: str, filters: Query) -> Iterator[bytes]:
        """The outcomes as one file, in pieces."""
        query = {**filters, "format": format}
        with self._stream(f"/campaigns/{campaign_id}/outcomes", query, EXPORT_SILENCE_S) as answer:
            yield from answer.iter_bytes()

    def progress(self, campaign_id: int) -> Iterator[CampaignDetail]:
        """The campaign now, whenever something changes, and at its end, until the coordinator is away."""
        with self._stream(f"/campaigns/{campaign_id}/events", {}, SILENCE_S) as answer:
            try:
                for event in EventSource(answer).iter_sse():
                    if event.event == "away":
                        raise CoordinatorAwayError(Problem.model_validate_json(event.data).detail)
                    yield CampaignDetail.model_validate_json(event.data)
            except (SSEError, ValidationError) as error:
                raise self._stranger() from error
        raise CoordinatorAwayError(f"the coordinator at {self.url} ended its answer early")

    def reclassify(self, campaign_id: int | None) -> Reclassified:
        """Today's rules on the stored evidence of one campaign, or of all."""
        path = "/reclassify" if campaign_id is None else f"/campaigns/{campaign_id}/reclassify"
        timeout = httpx.Timeout(EXPORT_SILENCE_S, connect=5.0)
        return self._read(Reclassified, self._call("POST", path, timeout=timeout))

    def override(self, campaign_id: int, request: Mapping[str, Any]) -> Override:
        return self._read(Override, self._call("PUT", f"/campaigns/{campaign_id}/overrides", json=dict(request)))

    def undo_override(self, campaign_id: int, case: str, target: str) -> None:
        self._call("DELETE", f"/campaigns/{campaign_id}/overrides", params={"case": case, "target": target})

    def overrides(self, campaign_id: int) -> list[Override]:
        return self._read(OverrideList, self._call("GET", f"/campaigns/{campaign_id}/overrides")).overrides

    def runners(self) -> list[Runner]:
        return self._read(RunnerList, self._call("GET", "/runners")).runners

    def register(self, url: str, secret: str) -> Runner:
        return self._read(Runner, self._call("POST", "/runners", json={"url": url, "secret": secret}))

    def remove(self, runner_id: int) -> None:
        self._call("DELETE", f"/runners/{runner_id}")

    def get_json(self, path: str, query: Query) -> dict[str, Any]:
        """What a call answers that has no model here."""
        answer = self.get_bytes(path, query)
        try:
            said: dict[str, Any] = json.loads(answer)
        except ValueError as error:
            raise self._stranger() from error
        return said

    def get_bytes(self, path: str, query: Query) -> bytes:
        """A file that is made while we wait."""
        timeout = httpx.Timeout(EXPORT_SILENCE_S, connect=5.0)
        return self._call("GET", path, params=query, timeout=timeout).content

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if answer.is_error:
            raise self._refusal(answer)
        return answer

    @contextmanager
    def _stream(self, path: str, query: Query, silence_s: float) -> Iterator[httpx.Response]:
        timeout = httpx.Timeout(silence_s, connect=5.0)
        try:
            with self._http.stream("GET", path, params=query, timeout=timeout) as answer:
                if answer.is_error:
                    answer.read()
                    raise self._refusal(answer)
                yield answer
        except httpx.HTTPError as error:
            raise self._away(error) from error

    def _read(self, model: type[Model], answer: httpx.Response) -> Model:
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._stranger() from error

    def _refusal(self, answer: httpx.Response) -> CoordinatorError:
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            return self._stranger()  # a runner's word: a coordinator asks nobody for a secret
        try:
            detail = Problem.model_validate_json(answer.content).detail
        except ValidationError:
            if answer.status_code in AWAY:
                return CoordinatorAwayError(f"the coordinator at {self.url} is away ({answer.status_code})")
            return self._stranger()
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return CoordinatorAwayError(detail)
        return CoordinatorError(detail.removeprefix("body.").replace(": Value error, ", ": "))

    def _stranger(self) -> CoordinatorError:
        return CoordinatorError(
            f"what answers at {self.url} is no coordinator of this version: give another address with --url"
        )

    def _away(self, error: httpx.HTTPError) -> CoordinatorError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return CoordinatorAwayError(f"no coordinator answers at {self.url}: start one with `portolan up`")
        if isinstance(error, httpx.TimeoutException):
            return CoordinatorAwayError(f"the coordinator at {self.url} is too slow to answer: try again")
        if isinstance(error, httpx.UnsupportedProtocol):
            return CoordinatorError(f"'{self.url}' is not a URL: write it like {DEFAULT_URL}")
        return CoordinatorAwayError(f"the coordinator at {self.url} went away in the middle of its answer")
