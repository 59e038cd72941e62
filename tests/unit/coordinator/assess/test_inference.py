"""Inference: the call sites in small sources, found by names, arguments, operators and values."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import cache

import pytest

from coordinator.assess.knowledge import Knowledge, PublicNames, read_shipped
from coordinator.assess.sites import AssessedSource, Certainty, GuardKind, Site, Use
from coordinator.assess.sources import link_readings, read_one
from coordinator.catalogue.usage import sources as files
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite

IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


@cache
def shipped_knowledge() -> tuple[Knowledge, PublicNames]:
    return read_shipped()


def read_code(code: Mapping[str, str]) -> AssessedSource:
    knowledge, public = shipped_knowledge()
    readings = [read_one(files.SourceFile(path, "", text.encode()), "", knowledge) for path, text in code.items()]
    return link_readings(readings, knowledge, public, {"torch", "tf", "jax"})


def sites(code: str) -> tuple[Site, ...]:
    return read_code({"main.py": IMPORTS + code}).sites


def functions(code: str) -> list[tuple[str, str, str]]:
    return [(site.function, str(site.certainty), str(site.use)) for site in sites(code)]


def names(code: str) -> list[str]:
    return [site.function for site in sites(code)]


@pytest.mark.parametrize(
    ("code", "expected_uses"),
    [
        ("torch.where(a, b, c)", [("torch.where", "resolved", "called")]),
        ("add = torch.add\nadd(1, 2)", [("torch.add", "resolved", "called")]),
        (
            "x = torch.zeros(3)\nx.view(1)",
            [("torch.zeros", "resolved", "called"), ("torch.Tensor.view", "typed", "called")],
        ),
        ("def f(x: torch.Tensor):\n    return x.cumsum(0)", [("torch.Tensor.cumsum", "typed", "called")]),
        ("def f(x: 'torch.Tensor | None' = None):\n    return x.T", [("torch.Tensor.T", "typed", "called")]),
        ("def f(x):\n    return x.cumsum(0)", [("torch.Tensor.cumsum", "guessed", "called")]),
        (
            "def f(x, w):\n    return F.relu(x) @ w",
            [("torch.nn.functional.relu", "resolved", "called"), ("torch.matmul", "typed", "operator")],
        ),
        (
            "torch.rand(3).abs().sum()",
            [
                ("torch.rand", "resolved", "called"),
                ("torch.Tensor.abs", "typed", "called"),
                ("torch.Tensor.sum", "typed", "called"),
            ],
        ),
        ("@torch.no_grad()\ndef f(): ...", [("torch.no_grad", "resolved", "called")]),
        ("@torch.jit.script\ndef f(): ...", [("torch.jit.script", "resolved", "called")]),
    ],
)  # fmt: skip
def test_calls_are_found_with_the_certainty_of_their_names(
    code: str, expected_uses: list[tuple[str, str, str]]
) -> None:
    assert functions(code) == expected_uses


@pytest.mark.parametrize(
    ("code", "method_names"),
    [
        ("import pandas as pd\ndef f(t):\n    return t.column.unique()", []),
        ("from pandas import Series\ndef f(t):\n    return t.column.unique()", []),
        ("import pandas as pd\ndef f(t):\n    return t.column.unique(dim=0)", ["torch.Tensor.unique"]),
        ("def f(t):\n    return t.column.unique()", ["torch.Tensor.unique"]),
    ],
)
def test_a_method_that_columns_of_pandas_have_too_is_not_guessed(code: str, method_names: list[str]) -> None:
    assert names(code) == method_names


def test_a_setter_does_not_hide_the_getter_of_its_property() -> None:
    code = (
        "class Scale:\n"
        "    @property\n    def value(self):\n        return torch.ones(3)\n"
        "    @value.setter\n    def value(self, value):\n        self._value = value\n"
        "    @value.deleter\n    def value(self):\n        del self._value\n"
        "    def total(self):\n        return self.value.sum()\n"
    )
    assert ("torch.Tensor.sum", "typed", "called") in functions(code)


@pytest.mark.parametrize(
    ("decorator", "function_names"),
    [
        ("@implements(torch.linalg.cholesky)", []),
        ("@implements([torch.linalg.cholesky, torch.linalg.solve])", []),
        ("@register(torch.zeros(3))", ["torch.zeros"]),
        ("@functools.partial(torch.jit.script, optimize=None)", ["torch.jit.script"]),
        ("@torch.no_grad()", ["torch.no_grad"]),
    ],
)
def test_a_decorator_may_name_the_function_that_another_replaces(decorator: str, function_names: list[str]) -> None:
    assert names(f"import functools\n{decorator}\ndef f(): ...") == function_names


def test_what_is_printed_is_computed_and_what_is_asked_about_is_not_used() -> None:
    code = """
x = torch.zeros(3)
print(x.mean(), f"{torch.cuda.max_memory_allocated()} B", str(x.sum()), torch.float32)
if isinstance(x, nn.Linear) or hasattr(F, "relu") or type(x) is nn.Conv2d:
    repr(x.abs())
"""
    assert names(code) == [
        "torch.zeros", "torch.Tensor.mean", "torch.cuda.max_memory_allocated", "torch.Tensor.sum", "torch.Tensor.abs",
    ]  # fmt: skip


@pytest.mark.parametrize("layers", ['{"one": nn.Linear(1, 1), "list": l}', "dict(one=nn.Linear(1, 1), list=l)"])
def test_the_layers_of_a_module_dict_are_its_attributes(layers: str) -> None:
    code = f"""
class Net(nn.Module):
    def __init__(self):
        l = nn.ModuleList([nn.GELU() for _ in range(3)])
        self.parts = nn.ModuleDict({layers})
    def forward(self, x):
        for layer in self.parts.list:
            x = layer(self.parts.one(x))
        return x.sum()
"""
    assert names(code)[-3:] == ["torch.nn.Linear", "torch.nn.GELU", "torch.Tensor.sum"]
    assert names(code).count("torch.nn.Linear") == 2


def test_leaves_of_a_tree_are_arrays() -> None:
    code = """
import jax, jax.numpy as jnp
def norm(tree):
    leaves, structure = jax.tree.flatten(tree)
    return sum(x ** 2 for x in jax.tree_util.tree_leaves(tree)), leaves[0].sum()
