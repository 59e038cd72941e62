"""Finds the user's functions that run repeatedly on the device."""

from __future__ import annotations

import pytest

from coordinator.assess.sites import AssessedSource
from tests.unit.coordinator.assess.test_inference import IMPORTS, read_code


def repeated_function_names(source: AssessedSource) -> set[str]:
    return {name for name, is_repeated in source.is_repeated.items() if is_repeated}


def repeated_names(code: str, path: str = "main.py") -> set[str]:
    module = path.removesuffix(".py").replace("/", ".")
    return {name.removeprefix(f"{module}.") for name in repeated_function_names(read_code({path: IMPORTS + code}))}


NET = "class Net(nn.Module):\n"


@pytest.mark.parametrize(
    ("code", "function"),
    [
        (NET + "    def forward(self, x):\n        return x", "Net.forward"),
        (NET + "    def forward(self, x):\n        return self._mix(x)\n    def _mix(self, x): ...", "Net._mix"),
        (NET + "    def forward(self, x):\n        return _mix(x)\ndef _mix(x): ...", "_mix"),
        (NET + "    def forward(self, x):\n        return self._w\n    @property\n    def _w(self): ...", "Net._w"),
        (NET + "    def forward(self, x):\n        def mix(): ...\n        return mix()", "Net.forward.mix"),
        (NET + "    def forward(self, x):\n        return _half(2)(x)\ndef _half(n):\n    def f(x): ...", "_half.f"),
        (NET + "    def forward(self, x):\n        self._mix(x)\n" + "class Own(Net):\n    def _mix(self, x): ...\n"
         "class Net(nn.Module):\n    def _mix(self, x): ...", "Net._mix"),
        ("class Sum:\n    def _total(self): ...\ndef step(sums):\n    return sums._total()", "Sum._total"),
        ("class Sum:\n    @property\n    def _total(self): ...\ndef step(sums):\n    return sums._total", "Sum._total"),
        ("def loss(x: torch.Tensor): ...", "loss"),
        ("def nms(x: torch.Tensor): ...", "nms"),
        ("class Rescorer:\n    def rescore(self, hypotheses): ...", "Rescorer.rescore"),
        ("def nms(x):\n    return torch.relu(x)", "nms"),
        ("def enlarge(batch):\n    images = batch['images']\n    return torch.relu(images)", "enlarge"),
        ("def once(n):\n    loss_of(n).sum().backward()", "once"),
        (NET + "    def forward(self, x):\n        return _rank(x)\ndef _rank(x) -> int: ...", "_rank"),
        ("def nms(x: torch.Tensor):\n    if len(x) < 2:\n        return 0\n    return more(x)", "nms"),
        ("def evaluate(model) -> float: ...", "evaluate"),
        ("class Guide:\n    def guided_generate(self, prompt):\n        _step(prompt)\ndef _step(x): ...", "_step"),
        ("def main():\n    prepare()\ndef prepare(): ...", "prepare"),
        ("def prepare(): ...\nprepare()", "prepare"),
        ("def _relu(x): ...\nTABLE = {'relu': _relu}", "_relu"),
        ("def _relu(x): ...\nclass Table:\n    all = [_relu]", "_relu"),
        (NET + "    def __init__(self):\n        self.f = Act(_relu)\ndef _relu(x): ...", "_relu"),
        (NET + "    def __init__(self):\n        self.f = _relu\n    def forward(self, x):\n        return self.f(x)\n"
         "def _relu(x): ...", "_relu"),
        ("class Bound(torch.autograd.Function):\n    def _clip(ctx, x): ...", "Bound._clip"),
        ("class Curve:\n    def __add__(self, other): ...", "Curve.__add__"),
        ("class Curve:\n    def __init__(self, x: torch.Tensor): ...", "Curve.__init__"),
    ],
)  # fmt: skip
def test_a_function_is_repeated_if_a_layer_a_loop_or_a_public_function_reaches_it(code: str, function: str) -> None:
    assert function in repeated_names(code)


LAYERS = (
    "class Used(nn.Module):\n    def forward(self, x): ...\n"
    "class Unused(nn.Module):\n    def forward(self, x):\n        return _mix(x)\n"
    "def _mix(x): ...\n"
)


def test_a_layer_that_other_files_leave_out_is_not_used() -> None:
    names = repeated_function_names(
        read_code({"layers.py": IMPORTS + LAYERS, "main.py": "from layers import Used\nnet = Used()"})
    )
    assert names == {"layers.Used.forward"}


