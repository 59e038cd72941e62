"""The rule of enumeration: public names, exports, canonical names, deprecation, signatures."""

from __future__ import annotations

import pytest

from runners.surface.rule import canonical, is_deprecated, is_public, private_imports, told_signature


def test_a_name_is_public_if_no_part_of_it_is_hidden() -> None:
    assert is_public("torch.nn.Linear")
    assert not is_public("torch._C.add")
    assert not is_public("torch.nn._reduction")


def test_the_own_name_has_the_fewest_parts_then_the_fewest_letters() -> None:
    assert canonical({"torch.nn.modules.linear.Linear", "torch.nn.Linear"}) == "torch.nn.Linear"
    assert canonical({"tf.math.add", "tf.raw.add"}) == "tf.raw.add"
    assert canonical({"a.bc", "a.bb"}) == "a.bb"


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("from torch import Tensor", {"Tensor"}),
        ("from torch import Tensor as Tensor", set()),
        ("import os.path", {"os"}),
        ("import numpy as np", {"np"}),
        ("from elsewhere import *", set()),
        ("try:\n    from elsewhere import f\nexcept ImportError:\n    def f(): ...", set()),
        ("if True:\n    from elsewhere import f", {"f"}),
        ("def f():\n    from elsewhere import g", set()),
        ("from elsewhere import f\nf = f", set()),
        ("this is no Python", set()),
    ],
)
def test_an_import_is_an_export_where_it_says_so(source: str, private: set[str]) -> None:
    assert private_imports(source, "package.module", is_package=False) == private


def test_a_package_exports_what_it_imports_from_below_itself() -> None:
    source = "from .below import f\nfrom package.below import g\nfrom other import h\nfrom ..beside import i"
    assert private_imports(source, "package", is_package=True) == {"h", "i"}
    assert private_imports(source, "package", is_package=False) == {"f", "g", "h", "i"}


@pytest.mark.parametrize(
    "doc",
    [
        "Adds.\n\n.. deprecated:: 2.1",
        "Adds. (deprecated)\n\nMore.",
        "This function is deprecated, use add.",
        "Adds.\n\n.. warning::\n    torch.old is deprecated in favor of torch.new.",
        "``old`` has been deprecated.",
    ],
)
def test_an_object_is_deprecated_by_its_documentation(doc: str) -> None:
    assert is_deprecated(doc, "torch.old")


@pytest.mark.parametrize("doc", [None, "", "The argument size is deprecated.", "Unlike `other`, which is deprecated."])
def test_a_deprecated_argument_or_another_function_deprecates_nothing(doc: str | None) -> None:
    assert not is_deprecated(doc, "torch.old")


def test_a_signature_comes_from_python_or_else_from_the_documentation() -> None:
    assert told_signature("(x, y=<object object at 0x7f1>)", None, "a.f") == "(x, y=<object object>)"
    assert told_signature(None, "f(x, *, out=None) -> Tensor\n\nAdds.", "torch.f") == "(x, *, out=None) -> Tensor"
    assert told_signature(None, "Adds f(x).", "torch.f") is None