"""
    sites = read_code({"main.py": code}).sites
    assert [site.function for site in sites] == [
        "jax.tree.flatten", "jax.tree_util.tree_leaves", "jax.numpy.power", "jax.Array.sum",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("x @ w", "torch.matmul"),
        ("w @ x", "torch.matmul"),
        ("x + 1", "torch.add"),
        ("1 - x", "torch.Tensor.__rsub__"),
        ("2 ** x", "torch.Tensor.__rpow__"),
        ("x ** 2", "torch.pow"),
        ("-x", "torch.neg"),
        ("~x", "torch.bitwise_not"),
        ("x == w", "torch.eq"),
        ("x < 3", "torch.lt"),
        ("abs(x)", "torch.abs"),
        ("x[mask]", "torch.Tensor.__getitem__"),
        ("x[..., 1:]", "torch.Tensor.__getitem__"),
    ],
)
def test_operators_and_indices_have_the_names_that_charts_use(expression: str, function: str) -> None:
    (site,) = sites(f"def f(x: torch.Tensor, w, mask):\n    return {expression}")
    assert (site.function, site.certainty, site.use) == (function, Certainty.typed, Use.operator)


@pytest.mark.parametrize(
    ("statement", "function"),
    [
        ("x += y", "torch.Tensor.add_"),
        ("y += x", "torch.add"),
        ("x[1:] = y", "torch.Tensor.__setitem__"),
        ("x[x > 0] = y", "torch.Tensor.index_put_"),
    ],
)
def test_writing_to_an_array_is_a_use(statement: str, function: str) -> None:
    assert function in names(f"def f(x: torch.Tensor, y):\n    {statement}")


def test_each_framework_has_names_of_its_own_for_operators() -> None:
    jax = read_code({"j.py": "import jax.numpy as jnp\nx = jnp.ones(3)\nx @ x - x[0]\nx.at[0].set(1)"})
    assert [site.function for site in jax.sites] == [
        "jax.numpy.ones", "jax.numpy.matmul", "jax.Array.__getitem__", "jax.numpy.subtract", "jax.Array.at",
    ]  # fmt: skip
    tensorflow = read_code({"t.py": "import tensorflow as tf\nx = tf.ones(3)\ny = x / x[1:]\ny.numpy()"})
    assert [site.function for site in tensorflow.sites][:3] == ["tf.ones", "tf.strided_slice", "tf.divide"]


def test_values_that_are_no_arrays_have_no_operators() -> None:
    code = (
        "def f(x: torch.Tensor, n: int, sizes: list[int], eps=1e-5):\n"
        "    b, c = x.shape\n"
        "    d = b * c + n - eps\n"
        "    e = sizes[0] + x.size(1) * len(sizes)\n"
        "    return [d, e][0]\n"
    )
    assert names(code) == ["torch.Tensor.shape", "torch.Tensor.size"]


def test_a_literal_text_and_a_parameter_that_is_a_number_by_default_have_no_operators() -> None:
    assert names("def f(label: torch.Tensor):\n    return label == 'frozen', 'frozen' != label") == []
    assert names("def f(beta: torch.Tensor = 0.9):\n    return 1 - beta") == []
    assert names("def f(beta: torch.Tensor = None):\n    return 1 - beta") == ["torch.Tensor.__rsub__"]


def test_a_layer_is_used_where_it_is_called_with_the_arguments_that_made_it() -> None:
    code = (
        "class Net(nn.Module):\n"
        "    def forward(self, x):\n"
        "        for block in self.blocks:\n"
        "            x = block(x)\n"
        "        return self.pool(self.convolution(x))\n"
        "    def __init__(self):\n"
        "        self.convolution = nn.Conv2d(3, 8, 3, padding_mode='circular')\n"
        "        self.pool = nn.AdaptiveAvgPool2d(1)\n"
        "        self.blocks = nn.ModuleList([nn.ReLU() for _ in range(3)])\n"
    )
    forward_sites = [site for site in sites(code) if site.within == "Net.forward"]
    assert [(site.function, site.certainty) for site in forward_sites] == [
        ("torch.nn.ReLU", Certainty.typed),
        ("torch.nn.Conv2d", Certainty.typed),
        ("torch.nn.AdaptiveAvgPool2d", Certainty.typed),
    ]
    assert forward_sites[1].call == CallSite(3, {"padding_mode": "circular"}, {1: 3, 2: 8, 3: 3})


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("Block(norm_layer=nn.LayerNorm)", "torch.nn.LayerNorm"),
        ("from functools import partial\npad = partial(F.pad, mode='reflect')", "torch.nn.functional.pad"),
        ("def f(init_fn=nn.init.xavier_uniform_): ...", "torch.nn.init.xavier_uniform_"),
        ("acts = {'relu': F.relu}", "torch.nn.functional.relu"),
        ("x = torch.zeros(3)\nmap(x.add, [1, 2])", "torch.Tensor.add"),
    ],
)
def test_a_function_that_is_handed_on_is_reported_where_it_is_named(code: str, function: str) -> None:
    function_names = [site.function for site in sites(code) if site.use is Use.named]
    assert function_names == [function]


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(x, torch.Tensor)",
        "class Net(nn.Module): ...",
        "def f(x: torch.Tensor) -> nn.Linear: ...",
        "x = torch.float32",
        "torch.nn",
        "from torch import not_there\nnot_there()",
    ],
)
def test_a_name_that_says_what_a_value_is_does_not_use_it(code: str) -> None:
    assert not sites(code)


@pytest.mark.parametrize(
    ("call", "expected_call"),
    [
        ("torch.where(a, b, c)", CallSite(3, {})),
        ("torch.sum(a, dim=(0, 1), keepdim=True)", CallSite(1, {"dim": [0, 1], "keepdim": True})),
        (
            "F.interpolate(a, mode='bilinear', scale_factor=-1.5)",
            CallSite(1, {"mode": "bilinear", "scale_factor": -1.5}),
        ),
        ("torch.sum(a, dim=n)", CallSite(1, {"dim": UNKNOWN_VALUE})),
        ("torch.sum(a, dtype=torch.float64)", CallSite(1, {"dtype": UNKNOWN_VALUE})),
        ("torch.sum(a, 1, True)", CallSite(3, {}, {2: 1, 3: True})),
        ("torch.sum(a, True, 1)", CallSite(3, {}, {2: True, 3: 1})),
        ("torch.sum(a, (0, 1), keepdim=True)", CallSite(2, {"keepdim": True}, {2: [0, 1]})),
        ("torch.sum(a, (0, n))", CallSite(2, {})),
        ("torch.sum(*a)", None),
        ("torch.sum(a, **n)", None),
    ],
)
def test_a_call_keeps_its_arity_and_its_literals(call: str, expected_call: CallSite | None) -> None:
    (site,) = sites(call)
    assert site.call == expected_call


def test_calls_with_different_positional_values_stay_different() -> None:
    first, second = sites("torch.sum(a, 1)\ntorch.sum(a, 2)")
    assert (first.call, second.call) == (CallSite(2, {}, {2: 1}), CallSite(2, {}, {2: 2}))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_columns_count_characters(encoding: str) -> None:
    code = f"# coding: {encoding}\nimport torch\né = 'é'; torch.add(é, 1)\n".encode(encoding)
    knowledge, public = shipped_knowledge()
    reading = read_one(files.SourceFile("a.py", "", code), "", knowledge)
    (site,) = link_readings([reading], knowledge, public, {"torch"}).sites
    assert (site.line, site.column) == (3, len("é = 'é'; torch.") + 1)


def test_a_site_says_where_it_stands() -> None:
    code = (
        "class Net:\n    def forward(self, x: torch.Tensor):\n"
        "        return (\n            x\n            .cumsum(0)\n        )\n"
    )
    (site,) = sites(code)
    assert (site.path, site.line, site.column, site.within) == ("main.py", 8, 14, "Net.forward")


@pytest.mark.parametrize(
    ("code", "dtypes"),
    [
        ("torch.zeros(3, dtype=torch.float16)", {"float16"}),
        ("x = torch.zeros(3).half()\ntorch.cumsum(x, 0)", {"float16"}),
        ("x = torch.zeros(3).to(torch.bfloat16)\ntorch.cumsum(x, 0)", {"bfloat16"}),
        ("x = torch.zeros(3) > 0\ntorch.cumsum(x, 0)", {"bool"}),
        ("x = torch.zeros(3)\ntorch.cumsum(x, 0)", set()),
    ],
)
def test_dtypes_are_known_where_the_source_says_them(code: str, dtypes: set[str]) -> None:
    assert sites(code)[-1].dtypes == dtypes


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("if x.device.type == 'cuda':\n    torch.add(x, 1)", GuardKind.device),
        ("if x.is_cuda:\n    torch.add(x, 1)", GuardKind.device),
        ("y = torch.add(x, 1) if x.is_cuda else 0", GuardKind.device),
        ("if torch.cuda.is_available():\n    torch.add(x, 1)", GuardKind.availability),
        ("if torch.__version__ >= '2.1':\n    torch.add(x, 1)", GuardKind.version),
        ("try:\n    torch.add(x, 1)\nexcept (KeyError, RuntimeError):\n    pass", GuardKind.failure),
    ],
)
def test_a_site_knows_the_guards_under_which_it_stands(code: str, kind: GuardKind) -> None:
    (site,) = [site for site in sites(code) if site.function == "torch.add"]
    assert [guard.kind for guard in site.guards] == [kind]


@pytest.mark.parametrize(
    "code",
    [
        "if x.ndim == 3:\n    torch.add(x, 1)",
        "try:\n    torch.add(x, 1)\nexcept ImportError:\n    pass",
        "if x.is_cuda:\n    pass\ntorch.add(x, 1)",
        "assert torch.cuda.is_available()\ntorch.add(x, 1)",
        "if not torch.cuda.is_available():\n    raise RuntimeError\ntorch.add(x, 1)",
        "match x.ndim:\n    case 3:\n        torch.add(x, 1)",
    ],
)
def test_other_conditions_are_no_guards(code: str) -> None:
    assert [site.guards for site in sites(code) if site.function == "torch.add"] == [()]


def test_places_that_ask_for_the_device_are_listed() -> None:
    code = "dtype = torch.float32 if x.device.type == 'mps' else torch.float64\nif is_torch_xla_available(): ...\n"
    questions = read_code({"main.py": IMPORTS + code}).device_questions
    assert [(question.path, question.line, question.text) for question in questions] == [
        ("main.py", 4, "x.device.type"),
        ("main.py", 5, "is_torch_xla_available()"),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "float(x)",
        "int(x.sum())",
        "y = complex(x)",
        "bool(torch.isnan(x))",
        "if (x > 0).all():\n    pass",
        "while not x.any() and steps:\n    pass",
        "y = 1 if torch.equal and x.sum() == 0 else 2",
        "assert x.max() < 3",
        "y = [1 for _ in steps if x.any()]",
    ],
)
def test_what_takes_a_value_to_python_reads_it_on_the_host(code: str) -> None:
    source = read_code({"main.py": f"{IMPORTS}x = torch.zeros(3)\nsteps = [1]\n{code}\n"})
    (site,) = source.host_reads
    assert (site.function, site.use, site.call) == ("torch.Tensor.item", "operator", CallSite(0, {}))


def test_of_each_framework_a_line_that_reads_on_the_host_is_listed_once() -> None:
    code = "import torch, jax\nx = torch.zeros(3)\nprint(x.item(), x.cpu().numpy(), x.tolist())\n"
    source = read_code({"main.py": f"{code}y = jax.numpy.zeros(3)\nfloat(y)\njax.device_get(y)\nx = x.cpu()\n"})
    assert [(site.line, site.function) for site in source.host_reads] == [
        (3, "torch.Tensor.item"), (5, "jax.Array.item"), (6, "jax.device_get"), (7, "torch.Tensor.cpu")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "code",
    [
        "float(x.shape[0])",
        "if x is not None:\n    pass",
        "if x.dtype == torch.float32 and x.ndim:\n    pass",
        "float('inf')",
        "int(x.size(0))",
        "def f(mask):\n    mask.unsqueeze(0)\n    if mask:\n        pass",
        "float = x.float\nfloat(x)",
    ],
)
def test_what_asks_for_no_value_of_an_array_is_no_read(code: str) -> None:
    assert read_code({"main.py": f"{IMPORTS}x = torch.zeros(3)\n{code}\n"}).host_reads == ()


def test_equal_calls_of_several_files_take_memory_once() -> None:
    code = f"{IMPORTS}torch.argmax(torch.zeros(3, dtype=torch.float16), dim=1)\n"
    sites = [site for site in read_code({"a.py": code, "b.py": code}).sites if site.function == "torch.argmax"]
    one, other = sites
    assert one.call is other.call
    assert one.dtypes is other.dtypes
    assert one.dtypes == {"float16"}


def test_names_are_followed_through_the_files_that_export_them() -> None:
    source = read_code(
        {
            "package/__init__.py": "from .layers import *\n",
            "package/layers.py": "import torch.nn as nn\nconv = nn.Conv2d\nclass Base(nn.Module):\n"
            "    def __init__(self):\n        self.norm = nn.LayerNorm(3)\n",
            "package/model.py": "from . import conv\nfrom .layers import Base\nclass Net(Base):\n"
            "    def forward(self, x):\n        return self.norm(x)\nconv(1, 2, 3)\n",
            "train.py": "from package.model import Net\nimport package\nNet()(1)\npackage.conv(3, 4, 5)\n",
        }
    )
    places = {(site.path, site.line): site.function for site in source.sites}
    assert places["package/model.py", 5] == "torch.nn.LayerNorm"
    assert places["package/model.py", 6] == places["train.py", 4] == "torch.nn.Conv2d"


def test_calls_among_the_users_own_functions_are_kept_for_paths() -> None:
    source = read_code(
        {
            "package/ops.py": "import torch\ndef helper(x):\n    return torch.cumsum(x, 0)\n",
            "package/net.py": "from .ops import helper\nclass Net:\n"
            "    def forward(self, x):\n        return self.step(x)\n"
            "    def step(self, x):\n        return list(map(helper, x))\n",
        }
    )
    assert source.calls == {
        "package.net.Net.forward": {"package.net.Net.step"},
        "package.net.Net.step": {"package.ops.helper"},
    }
    assert source.modules["package/net.py"] == "package.net"


JAX = "import jax\nimport jax.numpy as jnp\nfrom typing import Any, Union, overload\n"
ARRAYS = JAX + "Array = Union[jax.Array, Any]\ndef f(x: Array):\n    return x.sum()\n"
LAYERS = """
class Param:
    @overload
    def __getitem__(self: 'Param[jax.Array]', key) -> jax.Array: ...
    @overload
    def __getitem__(self, key) -> Any: ...
    def __getitem__(self, key):
        return self.value

