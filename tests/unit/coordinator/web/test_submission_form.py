"""The input of the submission form, and the request that results from it."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic import ValidationError

from coordinator.errors import RequestError, UnknownNameError
from coordinator.registry.models import Runner
from coordinator.web.submission import Filled, address, apart, first, from_query, offer, problems


def runner(target: str, *suites: str, state: str = "online", hardware: str = "a CPU", **more: object) -> Runner:
    framework, _, rest = target.partition("@")
    version, _, device = rest.partition("/")
    return Runner.model_validate(
        {
            "id": 1,
            "name": None,
            "url": "http://gpu-box:8790",
            "state": state,
            "reason": None,
            "target": target,
            "framework": framework,
            "version": version,
            "device": device,
            "device_class": "cpu",
            "hardware": hardware,
            "environment": "e",
            "simulated": False,
            "device_count": 1,
            "suites": dict.fromkeys(suites, "r"),
            "in_flight": 0,
            "last_seen": datetime(2026, 1, 1, tzinfo=UTC),
            "quarantined_until": None,
            "fingerprint": {},
        }
        | more
    )


CPU = "torch@2.9.0/cpu"
XLA = "torch@2.9.0/xla"


def test_only_what_is_online_is_offered_and_one_choice_names_all_its_hardware() -> None:
    choices = offer(
        [
            runner(XLA, "paper", state="quarantined"),
            runner(CPU, "paper", hardware="one CPU"),
            runner(CPU, "library", hardware="another CPU", fingerprint={"notes": ["slow"]}, simulated=True),
        ]
    )
    (choice,) = choices.targets
    assert (choice.target, choice.hardware, choice.suites) == (CPU, ("another CPU", "one CPU"), ("library", "paper"))
    assert (choice.notes, choice.simulated) == (("slow",), True)


def test_the_suite_to_begin_with_is_the_studys_and_never_that_of_the_checks() -> None:
    assert first(offer([runner(CPU, "conformance", "docs", "paper")])).suite == "paper"
    assert first(offer([runner(CPU, "conformance", "docs")])).suite == "docs"
    assert first(offer([])) == Filled()


def test_only_targets_that_have_the_suite_are_chosen_beforehand() -> None:
    assert first(offer([runner(CPU, "paper"), runner(XLA, "docs")])).targets == (CPU,)


def test_what_is_left_empty_has_the_default_of_rest() -> None:
    request = Filled(targets=(CPU,), runs="", timing="", timeout_s=" ", suite="").request()
    assert (request.suite, request.functions, request.runs, request.timing, request.timeout_s) == (
        "paper",
        ["*"],
        3,
        None,
        900,
    )


def test_names_are_parted_by_blanks_lines_and_commas() -> None:
    form = Filled(targets=(CPU,), other=f" */xla,{CPU}\n", functions="torch.add\r\n torch.nn.*,torch.sub")
    request = form.request()
    assert request.targets == [CPU, "*/xla"]
    assert request.functions == ["torch.add", "torch.nn.*", "torch.sub"]


def test_without_any_target_nothing_is_request_for() -> None:
    with pytest.raises(UnknownNameError, match="choose at least one target"):
        Filled().request()


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (Filled(targets=(CPU,), runs="0"), "runs"),
        (Filled(targets=(CPU,), timeout_s="inf"), "timeout_s"),
        (Filled(targets=(CPU,), functions="x" * 201), "functions"),
        (Filled(targets=(CPU,), rerun="first", which="failed"), "form"),
        (Filled(targets=(CPU,), rerun="1", which="some"), "form"),
    ],
)
def test_each_mistake_is_said_once_beside_its_field(form: Filled, field: str) -> None:
    with pytest.raises(ValidationError) as excinfo:
        form.request()
    assert list(problems(excinfo.value)) == [field]


def test_an_error_of_no_field_is_the_forms() -> None:
    assert problems(RequestError("there is nothing to run")) == {"form": "there is nothing to run"}


def test_a_target_that_is_gone_stays_among_the_selectors() -> None:
    form = apart(Filled(targets=(CPU, XLA), other="jax/*"), offer([runner(CPU, "paper")]))
    assert (form.targets, form.other) == ((CPU,), f"jax/*\n{XLA}")


def test_an_address_fills_the_form_in_as_it_was() -> None:
    form = Filled("a & b", "docs", (CPU, XLA), "jax/*", "torch.*\ntorch.nn.*", "5", "off", "60")
    query = parse_qsl(urlsplit(address(form)).query)
    assert from_query(Filled(), query) == form
