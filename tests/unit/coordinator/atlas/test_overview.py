"""The overview: columns of targets, functions sorted by use, and functions that no count includes."""

from __future__ import annotations

from coordinator.atlas.marks import Mark
from protocol.enums import Cause
from tests.unit.coordinator.assess.cases import case, target
from tests.unit.coordinator.atlas.evidence import atlas, charted_target


def test_functions_stand_in_the_order_of_their_use() -> None:
    (torch,) = atlas(
        charted_target({"torch.a": ["passed"], "torch.b": ["passed"], "torch.c": ["passed"]}),
        uses={"torch.c": 7, "torch.z": 9},
    ).frameworks
    assert torch.functions == ("torch.c", "torch.a", "torch.b")
    assert torch.uses == {"torch.c": 7}


def test_a_function_that_nobody_charted_on_a_target_has_no_letter_of_a_mark() -> None:
    (torch,) = atlas(
        charted_target({"torch.a": ["passed"], "torch.b": ["failed"]}),
        charted_target({"torch.b": ["fell_back"]}, device="cuda"),
    ).frameworks
    letters = {column.target: column.letters(torch.functions) for column in torch.columns}
    assert letters == {"torch@2.9.0/xla": "wf", "torch@2.9.0/cuda": ".b"}


def test_functions_that_never_touch_a_device_are_in_no_count() -> None:
    (torch,) = atlas(
        charted_target({"torch.a": ["passed"], "torch.save": ["passed"]}), host_only=["torch.save"]
    ).frameworks
    assert torch.functions == ("torch.a",)
    assert torch.columns[0].rate.n == 1


def test_a_target_is_told_in_one_sentence() -> None:
    ends = {"torch.a": ["passed"], "torch.b": ["failed"], "torch.c": ["fell_back"], "torch.d": ["unproven"]}
    (torch,) = atlas(charted_target({**ends, "torch.e": ["passed", "failed"]})).frameworks
    assert torch.columns[0].sentence == (
        "1 of 5 charted functions work; 1 is unproven, 1 works in part, 1 falls back and 1 fails"
    )
    assert torch.columns[0].counts == {**dict.fromkeys(Mark, 1), Mark.host_work: 0}


def test_the_newest_version_of_each_device_and_hardware_stands_for_it() -> None:
    functions = {"torch.a": ["passed"]}
    (torch,) = atlas(
        charted_target(functions, "2.9.0"),
        charted_target(functions, "2.10.0"),
        charted_target(functions, "2.9.0", hardware="Intel Xeon"),
        charted_target(functions, "2.8.0", device="cuda"),
    ).frameworks
    assert [(column.target, column.evidence.hardware) for column in torch.newest] == [
        ("torch@2.10.0/xla", "AMD EPYC"),
        ("torch@2.9.0/xla", "Intel Xeon"),
        ("torch@2.8.0/cuda", "AMD EPYC"),
    ]
    assert [column.evidence.version for column in torch.strip(("xla", "AMD EPYC"))] == ["2.9.0", "2.10.0"]


def test_without_evidence_there_is_an_empty_atlas() -> None:
    empty = atlas()
    assert (empty.frameworks, empty.functions, empty.targets, empty.charted_at) == ((), 0, 0, None)


def test_work_of_the_host_is_in_no_rate() -> None:
    strings = case("a", "failed", cause=Cause.host_work)
    functions = {"torch.a": [strings], "torch.b": [strings, case("b")], "torch.c": [case("c", "failed")]}
    (torch,) = atlas(target(functions)).frameworks
    assert torch.columns[0].letters(torch.functions) == "hwf"
    assert (torch.columns[0].rate.count, torch.columns[0].rate.n) == (1, 2)
    assert torch.columns[0].sentence == "1 of 2 charted functions work; 1 fails and 1 is work of the host"


def test_a_module_has_the_rate_of_its_functions_that_are_charted() -> None:
    (torch,) = atlas(
        charted_target({"torch.nn.a": ["passed"], "torch.nn.b": ["passed", "failed"], "torch.fft.c": ["failed"]}),
        charted_target({"torch.nn.d": ["passed"]}, device="cuda"),
    ).frameworks
    rates = {
        (column.evidence.device, module): column.rate_of(names)
        for column in torch.newest
        for module, names in torch.modules.items()
    }
    assert {place: (rate.count, rate.n) for place, rate in rates.items()} == {
        ("xla", "torch.nn"): (1, 2),
        ("xla", "torch.fft"): (0, 1),
        ("cuda", "torch.nn"): (1, 1),
        ("cuda", "torch.fft"): (0, 0),
    }


def test_a_lowered_target_has_the_rate_of_the_functions_that_are_lowered_in_every_case() -> None:
    (torch,) = atlas(charted_target({"torch.a": ["passed"], "torch.b": ["failed"]}, device="tpu-lowered")).frameworks
    rate = torch.columns[0].rate_of(torch.functions)
    assert (rate.count, rate.n) == (1, 2)
    assert torch.columns[0].sentence == "1 of 2 charted functions are lowered in every case; none was run"