class Layer:
    def __init__(self):
        self.bias = Param(jnp.zeros(3))
        self.scale: Param[jax.Array] = make()

    def __call__(self):
        return self.bias[...] + 1, self.scale[...] * 2
"""


def jax_names(code: str, **others: str) -> list[str]:
    files_by_path = {"main.py": JAX + code, **{f"{name}.py": text for name, text in others.items()}}
    return [site.function for site in read_code(files_by_path).sites if site.path == "main.py"]


def test_an_alias_of_types_is_the_types_in_its_file_and_in_others() -> None:
    assert [site.function for site in read_code({"main.py": ARRAYS}).sites] == ["jax.Array.sum"]
    assert jax_names("from arrays import Array\ndef f(x: Array):\n    return x >= 0", arrays=ARRAYS) == [
        "jax.numpy.greater_equal"
    ]


def test_a_parameter_that_may_be_a_number_has_no_operators() -> None:
    assert jax_names("def f(rate: float | jax.Array):\n    return -rate") == []
    alias = "from typing import Union\nimport jax\nScalar = Union[float, jax.Array]"
    assert jax_names("from kinds import Scalar\ndef f(rate: Scalar):\n    return -rate", kinds=alias) == []
    assert jax_names("rate: float | jax.Array = make()\n-rate") == ["jax.numpy.negative"]


def test_a_value_whose_class_a_condition_asks_is_of_that_class_under_it() -> None:
    code = """
def f(x, y):
    if isinstance(x, jax.Array):
        x + 1
    x + 1
    return y if isinstance(y, (int, float)) else y.mean()
"""
    assert jax_names(code) == ["jax.numpy.add", "jax.Array.mean"]


def test_a_value_that_is_no_array_under_a_condition_has_no_methods_of_arrays() -> None:
    code = """
def f(image: torch.Tensor):
    if not isinstance(image, torch.Tensor):
        to_image(image.mode)
    return image.mode()
"""
    assert [(site.line, site.function) for site in sites(code)] == [(8, "torch.Tensor.mode")]


def test_an_element_of_an_instance_is_what_its_class_gives() -> None:
    assert jax_names(LAYERS) == ["jax.numpy.zeros", "jax.numpy.add", "jax.numpy.multiply"]


def test_brackets_behind_another_name_hold_what_the_value_is() -> None:
    code = "from jaxtyping import Float\ndef f(x: Float[jax.Array, 'batch']):\n    return x + 1"
    assert jax_names(code) == ["jax.numpy.add"]


def test_a_function_that_a_parameter_has_by_default_is_called_whatever_its_protocol() -> None:
    code = """