@pytest.mark.parametrize(
    ("layers", "main"),
    [
        (LAYERS, ""),
        (LAYERS, "import layers\nfrom layers import Used"),
        (LAYERS, "from layers import *\nnet = Unused()"),
        (LAYERS, "from layers import Used, Unused"),
        (LAYERS, "from layers import Used\ndef f(x):\n    from layers import Unused"),
        (LAYERS + "__all__ = ['Unused']", "from layers import Used"),
        (LAYERS + "TABLE = {'unused': Unused, 'used': Used}", "from layers import Used"),
        (LAYERS + "def make():\n    return Unused()", "from layers import Used"),
        (LAYERS + "class Net(Unused): ...", "from layers import Net"),
        (LAYERS + "def make():\n    return Unused.load('net')", "from layers import Used"),
        (LAYERS + "def make(base):\n    class Own(base): ...\nmake(Unused)", "from layers import Used"),
    ],
)
def test_a_layer_that_code_may_use_is_repeated(layers: str, main: str) -> None:
    assert "layers.Unused.forward" in repeated_function_names(
        read_code({"layers.py": IMPORTS + layers, "main.py": main})
    )


@pytest.mark.parametrize(
    ("body", "is_repeated"),
    [
        ("    @scale.setter\n    def scale(self, x):\n        _grid(x)", False),
        ("    def rescale(self, x):\n        _grid(x)", True),
        ("    def check_symmetry(self, x):\n        _grid(x)", False),
        ("    def __init__(self):\n        self.check_symmetry()\n    def check_symmetry(self):\n"
         "        _grid(1)\ndef train(x):\n    Net()\n    x.backward()", False),
        ("    def forward(self, x):\n        self.check_symmetry(x)\n    def check_symmetry(self, x):\n"
         "        _grid(x)", True),
    ],
)  # fmt: skip
def test_setters_run_once_and_checks_run_where_code_calls_them(body: str, is_repeated: bool) -> None:
    code = f"{NET}    @property\n    def scale(self): ...\n{body}\ndef _grid(x): ..."
    assert ("_grid" in repeated_names(code)) is is_repeated


@pytest.mark.parametrize(
    ("decorator", "is_repeated"),
    [
        ("@lru_cache(copy=True)", False),
        ("@cached", False),
        ("@deprecated", False),
        ("@model_validator", False),
        ("@register", True),
    ],
)
def test_a_decorator_that_keeps_results_does_not_use_the_function(decorator: str, is_repeated: bool) -> None:
    code = NET + f"    def __init__(self):\n        _grid()\n{decorator}\ndef _grid(): ..."
    assert ("_grid" in repeated_names(f"from own import *\n{code}")) is is_repeated


@pytest.mark.parametrize(("path", "is_repeated"), [("third_party/blur.py", False), ("layers/blur.py", True)])
def test_a_copy_from_another_package_that_nothing_imports_is_not_used(path: str, is_repeated: bool) -> None:
    code = {path: IMPORTS + "def blur(x: torch.Tensor): ...", "main.py": IMPORTS}
    module = path.removesuffix(".py").replace("/", ".")
    assert (f"{module}.blur" in repeated_function_names(read_code(code))) is is_repeated
    code["main.py"] = f"from {module} import blur"
    assert f"{module}.blur" in repeated_function_names(read_code(code))


@pytest.mark.parametrize("method", ["after_training_exp", "before_eval", "after_train_stage"])
@pytest.mark.parametrize(("base", "is_repeated"), [("Plugin", False), ("object", True)])
def test_hooks_of_the_stages_of_a_training_run_once(method: str, base: str, is_repeated: bool) -> None:
    code = f"class Plugin:\n    def {method}(self): ...\nclass Own({base}):\n    def {method}(self, x): ...\n"
    assert ("Own." + method in repeated_names(code)) is is_repeated


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("def _mix(x): ...", "_mix"),
        ("def constants(n): ...", "constants"),
        (NET + "    def __init__(self):\n        grid()\ndef grid(x: torch.Tensor): ...", "grid"),
        (NET + "    def __init__(self):\n        self._grid()\n    def _grid(self): ...\n", "Net._unknown"),
        ("def plot_boxes(x: torch.Tensor):\n    return edges(x)\ndef edges(x: torch.Tensor): ...", "edges"),
        ("def print_summary(x: torch.Tensor): ...", "print_summary"),
        ("class TextDataset:\n    def shuffle(self, x: torch.Tensor): ...", "TextDataset.shuffle"),
        ("class Curve:\n    def __eq__(self, other: torch.Tensor): ...", "Curve.__eq__"),
        ("class Rows(torch.utils.data.Dataset):\n    def order(self, x: torch.Tensor): ...", "Rows.order"),
        ("def is_square(x: torch.Tensor) -> bool: ...", "is_square"),
        ("def is_square(x: torch.Tensor):\n    return bool(x.all())", "is_square"),
        ("def nms(x: torch.Tensor):\n    return _rank(x)\ndef _rank(x) -> int: ...", "_rank"),
        ("def main(loader):\n    mean(loader)\ndef mean(loader) -> float: ...", "mean"),
        ("def compute_statistics(loader) -> tuple[float, float]: ...", "compute_statistics"),
        ("def _again(x):\n    return _again(x)", "_again"),
        ("class Own(torch.optim.Optimizer):\n    def __init__(self, x: torch.Tensor):\n        self.t = table(x)\n"
         "def table(x: torch.Tensor): ...", "table"),
    ],
)  # fmt: skip
def test_what_nothing_of_that_kind_reaches_is_not_repeated(code: str, function: str) -> None:
    assert function not in repeated_names(code)


