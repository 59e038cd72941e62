"""Places in source to which a finding does not apply, and the reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.assess.findings import assess
from coordinator.assess.harmless import (
    AT_SETUP,
    EXPORTS,
    GOES_TO_HOST,
    IN_DEMO,
    IN_ERROR,
    IN_TESTS,
    NOT_REPEATED,
    OFFERED,
    OTHER_DEVICE,
    PREPARES_DATA,
    PROGRAM_CONSTANT,
    SHOWS,
    is_test_code,
)
from coordinator.assess.names import Names
from coordinator.assess.sites import Certainty, Guard, GuardKind, Site, Use
from coordinator.assess.verdicts import Weight
from coordinator.results.conditions import End
from tests.unit.coordinator.assess.cases import assessment_of, several, site, source, target


def judge(place: Site, *others: Site, end: End = "fell_back") -> tuple[Weight, str]:
    functions = {place.function: several(3, "usual", end)}
    (finding,) = [finding for finding in assessment_of(functions, place, *others).findings if place in finding.places]
    return finding.verdict.weight, finding.verdict.why_note


@pytest.mark.parametrize(
    ("path", "within", "is_test"),
    [
        ("tests/models.py", "build", True),
        ("package/testing/decorators.py", "with_cuda", True),
        ("package/models_test.py", "Models.build", True),
        ("conftest.py", "device", True),
        ("test_models.py", "TestModels.forward", True),
        ("package/test_time_pool.py", "TimePool.forward", False),
        ("package/latest/contest.py", "score", False),
    ],
)
def test_test_code_is_known_by_its_folder_or_its_file(path: str, within: str, is_test: bool) -> None:
    assert is_test_code(site(path=path, within=within)) is is_test


@pytest.mark.parametrize(
    ("path", "within"),
    [("net.py", "FlashAttention2.forward"), ("flash_attention_utils.py", "unpad"), ("net.py", "flash_attn_varlen")],
)
def test_a_place_in_code_for_flash_attention_is_a_note(path: str, within: str) -> None:
    assert judge(site(path=path, within=within)) == (Weight.note, OTHER_DEVICE)


def test_a_place_in_tests_is_a_note_unless_tests_are_all_there_is() -> None:
    in_tests = site(path="tests/test_a.py")
    assert judge(in_tests, site(line=9)) == (Weight.note, IN_TESTS)
    assert judge(in_tests)[0] is Weight.finding
    assert judge(replace(in_tests, certainty=Certainty.recorded), site(line=9))[0] is Weight.finding


@pytest.mark.parametrize(("end", "weight"), [("fell_back", Weight.note), ("failed", Weight.finding)])
@pytest.mark.parametrize(
    "place",
    [
        site(is_at_setup=True),
        site(within="checkpoint_filter_fn"),
        site(within="Net.load_checkpoint"),
        site(within="convert_weights"),
        site(within="init_weights_vit"),
        site(path="models/convert_vit_to_hf.py"),
        site(path="package/core_model_loading.py"),
    ],
)
def test_what_falls_back_while_a_module_is_set_up_is_a_note(place: Site, end: End, weight: Weight) -> None:
    assert judge(place, end=end) == (weight, AT_SETUP if weight is Weight.note else "")


@pytest.mark.parametrize("end", ["fell_back", "failed"])
@pytest.mark.parametrize(
    "place",
    [
        site(path="data/meshes.py"),
        site(path="dataset.py"),
        site(path="package/music_data_loader.py"),
        site(path="tokenizers/bytes.py"),
        site(path="package/data_utils.py"),
        site(path="package/transforms/crop.py", within="Crop.__call__"),
        site(path="package/fft_transform.py", within="FFT.__call__"),
        site(path="package/_dataset_wrapper.py"),
        site(path="triples/splitting.py"),
        site(path="package/splits/scaffold.py"),
        site(path="models/vit/image_processing_vit.py", within="Vit._pad"),
        site(path="models/asr/feature_extraction_asr.py", within="Asr._frames"),
        site(path="models/sam/processing_sam.py", within="Sam.__call__"),
        site(path="train.py", within="pad_collate"),
    ],
)
def test_what_prepares_data_is_a_note(place: Site, end: End) -> None:
    assert judge(place, end=end) == (Weight.note, PREPARES_DATA)


@pytest.mark.parametrize(
    "path",
    [
        "package/io/fields.py",
        "transforms/flow.py",
        "package/audio/filters.py",
        "metadata.py",
        "models/data2vec.py",
        "inference/splitter.py",
        "layers/split_attention.py",
    ],
)
def test_code_is_not_said_to_prepare_data_for_less_than_its_name(path: str) -> None:
    assert judge(site(path=path))[0] is Weight.finding


@pytest.mark.parametrize("within", ["Vit.post_process_masks", "Vit._postprocess", "Resize.forward"])
def test_the_outputs_of_a_model_are_processed_on_the_device(within: str) -> None:
    assert judge(site(path="models/vit/image_processing_vit.py", within=within))[0] is Weight.finding


@pytest.mark.parametrize(
    "layer",
    [site("torch.nn.AdaptiveMaxPool2d", is_at_setup=True), site("torch.unique", is_at_setup=True, use=Use.named)],
)
def test_what_a_set_up_makes_or_hands_on_is_used_later(layer: Site) -> None:
    assert judge(layer)[0] is Weight.finding


def test_an_entry_of_a_table_is_a_condition() -> None:
    place = replace(site("torch.nn.AdaptiveMaxPool2d", use=Use.named), is_option=True)
    assert judge(place) == (Weight.condition, "")
    assert judge(replace(place, within="plot")) == (Weight.condition, "")
    assert judge(replace(place, path="data/pools.py")) == (Weight.note, PREPARES_DATA)


def test_code_under_a_test_for_an_export_runs_on_the_host() -> None:
    guard = Guard(GuardKind.export, 3, "torch.onnx.is_in_onnx_export()")
    assert judge(site(guards=[guard]), end="failed") == (Weight.note, EXPORTS)


@pytest.mark.parametrize("path", ["engine/exporter.py", "utils/export/onnx.py", "exporters/exporter_onnx.py"])
def test_code_that_exports_a_model_runs_on_the_host(path: str) -> None:
    assert judge(site(path=path), end="failed") == (Weight.note, EXPORTS)


@pytest.mark.parametrize(
    ("within", "end", "weight", "why"),
    [
        ("_rotations", "fell_back", Weight.note, NOT_REPEATED),
        ("_rotations", "failed", Weight.finding, ""),
        ("forward", "fell_back", Weight.finding, ""),
    ],
)
def test_what_falls_back_where_nothing_repeats_it_is_a_note(within: str, end: End, weight: Weight, why: str) -> None:
    functions = {"torch.foo": several(3, "usual", end)}
    code = source(site(within=within), is_repeated={"train._rotations": False, "train.forward": True})
    (finding,) = assess(code, target(functions), Names(frozenset(functions))).findings
    assert (finding.verdict.weight, finding.verdict.why_note) == (weight, why)


@pytest.mark.parametrize(("end", "weight"), [("fell_back", Weight.note), ("failed", Weight.finding)])
def test_what_falls_back_in_a_method_that_nothing_calls_is_a_note(end: End, weight: Weight) -> None:
    functions = {"torch.foo": several(3, "usual", end)}
    code = source(site(within="Index.remove"), offered_functions=frozenset({"train.Index.remove"}))
    (finding,) = assess(code, target(functions), Names(frozenset(functions))).findings
    assert (finding.verdict.weight, finding.verdict.why_note) == (weight, OFFERED if weight is Weight.note else "")


def test_code_before_an_error_is_a_note_whatever_happens_there() -> None:
    place = site(guards=[Guard(GuardKind.error, 3, "raise")])
    for end in ("fell_back", "failed"):
        assert judge(place, end=end) == (Weight.note, IN_ERROR)


def test_files_that_contain_tests_are_tests() -> None:
    functions = {"torch.foo": several(3, "usual", "failed")}
    code = source(site(path="test_net.py"), site(), test_files=frozenset({"test_net.py"}))
    findings = assess(code, target(functions), Names(frozenset(functions))).findings
    assert {(finding.places[0].path, finding.verdict.why_note) for finding in findings} == {
        ("train.py", ""),
        ("test_net.py", IN_TESTS),
    }


@pytest.mark.parametrize(
    ("path", "within", "why"),
    [
        ("triton_permute.py", "permute", OTHER_DEVICE),
        ("net.py", "_triton_permute", OTHER_DEVICE),
        ("net.py", "tritonal", ""),
        ("benchmark_permute.py", "permute", IN_TESTS),
        ("permute_benchmark.py", "permute", IN_TESTS),
        ("benchmarks/net.py", "permute", ""),
        ("net.py", "ScalarLogger.update", SHOWS),
        ("net.py", "allclose_report", SHOWS),
        ("net.py", "Logged.update", ""),
        ("net.py", "NegativeSampler.corrupt", PREPARES_DATA),
        ("net.py", "BalancedPositiveNegativeSampler.__call__", ""),
        ("net.py", "DiffusionSampler.sample", ""),
    ],
)
def test_code_for_gpus_benchmarks_logs_and_samplers_is_told_by_its_name(path: str, within: str, why: str) -> None:
    assert judge(site(path=path, within=within), site())[1] == why


@pytest.mark.parametrize(
    ("within", "is_in_loop", "weight"),
    [
        ("Density.fit", False, Weight.note),
        ("main", False, Weight.note),
        ("Density.fit", True, Weight.finding),
        ("Net.forward", False, Weight.finding),
        ("fit_step", False, Weight.finding),
    ],
)
def test_what_precedes_the_loop_of_a_program_runs_once(within: str, is_in_loop: bool, weight: Weight) -> None:
    place = replace(site(within=within), is_in_loop=is_in_loop)
    assert judge(place) == (weight, NOT_REPEATED if weight is Weight.note else "")
    assert judge(place, end="failed")[0] is Weight.finding


@pytest.mark.parametrize(
    ("within", "weight"),
    [
        ("Pool.export", Weight.note),
        ("export_model", Weight.note),
        ("Net.to_onnx", Weight.note),
        ("_export_to_onnx.run", Weight.note),
        ("exported", Weight.finding),
        ("export_scores", Weight.finding),
    ],
)
def test_functions_that_export_a_model_run_on_the_host(within: str, weight: Weight) -> None:
    for end in ("fell_back", "failed"):
        assert judge(site(within=within), end=end) == (weight, EXPORTS if weight is Weight.note else "")


@pytest.mark.parametrize(
    ("within", "weight"),
    [("build_flow", Weight.note), ("_build_resnet_backbone", Weight.note), ("build_targets", Weight.finding)],
)
def test_functions_that_build_a_network_set_it_up(within: str, weight: Weight) -> None:
    assert judge(site(within=within)) == (weight, AT_SETUP if weight is Weight.note else "")


@pytest.mark.parametrize(
    ("place", "weight"),
    [
        (replace(site(path="examples/blur.py", within=""), is_in_loop=False), Weight.note),
        (replace(site(path="docs/conf.py", within=""), is_in_loop=False), Weight.note),
        (replace(site(path="package/demo_blur.py", within=""), is_in_loop=False), Weight.note),
        (site(path="examples/blur.py", within=""), Weight.finding),
        (replace(site(path="examples/blur.py", within="blur"), is_in_loop=False), Weight.finding),
        (replace(site(path="package/demosaic.py", within=""), is_in_loop=False), Weight.finding),
    ],
)
def test_a_statement_of_a_demo_runs_once(place: Site, weight: Weight) -> None:
    assert judge(place, site()) == (weight, IN_DEMO if weight is Weight.note else "")
    assert judge(place, site(), end="failed")[0] is Weight.finding
    assert judge(place)[0] is Weight.finding, "without other code, the demo is the program"


def test_what_is_used_later_or_was_recorded_need_not_be_repeated() -> None:
    functions = {"torch.foo": several(3, "usual", "fell_back")}
    for place in (
        site(within="_rotations", use=Use.named),
        site(within="_rotations", certainty=Certainty.recorded),
        site(within=""),
    ):
        (finding,) = assess(
            source(place, is_repeated={"train._rotations": False}), target(functions), Names(frozenset(functions))
        ).findings
        assert finding.verdict.weight is Weight.finding


@pytest.mark.parametrize(("end", "weight"), [("fell_back", Weight.note), ("failed", Weight.finding)])
def test_what_falls_back_on_its_way_to_the_host_is_a_note(end: End, weight: Weight) -> None:
    assert judge(replace(site(), goes_to_host=True), end=end) == (weight, GOES_TO_HOST if weight is Weight.note else "")


@pytest.mark.parametrize(
    "within", ["plot_boxes", "Results.verbose", "_print_summary", "Net.show_mask.paint", "Net.log_images", "_log_stats"]
)
def test_what_falls_back_in_code_that_prints_or_plots_is_a_note(within: str) -> None:
    assert judge(site(within=within)) == (Weight.note, SHOWS)
    assert judge(site(within=within), end="failed")[0] is Weight.finding


@pytest.mark.parametrize("within", ["RandomDataLoader._order", "pad.TextCollator.__call__"])
def test_classes_of_data_sets_prepare_data_whatever_they_inherit(within: str) -> None:
    assert judge(site(within=within)) == (Weight.note, PREPARES_DATA)


@pytest.mark.parametrize("path", ["plots.py", "utils/attention_visualizer.py", "visualization/mask.py", "viz/a.py"])
def test_what_falls_back_in_a_file_that_plots_is_a_note(path: str) -> None:
    assert judge(site(path=path)) == (Weight.note, SHOWS)


@pytest.mark.parametrize("place", [site(path="visualbert.py"), site(within="log_prob"), site(within="log_weights")])
def test_names_that_only_resemble_those_of_plots_and_logs_say_nothing(place: Site) -> None:
    assert judge(place)[0] is Weight.finding


@pytest.mark.parametrize(
    ("within", "weight"),
    [
        ("is_hpu_available.safe_cholesky", Weight.note),
        ("forward_npu", Weight.note),
        ("train_on_cuda", Weight.finding),
        ("steps", Weight.finding),
        ("sum_xla", Weight.finding),
    ],
)
def test_a_function_that_is_named_after_another_device_is_for_that_device(within: str, weight: Weight) -> None:
    why = OTHER_DEVICE if weight is Weight.note else ""
    assert judge(site(within=within), end="failed") == (weight, why)


@pytest.mark.parametrize("within", ["step", "initial_state", "filter", "checkpoint"])
def test_what_falls_back_elsewhere_is_a_finding(within: str) -> None:
    assert judge(site(within=within))[0] is Weight.finding


@pytest.mark.parametrize("function", ["torch.cuda.synchronize", "torch.Tensor.cuda", "torch.mps.synchronize"])
def test_a_function_of_another_device_is_a_condition_and_a_note_where_the_code_names_it(function: str) -> None:
    guard = Guard(GuardKind.availability, 3, "torch.cuda.is_available()")
    assert judge(site(function), end="failed") == (Weight.condition, "")
    assert judge(site(function, guards=[guard]), end="failed") == (Weight.note, OTHER_DEVICE)
    assert judge(site(function, within="Data.cuda"), end="failed") == (Weight.note, OTHER_DEVICE)


def test_on_its_own_device_such_a_function_is_a_finding() -> None:
    functions = {"torch.Tensor.cuda": several(3, "usual", "failed")}
    (finding,) = assess(
        source(site("torch.Tensor.cuda")), target(functions, device="cuda"), Names(frozenset(functions))
    ).findings
    assert finding.verdict.weight is Weight.finding


@pytest.mark.parametrize(("device", "why"), [("xla", PROGRAM_CONSTANT), ("gpu", "")])
def test_a_constant_is_slow_only_where_nothing_is_compiled(device: str, why: str) -> None:
    quick = {f"tf.quick{number}": several(2, "timed", ratio=1.0) for number in range(5)}
    functions = {**quick, "tf.constant": several(3, "timed", ratio=90.0)}
    code, evidence = source(site("tf.constant")), target(functions, device=device, framework="tensorflow")
    (finding,) = assess(code, evidence, Names(frozenset(functions))).findings
    assert finding.verdict.why_note == why