from protocols import Product
def f(x, product: Product = jax.lax.dot_general):
    return product(x, x)
"""
    assert jax_names(code, protocols="class Product: ...") == ["jax.lax.dot_general"] * 2


@pytest.mark.parametrize(
    "code",
    [
        "cp, has_cp = optional_import('cupy')\ndef f(x):\n    return cp.unique(x)",
        "import numpy as np\ncp, has = load('cupy')\ndef f(x):\n    lib = cp if has else np\n    return lib.unique(x)",
        "from elsewhere import *\ndef f(x):\n    return lib.bincount(x)",
        "def f(x: torch.Tensor):\n    cov = x.cov\n    return cov.mean.bincount()",
    ],
)
def test_neither_a_global_nor_a_method_that_is_not_called_is_an_array(code: str) -> None:
    assert [site for site in sites(code) if site.use is Use.called] == []


def test_a_parameter_is_no_array_for_a_method_that_is_not_called() -> None:
    assert names("def f(measurement):\n    noise = measurement.cov\n    return noise.size(0)") == ["torch.Tensor.size"]


def test_a_method_that_is_called_tells_an_array_in_a_function_and_in_a_script() -> None:
    assert names("def f(x):\n    return x.cov().bincount()") == ["torch.Tensor.cov", "torch.Tensor.bincount"]
    assert names("x = load('x')[0]\nx.bincount()") == ["torch.Tensor.bincount"]


def test_each_function_that_is_handed_in_may_be_the_one_that_is_called() -> None:
    code = "def f(x, function=jnp.multiply):\n    return function(x, x)\nf(1, jnp.add)"
    called = [site for site in read_code({"main.py": JAX + code}).sites if site.use is Use.called]
    assert [site.function for site in called] == ["jax.numpy.add", "jax.numpy.multiply"]


def test_a_parameter_that_a_range_counts_to_is_a_number() -> None:
    code = "def f(axis, x):\n    axis < 0\n    return range(axis + 1)\njax.tree.map(f, a, b)"
    assert jax_names(code) == ["jax.tree.map"]


def test_an_argument_tells_a_parameter_what_it_is() -> None:
    code = "def helper(x, n):\n    return x[n]\ny = helper(torch.zeros(3), 2)\nhelper('text', 2)\n"
    assert functions(code) == [
        ("torch.Tensor.__getitem__", "guessed", "operator"),
        ("torch.zeros", "resolved", "called"),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import a\nclass A(A): ...\nA().f(torch.zeros(3))",
        "def f(x):\n    return f(x)\nf(1)[0] + 1",
        "class A:\n    def __init__(self):\n        self.x = self.x\n        self.y = self.x.y\n"
        "    def f(self):\n        return self.y[0]",
        "x = x\nx[0].y(x)",
        "def f(x):\n" + "    x = x.a()\n" * 500 + "    return x + 1",
    ],
)
def test_circles_and_chains_end(code: str) -> None:
    assert "torch.cumsum" in names(code + "\ntorch.cumsum(1, 2)")


def test_modules_that_import_each_other_end() -> None:
    source = read_code(
        {"a.py": "from b import f\nfrom b import *\n", "b.py": "from a import f\nfrom a import *\nf(1)[0]\n"}
    )
    assert (source.files, source.sites) == (2, ())


LAYER = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        self.fc = torch.nn.Linear(1, 2)
    def forward(self, x, n):
        mask = x > 0
        y = self.fc(x)
        z = torch.relu(x)
        return {expression}
"""


@pytest.mark.parametrize(
    "expression",
    ["x[x > 0]", "x[mask]", "x[~mask]", "x[mask & (x < 1)]", "y[y > 0]", "y[0 != y]", "z[z > 0]", "x[:, x > 0]"],
)
def test_an_index_of_comparisons_is_a_mask(expression: str) -> None:
    sites = read_code({"a.py": LAYER.format(expression=expression)}).sites
    (site,) = (site for site in sites if site.function == "torch.Tensor.__getitem__")
    assert site.dtypes == {"bool"}


@pytest.mark.parametrize("expression", ["(x > 0).nonzero()", "mask.nonzero()", "(~(x > 0)).nonzero()"])
def test_a_comparison_of_an_array_is_an_array(expression: str) -> None:
    functions = [site.function for site in read_code({"a.py": LAYER.format(expression=expression)}).sites]
    assert "torch.Tensor.nonzero" in functions


@pytest.mark.parametrize("line", ["torch.where((x >= 1) & (x < 3), 1, 2)", "(x > 0).nonzero()"])
def test_a_parameter_is_an_array_if_a_comparison_with_it_is_used_as_one(line: str) -> None:
    code = f"import torch\ndef f(x):\n    y = {line}\n    return x @ y"
    assert "torch.matmul" in [site.function for site in read_code({"a.py": code}).sites]


@pytest.mark.parametrize("expression", ["x[n]", "x[n + 1]"])
def test_another_index_is_no_mask(expression: str) -> None:
    sites = read_code({"a.py": LAYER.format(expression=expression)}).sites
    assert all(not site.dtypes for site in sites if site.function == "torch.Tensor.__getitem__")


def test_a_star_import_of_a_framework_is_counted() -> None:
    source = read_code({"a.py": "from torch.nn import *\nimport_nothing_of_this_name(1, 2)"})
    assert (source.star_imports, source.sites) == (1, ())


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("from torch import *\ndef f(x):\n    return unique(x)", "torch.unique"),
        ("from torch.nn import *\nmodel = Linear(1, 2)", "torch.nn.Linear"),
        ("from torch.nn import *\ndef f(x):\n    return functional.relu(x)", "torch.nn.functional.relu"),
        ("from tensorflow.keras.layers import *\nmodel = LSTM(4)", "tf.keras.layers.LSTM"),
        ("from jax.numpy import *\ndef f(x):\n    return linalg.eig(x)", "jax.numpy.linalg.eig"),
    ],
)
def test_names_from_a_star_import_of_a_framework_are_resolved(code: str, function: str) -> None:
    sites = read_code({"a.py": code}).sites
    assert [(site.function, site.certainty) for site in sites] == [(function, Certainty.resolved)]


def test_a_star_import_hides_no_name_of_the_code_itself() -> None:
    code = {"a.py": "from torch import *\nfrom b import *\ndef nonzero(x):\n    return x\nnonzero(1)\nunique(2)"}
    assert not read_code({**code, "b.py": "def f():\n    pass"}).sites[1:]
    assert not read_code({"a.py": "from b import *\nunique(2)", "b.py": "def unique(x):\n    pass"}).sites


def test_a_plain_name_of_unknown_origin_is_no_method_of_an_array() -> None:
    assert not read_code({"a.py": "import torch\nfrom elsewhere import *\nunique(torch.zeros(3))"}).sites[1:]


def test_parameters_of_a_star_imported_function_are_arrays() -> None:
    code = "from torch import *\ndef f(x):\n    exp(x)\n    return x @ x"
    assert [site.function for site in read_code({"a.py": code}).sites] == ["torch.exp", "torch.matmul"]


@pytest.mark.parametrize("line", ["import keras", "import keras as keras", "from keras import layers, ops"])
def test_keras_is_a_module_of_tensorflow(line: str) -> None:
    prefix = "" if line.startswith("from") else "keras."
    code = f"{line}\nlayer = {prefix}layers.LSTM(4)\ndef f(x):\n    return {prefix}ops.svd(x)"
    functions = [site.function for site in read_code({"a.py": code}).sites]
    assert functions == ["tf.keras.layers.LSTM", "tf.keras.ops.svd"]


def test_a_module_of_the_code_may_be_named_keras() -> None:
    assert not read_code({"a.py": "import keras\nkeras.ops.svd(1)", "keras/ops.py": "def svd(x):\n    pass"}).sites