@pytest.mark.parametrize(("path", "is_repeated"), [("tests/test_ops.py", True), ("data/ops.py", False)])
def test_a_public_function_that_only_tests_call_is_offered_to_programs(path: str, is_repeated: bool) -> None:
    caller = f"{IMPORTS}from ops import nms\n\ndef check():\n    nms(1)"
    code = {"ops.py": f"{IMPORTS}def nms(x: torch.Tensor): ...", path: caller}
    assert ("ops.nms" in repeated_function_names(read_code(code))) is is_repeated


def test_code_of_exporters_and_data_loaders_is_not_repeated() -> None:
    code = "def run(x: torch.Tensor): ...\nclass Net(nn.Module):\n    def forward(self, x): ..."
    assert not repeated_names(code, "data/loader.py")
    assert not repeated_names(code, "exporters/onnx.py")


@pytest.mark.parametrize(
    ("path", "bases", "method", "is_repeated"),
    [
        ("transforms/crop.py", "", "__call__", False),
        ("transforms/crop.py", "", "apply", True),
        ("transforms/crop.py", "(nn.Module)", "__call__", True),
        ("crops.py", "", "__call__", True),
    ],
)
def test_helpers_of_transforms_that_are_called_prepare_data(
    path: str, bases: str, method: str, is_repeated: bool
) -> None:
    code = (
        f"class Crop{bases}:\n    def draw(self, x): return nms(x)\n    def {method}(self, x): ...\n"
        "def nms(x: torch.Tensor): ...\n"
    )
    assert ("nms" in repeated_names(code, path)) is is_repeated


METRIC = "from torchmetrics import Metric\nclass Precision(Metric):\n"
PIPELINE = "import lightning\nclass Pipeline(lightning.LightningModule):\n"


@pytest.mark.parametrize(
    ("code", "is_repeated"),
    [
        (METRIC + "    def compute(self):\n        return _rank(1)", False),
        (
            METRIC + "    def rank(self, x):\n        return _rank(x)\n    def compute(self):\n        self.rank(1)",
            False,
        ),
        (METRIC + "    def compute(self, x):\n        return _rank(x)", True),
        (METRIC + "    def update(self, x):\n        return _rank(x)", True),
        (METRIC.replace("Metric", "Loss") + "    def compute(self):\n        return _rank(1)", True),
        ("class OwnMetric:\n    def compute(self):\n        return _rank(1)", False),
        (PIPELINE + "    def on_validation_epoch_end(self):\n        return _rank(1)", False),
        (PIPELINE + "    def configure_model(self):\n        return _rank(1)", False),
        (PIPELINE + "    def on_fit_start(self):\n        return _rank(1)", False),
        (PIPELINE + "    def on_train_batch_end(self):\n        return _rank(1)", True),
        ("class Pipeline:\n    def after_epoch(self):\n        return _rank(1)", True),
        ("class Own(torch.autograd.Function):\n    def setup_context(ctx, x, y):\n        return _rank(1)", True),
    ],
)
def test_methods_that_run_once_in_an_epoch_are_not_repeated(code: str, is_repeated: bool) -> None:
    names = repeated_names(code + "\ndef _rank(x): ...")
    assert ("_rank" in names) is is_repeated


@pytest.mark.parametrize(
    ("bases", "is_repeated"), [("transformers.Tokenizer", False), ("Own", False), ("nn.Module", True), ("object", True)]
)
def test_a_tokenizer_that_is_no_layer_works_on_the_host(bases: str, is_repeated: bool) -> None:
    name = "Bins" if bases != "nn.Module" else "BinsTokenizer"
    code = (
        "import transformers\nclass OwnTokenizer: ...\nclass Own(OwnTokenizer): ...\n"
        f"class {name}({bases}):\n    def encode(self, x: torch.Tensor):\n        return torch.bucketize(x, x)\n"
    )
    assert (f"{name}.encode" in repeated_names(code)) is is_repeated
    (site,) = read_code({"main.py": IMPORTS + code}).sites
    assert site.is_on_host is not is_repeated


