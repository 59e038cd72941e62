"""The page about REST agrees with the OpenAPI description."""

from __future__ import annotations

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from coordinator.web.rest import Parameter, groups


def test_every_call_is_on_the_page_with_what_it_takes() -> None:
    document = create_app(Settings("postgresql://nobody@127.0.0.1:1/none")).openapi()
    calls = {(call.method, call.path): call for group in groups(document) for call in group["calls"]}
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} == set(calls)

    parameters = {parameter.name: parameter for parameter in calls["POST", "/api/v1/campaigns"].parameters}
    assert parameters["suite"].where == "body"
    matrix = calls["GET", "/api/v1/campaigns/{campaign_id}/matrix"]
    assert Parameter("q", "query", False, "such as `torch.* fails:xla passes:cpu cause:type`") in matrix.parameters
    assert len({call.id for call in calls.values()}) == len(calls), "each can be linked to"