def test_reading_a_file_leaves_no_circles() -> None:
    """Workers do not search for reference cycles, so a cycle would use memory until the process ends."""
    code = IMPORTS + "def f(x: torch.Tensor, axis=-1):\n    return torch.sum(x, (0, axis), keepdim=True)\n"
    source, (knowledge, _) = files.SourceFile("main.py", "", code.encode()), shipped_knowledge()
    gc.collect()
    gc.disable()
    try:
        read_one(source, "", knowledge)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("-1", -1),
        ("+2.5", 2.5),
        ("None", None),
        ("(1, [-2, 'a'])", [1, [-2, "a"]]),
        ("(1, x)", UNKNOWN_VALUE),
        ("-True", UNKNOWN_VALUE),
        ("b'a'", UNKNOWN_VALUE),
        ("1j", UNKNOWN_VALUE),
        ("...", UNKNOWN_VALUE),
        ("{1: 2}", UNKNOWN_VALUE),
    ],
)
def test_a_literal_is_kept_as_json_has_it(literal: str, value: object) -> None:
    (site,) = [site for site in sites(f"torch.sum(y, dim={literal})") if site.function == "torch.sum"]
    assert site.call == CallSite(1, {"dim": value})


@pytest.mark.parametrize(
    ("code", "device", "reached"),
    [
        ("if x.is_cuda:\n    torch.add(x, 1)", "xla", False),
        ("if x.is_cuda:\n    torch.add(x, 1)", "cuda", True),
        ("if x.is_cuda:\n    pass\nelse:\n    torch.add(x, 1)", "xla", True),
        ("if not x.is_cuda:\n    torch.add(x, 1)", "xla", True),
        ("if x.device.type == 'mps':\n    torch.add(x, 1)", "xla", False),
        ("if x.device.type != 'mps':\n    torch.add(x, 1)", "xla", True),
        ("if x.device.type == 'xla':\n    torch.add(x, 1)", "xla", True),
        ("y = 0 if x.is_cuda else torch.add(x, 1)", "xla", True),
        ("if fast and x.is_cuda:\n    torch.add(x, 1)", "xla", False),
        ("if fast and x.is_cuda:\n    pass\nelse:\n    torch.add(x, 1)", "xla", None),
        ("if fast or x.is_cuda:\n    torch.add(x, 1)", "xla", None),
        ("if not (fast and x.is_cuda):\n    torch.add(x, 1)", "xla", None),
        ("if x.device.type in kinds:\n    torch.add(x, 1)", "xla", None),
        ("if torch.cuda.is_available():\n    torch.add(x, 1)", "xla", None),
        ("if cuda:\n    torch.add(x, 1)", "xla", False),
        ("if args.use_cuda:\n    torch.add(x, 1)", "xla", False),
        ("if use_xla:\n    torch.add(x, 1)", "xla", True),
        ("def f():\n    if not x.is_cuda:\n        return x\n    torch.add(x, 1)", "xla", False),
        ("def f():\n    if x.is_cuda:\n        return x\n    torch.add(x, 1)", "xla", True),
        ("for y in z:\n    if y.device.type != 'cpu':\n        continue\n    torch.add(x, 1)", "xla", False),
        ("if x.device.type == 'cpu':\n    pass\nelse:\n    raise ValueError\ntorch.add(x, 1)", "xla", False),
        ("assert x.device.type == 'cpu'\ntorch.add(x, 1)", "xla", False),
        ("match x.device.type:\n    case 'cuda':\n        torch.add(x, 1)", "xla", False),
        ("match x.device.type:\n    case 'cuda' | 'xla':\n        torch.add(x, 1)", "xla", None),
        ("match x.device.type:\n    case 'cuda':\n        pass\n    case _:\n        torch.add(x, 1)", "xla", True),
    ],
)
def test_a_guard_knows_whether_a_device_reaches_its_place(code: str, device: str, reached: bool | None) -> None:
    (site,) = [site for site in sites(code) if site.function == "torch.add"]
    assert [guard.reaches(device) for guard in site.guards] == [reached]


def test_a_function_with_many_asserts_is_read() -> None:
    code = "def f(x):\n" + "    assert x.device.type == 'cuda'\n" * 1_500 + "    torch.add(x, 1)\n"
    (site,) = [site for site in sites(code) if site.function == "torch.add"]
    assert site.guards[0].reaches("xla") is False


@pytest.mark.parametrize(
    ("code", "is_in_export"),
    [
        ("if torch.onnx.is_in_onnx_export():\n    torch.add(x, 1)", True),
        ("if fast and torch.compiler.is_exporting():\n    torch.add(x, 1)", True),
        ("y = torch.add(x, 1) if torch.jit.is_scripting() else x", True),
        ("if not torch.jit.is_tracing():\n    pass\nelse:\n    torch.add(x, 1)", True),
        ("if not torch.jit.is_tracing():\n    torch.add(x, 1)", False),
        ("if torch.onnx.is_in_onnx_export():\n    pass\nelse:\n    torch.add(x, 1)", False),
        ("if fast or torch.onnx.is_in_onnx_export():\n    torch.add(x, 1)", False),
        ("if torch.compiler.is_compiling():\n    torch.add(x, 1)", False),
    ],
)
def test_a_condition_about_an_export_guards_its_place(code: str, is_in_export: bool) -> None:
    (site,) = [site for site in sites(code) if site.function == "torch.add"]
    assert [guard.kind for guard in site.guards] == [GuardKind.export] * is_in_export


@pytest.mark.parametrize(
    "code",
    [
        "torch.randperm(n)",
        "torch.randperm(n, device='cpu')",
        "torch.unique(torch.arange(5) * 2)",
        "x = torch.tensor([1, 2], dtype=torch.int64)\nx.float().unique()",
        "def f(x: torch.Tensor):\n    return x.cpu().unique()",
        "x = torch.arange(5)\nx[x > 2]",
        "torch.arange(5).sort()[0].unique()",
        "def f(x):\n    return x.cpu().unique()",
        "def f(batch):\n    return torch.unique(batch['x'].detach().to('cpu'))",
        "def f(batch):\n    return torch.unique(batch['x'].to(device='cpu'))",
        "class Box:\n    x: torch.Tensor\ndef f(box: Box):\n    return box.x.detach().cpu().unique()",
        "from torch.utils.data import Dataset\nclass A(Dataset):\n    def f(self, x):\n        return torch.unique(x)",
    ],
)
def test_arrays_that_are_put_on_no_device_stay_on_the_host(code: str) -> None:
    assert sites(code)[-1].is_on_host


@pytest.mark.parametrize(
    "code",
    [
        "torch.randperm(n, device=device)",
        "torch.randperm(n, **options)",
        "torch.unique(x)",
        "torch.unique(torch.tensor(x))",
        "def f(x):\n    return x.to(device).unique()",
        "class Data:\n    def cpu(self): ...\ndef f():\n    return torch.unique(Data().cpu())",
        "x = torch.arange(5).to(device)\nx.unique()",
        "x = torch.arange(5)\nif fast:\n    x = x.to(device)\nx.unique()",
        "def f(x: torch.Tensor):\n    return (x * torch.tensor(2.0)).unique()",
        "def f(x: torch.Tensor):\n    return x[torch.arange(5)]",
        "def f(x: torch.Tensor):\n    return torch.isin(x, torch.arange(5))",
        "class A(nn.Module):\n    def __init__(self):\n        self.x = torch.arange(5)\n"
        "    def forward(self):\n        return self.x.unique()",
        "def g(x):\n    return x.unique()\ndef f():\n    g(torch.arange(5))",
        "class A(nn.Module):\n    def f(self, x):\n        return torch.unique(x)",
    ],
)
def test_arrays_that_may_be_on_a_device_are_not_said_to_be_on_the_host(code: str) -> None:
    made_on_host = ("torch.arange", "torch.tensor")
    assert [site for site in sites(code) if site.is_on_host and site.function not in made_on_host] == []