@pytest.mark.parametrize(
    ("name", "is_repeated"), [("init_phases", False), ("orthogonal_init_", False), ("initial_phases", True)]
)
def test_functions_that_initialize_parameters_run_once(name: str, is_repeated: bool) -> None:
    assert (name in repeated_names(f"def {name}(x: torch.Tensor): ...")) is is_repeated
    assert "Cache.init_phases" in repeated_names("class Cache:\n    def init_phases(self, x: torch.Tensor): ...")


def test_code_for_the_package_of_flash_attention_is_not_repeated() -> None:
    code = (
        NET.replace("Net", "FlashAttention2")
        + "    def forward(self, x):\n        return _unpad(x)\ndef _unpad(x): ..."
    )
    assert not repeated_names(code)


def test_a_function_that_takes_weights_is_not_repeated_and_what_it_calls_is_not_either() -> None:
    code = "def load(model, state_dict):\n    return fill(state_dict)\ndef fill(x: torch.Tensor): ..."
    assert not repeated_names(code)


BOXES = IMPORTS + "def crop(x: torch.Tensor): ...\ndef pad(x: torch.Tensor): ...\ndef update_box(x): ...\n"
IN_PART = {"package/net.py": "from package.boxes import pad\n"}


@pytest.mark.parametrize(
    ("files", "unused_names"),
    [
        ({"package/boxes.py": BOXES}, set()),
        ({"package/boxes.py": BOXES} | IN_PART, {"crop", "update_box"}),
        ({"package/boxes.py": BOXES, "package/net.py": "from .boxes import *\n"}, {"crop", "pad", "update_box"}),
        ({"package/boxes.py": BOXES, "package/__init__.py": "from .boxes import *\n"}, set()),
        ({"package/boxes.py": BOXES, "package/__init__.py": "from . import boxes\n"} | IN_PART, set()),
        ({"package/boxes.py": BOXES, "test_boxes.py": "from package.boxes import crop\n"} | IN_PART, {"update_box"}),
        ({"package/boxes.py": BOXES + "def loss(x):\n    return crop(x)\nloss(1)"} | IN_PART, {"update_box"}),
        ({"package/boxes.py": BOXES + "TABLE = {'crop': crop, 'box': update_box}\n"} | IN_PART, set()),
    ],
)
def test_a_function_that_no_file_imports_or_calls_is_not_repeated_if_others_of_its_file_are_imported(
    files: dict[str, str], unused_names: set[str]
) -> None:
    files = {"package/__init__.py": "", **files}
    repeated = repeated_function_names(read_code(files))
    assert {name for name in ("crop", "pad", "update_box") if f"package.boxes.{name}" not in repeated} == unused_names


def test_a_training_step_differentiates_layers_and_losses_and_what_they_call() -> None:
    code = (
        "def scale(x):\n    return x.sum()\n"
        "def unused(x):\n    return x.sum()\n"
        "@torch.no_grad()\ndef measure(x):\n    return scale(x) + unused(x)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        unused(torch.ones(3))\n"
        "    def forward(self, x):\n        return self.helper(x) + measure(x)\n"
        "    def helper(self, x):\n        return scale(x)\n"
        "def ctc_loss(x):\n    return x.mean()\n"
    )
    names = read_code({"main.py": IMPORTS + code}).trained_functions
    assert names == {"main.scale", "main.Net.forward", "main.Net.helper", "main.ctc_loss"}


INDEX = (
    "class Index:\n"
    "    def search(self, x: torch.Tensor):\n        return _rank(x)\n"
    "    def remove(self, x: torch.Tensor):\n        return _drop(_rank(x))\n"
    "    def __add__(self, x: torch.Tensor): ...\n"
    "def _rank(x):\n    return x\n"
    "def _drop(x):\n    return x\n"
)


def test_methods_that_nothing_calls_are_offered_to_other_programs() -> None:
    use = "from index import Index\ndef loss(x):\n    return Index().search(x)"
    source = read_code({"index.py": IMPORTS + INDEX, "main.py": use})
    assert source.offered_functions == {"index.Index.remove", "index._drop"}
    assert source.offered_functions < repeated_function_names(source)


@pytest.mark.parametrize(
    "code",
    [
        INDEX.replace("class Index", "class IndexMixin"),
        INDEX.replace("class Index:", "class Index(nn.Module):"),
        INDEX.replace("class Index:", "class Index(faiss.Index):"),
        "def search(x: torch.Tensor):\n    return _rank(x)\ndef _rank(x):\n    return x\n",
    ],
)
def test_mixins_classes_of_other_packages_and_functions_may_be_called(code: str) -> None:
    assert read_code({"index.py": IMPORTS + "import faiss\n" + code, "main.py": ""}).offered_functions == set()


def test_the_callers_of_a_single_file_are_unknown() -> None:
    assert read_code({"index.py": IMPORTS + INDEX}).offered_functions == set()