@pytest.mark.parametrize(
    ("index", "dtypes"),
    [
        ("..., None", {"float32"}),
        (":, 1:-1", {"float32"}),
        ("0", {"float32"}),
        ("len(y), :", {"float32"}),
        ("i", set()),
        ("mask", {"bool"}),
        ("mask, 0", {"bool"}),
        ("~mask", {"bool"}),
        ("-1", {"float32"}),
        ("torch.arange(3, dtype=torch.int64)", {"int64"}),
    ],
)
@pytest.mark.parametrize("form", ["mask[{}]", "mask[{}] = 1"])
def test_a_mask_is_indexed_by_the_dtype_of_its_index(form: str, index: str, dtypes: set[str]) -> None:
    code = f"def f(x: torch.Tensor, i):\n    mask = x > 0\n    {form.format(index)}"
    indexing = [site for site in sites(code) if site.function.endswith(("item__", ".index_put_"))]
    assert [site.dtypes for site in indexing] == [dtypes]


@pytest.mark.parametrize(
    ("base", "method", "is_at_setup"),
    [
        ("nn.Module", "__init__", True),
        ("nn.Sequential", "reset_parameters", True),
        ("nn.Module", "_init_weights", True),
        ("torch.distributions.Transform, nn.Module", "__init__", True),
        ("nn.Module", "forward", False),
        ("torch.distributions.Normal", "__init__", False),
        ("object", "__init__", False),
    ],
)
def test_a_module_is_set_up_in_few_of_its_methods(base: str, method: str, is_at_setup: bool) -> None:
    code = f"class Base({base}): ...\nclass A(Base):\n    def {method}(self, x):\n        torch.unique(x)"
    assert sites(code)[-1].is_at_setup is is_at_setup


def test_a_name_that_the_codes_own_classes_have_does_not_tell_an_array() -> None:
    own_class = "class Posterior:\n    def mode(self): ...\n"
    code = "def f(output):\n    return output.latent.mode()\n"
    assert names(code) == ["torch.Tensor.mode"]
    assert names(own_class + code) == []


@pytest.mark.parametrize(
    ("code", "goes_to_host"),
    [
        ("x.unique().cpu()", True),
        ("x.unique().to('cpu')", True),
        ("x.unique().detach().tolist()", True),
        ("x.unique().to(device='cpu')", True),
        ("x.unique()[0].item()", True),
        ("x.unique().squeeze(1)[0].item()", True),
        ("x.unique().flatten().tolist()", True),
        ("x.unique()[-1].item()", True),
        ("int(x.unique())", True),
        ("print(x.unique())", True),
        ("f'{x.unique()}'", True),
        ("assert not x.unique()", True),
        ("x.unique().sum().cpu()", False),
        ("x.unique().to('cuda')", False),
        ("torch.add(x.unique(), 1).cpu()", False),
        ("x[x.unique()].cpu()", False),
    ],
)
def test_a_result_that_goes_to_the_host_at_once_is_noted(code: str, goes_to_host: bool) -> None:
    all_sites = sites(f"def f(x: torch.Tensor):\n    {code}")
    assert [site.goes_to_host for site in all_sites if site.function == "torch.Tensor.unique"] == [goes_to_host]


@pytest.mark.parametrize(
    "code",
    [
        "y = x.unique()\n    return y.tolist()",
        "y = x.unique().detach()\n    logger.info('%s', y)",
        "y, counts = x.unique()\n    print(counts)\n    'all: {}'.format(y)",
        "y = x.unique()\n    self.log.warning(f'{y}')",
        "y = x.unique()\n    writer.add_scalar('kinds', y)",
        "y = x.unique()\n    '%s' % y\n    '%s %s' % (y, 1)",
        "y = x.unique()\n    y = y.cpu()\n    return y + 1",
        "x = x.unique()\n    x = x.cpu()\n    return x",
        "for _ in range(3):\n        y = x.unique()\n        z = y.item()",
        "y = x.unique()\n    def inner():\n        return int(y)\n    return inner",
        "try:\n        y = x.unique()\n        y.item()\n    finally: ...",
    ],
)
def test_a_result_that_a_function_only_moves_to_the_host_is_noted(code: str) -> None:
    all_sites = sites(f"def f(self, x: torch.Tensor):\n    {code}")
    assert [site.goes_to_host for site in all_sites if site.function == "torch.Tensor.unique"] == [True]


@pytest.mark.parametrize(
    "code",
    [
        "y = x.unique()",
        "y = x.unique()\n    y.item()\n    return y",
        "y, counts = x.unique()\n    y.item()\n    return counts",
        "y = x.unique()\n    if y.item():\n        y = x\n    return y",
        "if True:\n        y = x.unique()\n    else:\n        y = x\n    y.item()\n    return y",
        "for _ in range(3):\n        torch.add(y, 1)\n        y = x.unique()\n        y.item()",
        "global y\n    torch.add(y, 1)\n    y = x.unique()\n    y.item()",
        "y = x.unique()\n    y.item()\n    [y for y in range(3)]\n    return y",
        "y = x.unique()\n    y.item()\n    y += 1",
        "y = x.unique()\n    y.item()\n    return lambda: torch.add(y, 1)",
        "match 1:\n        case 1: y = x.unique()\n        case _: y = x\n    y.item()\n    return y",
        "y = x.unique()\n    y.item()\n    catalog.info(y)",
        "y = z.y = x.unique()\n    y.item()",
    ],
)
def test_a_result_that_a_function_also_uses_stays_on_the_device(code: str) -> None:
    all_sites = sites(f"def f(x: torch.Tensor, z):\n    {code}")
    assert [site.goes_to_host for site in all_sites if site.function == "torch.Tensor.unique"] == [False]


@pytest.mark.parametrize(
    ("parameters", "call", "is_on_host"),
    [
        ("x, device='cpu'", "rank(x)", True),
        ("x, device=torch.device('cpu')", "rank(x)", True),
        ("x, *, device='cpu'", "rank(x)", True),
        ("x, device='cpu'", "rank(x)\n    rank(x, device=x.device)", False),
        ("x, device='cpu'", "rank(x, x.device)", False),
        ("x, device='cpu'", "rank(*x)", False),
        ("x, device='cpu'", "rank(x, **x)", False),
        ("x, device='cpu'", "x.map(rank)", False),
        ("x, device='cpu'", "pass", False),
        ("x, device='cuda'", "rank(x)", False),
        ("x, device=None", "rank(x)", False),
    ],
)
def test_a_function_to_which_no_call_gives_a_device_uses_its_default(
    parameters: str, call: str, is_on_host: bool
) -> None:
    all_sites = sites(f"def rank({parameters}):\n    return torch.unique(x.to(device))\ndef f(x):\n    {call}")
    assert [site.is_on_host for site in all_sites if site.function == "torch.unique"] == [is_on_host]


def test_a_function_that_nothing_calls_uses_its_default_device() -> None:
    rank = IMPORTS + "def rank(x, device='cpu'):\n    return torch.unique(x.to(device))\n"
    for code, is_on_host in (
        ({"rank.py": rank, "main.py": "import rank"}, True),
        ({"rank.py": rank, "main.py": "from rank import rank\nrank(x, device='cuda')"}, False),
        ({"rank.py": rank}, False),
    ):
        (place,) = [place for place in read_code(code).sites if place.function == "torch.unique"]
        assert place.is_on_host is is_on_host


@pytest.mark.parametrize(
    ("code", "is_before_error"),
    [
        ("if len(x) < 2:\n        raise ValueError(x.unique())", True),
        ("if len(x) < 2:\n        y = x.unique()\n        raise ValueError(y)", True),
        ("if len(x) < 2:\n        return x\n    else:\n        raise ValueError(x.unique())", True),
        ("raise ValueError(x.unique())", True),
        ("if len(x.unique()) < 2:\n        raise ValueError", False),
        ("if len(x) < 2:\n        if x is None:\n            return x.unique()\n        raise ValueError", False),
        ("if len(x) < 2:\n        raise ValueError\n    x.unique()", False),
    ],
)
def test_code_before_an_error_is_known(code: str, is_before_error: bool) -> None:
    (place,) = [place for place in sites(f"def f(x: torch.Tensor):\n    {code}") if "unique" in place.function]
    assert any(guard.kind is GuardKind.error for guard in place.guards) is is_before_error


def test_a_file_with_tests_is_told_by_its_name_and_its_functions() -> None:
    net = IMPORTS + "class Net(nn.Module):\n    def forward(self, x):\n        return torch.unique(x)\n"
    code = {"test_net.py": net + "def test_net():\n    Net()", "test_time_net.py": net, "net.py": net}
    assert read_code(code).test_files == {"test_net.py"}


def test_an_array_is_on_the_host_although_the_framework_comes_from_another_file() -> None:
    code = (
        "from base import *\ndef f(n, x):\n    torch.randperm(n)\n    torch.randperm(n, device=x)\n    torch.tensor(1)"
    )
    all_sites = read_code({"base.py": "import torch", "main.py": code}).sites
    assert [site.is_on_host for site in all_sites] == [True, False, False]
    code = (
        "class Order:\n    def __init__(self, x):\n        self.draw = partial(torch.randperm, device=x)\n"
        "    def __call__(self, n):\n        return self.draw(n)\n"
    )
    assert [site.is_on_host for site in sites("from functools import partial\n" + code)] == [False, False]


def test_a_site_is_in_a_loop_of_its_own_function() -> None:
    code = (
        "def f(x: torch.Tensor):\n    x.sum()\n    for _ in range(3):\n        x.sum()\n"
        "        def g(x: torch.Tensor):\n            x.sum()\n    while x:\n        x.sum()\n"
    )
    loops = [site.is_in_loop for site in sites(code) if site.function == "torch.Tensor.sum"]
    assert loops == [False, True, False, True]


@pytest.mark.parametrize(
    ("code", "is_option"),
    [
        ("POOLS = {'max': nn.MaxPool1d, 'mean': nn.AvgPool1d}", True),
        ("POOLS = dict(max=nn.MaxPool1d, mean=nn.AvgPool1d)", True),
        ("POOLS = (nn.MaxPool1d, nn.MaxPool2d)", True),
        ("POOLS.register('max', lambda: nn.MaxPool1d(2))", True),
        ("POOLS.register_builder('max', nn.MaxPool1d)", True),
        ("pools.add_module('max', nn.MaxPool1d(2))", False),
        ("pools.register(lambda: nn.MaxPool1d(2))", False),
        ("pool = {'max': nn.MaxPool1d(2), 'mean': nn.AvgPool1d(2)}[name]", True),
        ("pool = {'max': nn.MaxPool1d(2), 'mean': nn.AvgPool1d(2)}.get(name)", True),
        ("pools = {'max': nn.MaxPool1d(2), 'mean': nn.AvgPool1d(2)}", False),
        ("pool = {'max': nn.MaxPool1d(2)}[name]", False),
        ("POOLS = [nn.MaxPool1d]", False),
        ("layers = [nn.MaxPool1d(2), nn.MaxPool2d(2)]", False),
        ("for pool in (nn.MaxPool1d, nn.MaxPool2d): pool(2)", False),
        ("[pool(2) for pool in [nn.MaxPool1d, nn.MaxPool2d]]", False),
    ],
)
def test_an_entry_of_a_table_is_an_option(code: str, is_option: bool) -> None:
    assert next(site.is_option for site in sites(code) if site.function == "torch.nn.MaxPool1d") is is_option


@pytest.mark.parametrize(
    "table",
    [
        "{'batch': nn.BatchNorm2d, 'layer': nn.LayerNorm}",
        "dict(batch=nn.BatchNorm2d, layer=nn.LayerNorm)",
        "dict({'batch': nn.BatchNorm2d}, layer=nn.LayerNorm)",
        "dict(layer=nn.LayerNorm, **{'batch': nn.BatchNorm2d})",
    ],
)
def test_a_class_from_a_table_may_be_any_of_its_entries(table: str) -> None:
    for lookup in ("NORMS[name]", "NORMS.get(name)", "NORMS.pop(name, None)"):
        make = f"def make(name):\n    norm = {lookup}\n    return norm(3)\n"
        for code in (f"NORMS = {table}\n{make}", f"{make}NORMS = {table}\n"):
            made_sites = [site for site in sites(code) if site.within == "make"]
            assert {site.function for site in made_sites} == {"torch.nn.BatchNorm2d", "torch.nn.LayerNorm"}, code
            assert all(site.is_option for site in made_sites)


@pytest.mark.parametrize(
    ("code", "has_gradient"),
    [
        ("x.sum()", True),
        ("with torch.no_grad():\n        x.sum()", False),
        ("with torch.inference_mode(), open(x):\n        x.sum()", False),
        ("with torch.no_grad():\n        with torch.device('cpu'):\n            x.sum()", False),
        ("with torch.no_grad():\n        pass\n    x.sum()", True),
        ("with torch.enable_grad():\n        x.sum()", True),
    ],
)
def test_code_without_gradients_is_known(code: str, has_gradient: bool) -> None:
    read = f"def f(x: torch.Tensor):\n    {code}\n"
    assert [site.has_gradient for site in sites(read) if site.function == "torch.Tensor.sum"] == [has_gradient]
    for decorator in ("torch.no_grad()", "torch.inference_mode()"):
        assert not any(site.has_gradient for site in sites(f"@{decorator}\n{read}") if site.within == "f")


CHAIN = (
    "def pool(x: torch.Tensor, kind{default}):\n    if kind == 'max':\n        return F.max_pool2d(x, 2)\n"
    "    elif kind == 'mean':\n        return F.avg_pool2d(x, 2)\n    return x.sum()\n"
)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (CHAIN.format(default=""), {"torch.nn.functional.max_pool2d", "torch.nn.functional.avg_pool2d"}),
        (CHAIN.format(default="='mean'"), {"torch.nn.functional.max_pool2d"}),
        (CHAIN.format(default="='mean'").replace("== 'max'", "in {'max', 'top'}"), {"torch.nn.functional.max_pool2d"}),
        (CHAIN.format(default="='max'").replace("== 'max'", "in ('top', 'max')"), {"torch.nn.functional.avg_pool2d"}),
        (CHAIN.format(default="").replace("== 'max'", "in (1, 2)"), set()),
        (CHAIN.format(default="").replace("elif", "if"), set()),
        (
            CHAIN.format(default="='max'").replace("    return x", "    else:\n        return x"),
            {"torch.nn.functional.avg_pool2d", "torch.Tensor.sum"},
        ),
        (
            CHAIN.format(default="='sum'").replace("    return x", "    else:\n        return x"),
            {"torch.nn.functional.max_pool2d", "torch.nn.functional.avg_pool2d"},
        ),
        ("def f(x, kind='no'):\n    if kind not in ('no', 'off'):\n        F.relu(x)", {"torch.nn.functional.relu"}),
        ("def f(x, kind='relu'):\n    if kind not in ('no', 'off'):\n        F.relu(x)", set()),
        (
            "def f(x, kind='no'):\n    if kind == 'no':\n        F.relu(x)\n    else:\n        F.elu(x)",
            {"torch.nn.functional.elu"},
        ),
        ("def f(x, kind='no'):\n    return F.relu(x) if kind == 'no' else F.elu(x)", {"torch.nn.functional.elu"}),
        ("def f(x, kind):\n    return F.relu(x) if kind == 'no' else F.elu(x)", set()),
        (CHAIN.format(default="").replace("elif kind", "elif other"), set()),
        (CHAIN.format(default="").replace("kind ==", "x.device.type =="), set()),
        (
            "norm = nn.BatchNorm2d\nif x:\n    norm = nn.LayerNorm\nnorm(3)",
            {"torch.nn.BatchNorm2d", "torch.nn.LayerNorm"},
        ),
        (
            "norm = nn.BatchNorm2d\nif x:\n    norm = nn.LayerNorm\nlayer = norm(3)\nlayer(x)\nnn.ReLU()(x)",
            {"torch.nn.BatchNorm2d", "torch.nn.LayerNorm"},
        ),
    ],
)
def test_a_branch_that_a_text_selects_and_one_of_several_functions_are_options(code: str, names: set[str]) -> None:
    assert {site.function for site in sites(code) if site.is_option and site.use is Use.called} == names


@pytest.mark.parametrize(
    ("code", "is_on_host"),
    [
        ("torch.unique(tokenizer(text, return_tensors='pt').input_ids)", True),
        ("torch.unique(tokenizer(text, return_tensors='pt')['input_ids'][:, :7])", True),
        ("batch = self.tokenizer(text, return_tensors='pt')\n    torch.unique(batch.input_ids)", True),
        ("batch = tokenizer(text, return_tensors='pt')\n    torch.unique(batch.input_ids.to(device))", False),
        ("batch = tokenizer(text, return_tensors='pt').to(device)\n    torch.unique(batch.input_ids)", False),
        ("batch = processor(image, return_tensors='pt', device=device)\n    torch.unique(batch.pixels)", False),
        ("torch.unique(tokenizer(text, return_tensors='np').input_ids)", False),
        ("self.batch = tokenizer(text, return_tensors='pt')\n    torch.unique(self.batch.input_ids)", False),
    ],
)
def test_a_tokenizer_makes_its_arrays_on_the_host(code: str, is_on_host: bool) -> None:
    all_sites = sites(f"def f(self, tokenizer, processor, text, image, device):\n    {code}")
    assert [site.is_on_host for site in all_sites if site.function == "torch.unique"] == [is_on_host]


def test_an_instance_of_another_packages_class_is_no_array() -> None:
    code = "import numpy as np\ndef f(x):\n    if isinstance(x, np.ndarray):\n        return x.unique()\n"
    assert names(code) == []
    assert names(code + "    return x.unique()") == ["torch.Tensor.unique"]


@pytest.mark.parametrize(
    ("line", "function_names"),
    [
        ("import numpy as np", []),
        ("from scipy import sparse", []),
        ("import math", ["torch.Tensor.nonzero"]),
        ("from .numpy import a", ["torch.Tensor.nonzero"]),
    ],
)
def test_a_method_that_numpy_has_too_does_not_tell_an_array_beside_numpy(line: str, function_names: list[str]) -> None:
    assert names(f"{line}\ndef f(rows):\n    return rows.all[0].nonzero()") == function_names
    assert names(f"{line}\ndef f(rows):\n    return rows.all[0].count_nonzero()") == [
        name.replace("nonzero", "count_nonzero") for name in function_names
    ]
    code = f"{line}\ndef f(rows):\n    return rows.all[0].nonzero(as_tuple=True)"
    assert names(code) == ["torch.Tensor.nonzero"]


@pytest.mark.parametrize(
    ("function", "is_at_setup"),
    [
        ("resize_positions(model, state_dict)", True),
        ("resize_positions(model, checkpoint)", True),
        ("resize_positions(model, checkpoint_path)", False),
        ("positions_loss(model, state_dict)", False),
    ],
)
def test_a_function_that_takes_weights_sets_a_module_up(function: str, is_at_setup: bool) -> None:
    assert sites(f"def {function}:\n    torch.zeros(2)")[-1].is_at_setup is is_at_setup


def test_a_member_that_a_text_names_is_used() -> None:
    code = (
        "import importlib\n"
        "getattr(torch, 'topk')(x, 2)\n"
        "importlib.import_module('torch.nn.functional').relu(x)\n"
        "__import__('torch').cumsum(x, 0)\n"
    )
    used_names = {name for name, certainty, _ in functions(code) if certainty == "resolved"}
    assert used_names == {"torch.topk", "torch.nn.functional.relu", "torch.cumsum"}


def test_names_that_are_made_at_run_time_are_counted_in_files_with_a_framework() -> None:
    dynamic = "getattr(torch, name)(x)\neval(text)\nexec(text)\n__import__(name)\n"
    otherwise = "model.eval()\ngetattr(x, name)\ngetattr(torch, 'sin')\n"
    code = {"main.py": IMPORTS + dynamic + otherwise, "other.py": "eval(text)\n"}
    assert read_code(code).dynamic_names == 4


LOADER = "from torch.utils.data import DataLoader\nclass Loader(DataLoader): ...\n"


@pytest.mark.parametrize(
    ("code", "is_on_host"),
    [
        ({"augmentation/noise.py": "def noise(x):\n    torch.relu(x)", "augmentation/base.py": LOADER}, True),
        ({"augment.py": LOADER + "def noise(x):\n    torch.relu(x)"}, True),
        ({"augmentation/noise.py": "def noise(x):\n    torch.relu(x)", "augmentation/base.py": ""}, False),
        ({"augmentation/noise.py": "def noise(x):\n    torch.relu(x)", "data.py": LOADER}, False),
        ({"layers/noise.py": "def noise(x):\n    torch.relu(x)", "layers/base.py": LOADER}, False),
    ],
)
def test_augmentations_beside_a_data_loader_run_on_the_host(code: dict[str, str], is_on_host: bool) -> None:
    source = read_code({path: IMPORTS + text for path, text in code.items()})
    assert [site.is_on_host for site in source.sites if site.function == "torch.relu"] == [is_on_host]


@pytest.mark.parametrize(
    ("code", "is_in_loop"),
    [("torch.relu(1)", False), ("for i in x:\n    torch.relu(i)", True), ("if x:\n    torch.relu(1)", False)],
)
def test_statements_outside_of_functions_may_be_in_a_loop(code: str, is_in_loop: bool) -> None:
    assert [site.is_in_loop for site in sites(code)] == [is_in_loop]


def test_a_property_has_the_value_of_its_getter() -> None:
    code = (
        "class Net:\n    @property\n    def scale(self):\n        return torch.ones(1)\n"
        "    @scale.setter\n    def scale(self, value):\n        return 1\n"
        "    def use(self):\n        self.scale.exp()"
    )
    assert "torch.Tensor.exp" in names(code)


@pytest.mark.parametrize(
    ("code", "functions"),
    [
        ("COUNTERS = {nn.ELU: count}", []),
        ("COUNTERS = {'elu': nn.ELU}", ["torch.nn.ELU"]),
        ("COUNTERS = {torch.ones(1).item(): count}", ["torch.ones", "torch.Tensor.item"]),
    ],
)
def test_a_class_that_is_a_key_of_a_table_is_not_used(code: str, functions: list[str]) -> None:
    assert sorted(names(code)) == sorted(functions)


BASE = "class Base:\n    def __call__(self, x):\n        return self.forward(x)\n"


@pytest.mark.parametrize(
    ("code", "is_on_host"),
    [
        ({"transforms/turn.py": BASE + "class Turn(Base):\n    def forward(self, x):\n        torch.relu(x)"}, True),
        ({"transforms/turn.py": "class Turn(nn.Module):\n    def forward(self, x):\n        torch.relu(x)"}, False),
        ({"transforms/turn.py": "class Turn:\n    def forward(self, x):\n        torch.relu(x)"}, False),
        ({"layers/turn.py": BASE + "class Turn(Base):\n    def forward(self, x):\n        torch.relu(x)"}, False),
    ],
)
def test_methods_of_callable_transforms_run_on_the_host(code: dict[str, str], is_on_host: bool) -> None:
    source = read_code({path: IMPORTS + text for path, text in code.items()})
    assert [site.is_on_host for site in source.sites if site.function == "torch.relu"] == [is_on_host]
