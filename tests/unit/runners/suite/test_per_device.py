"""What a function's documentation says of a refusal on the CPU and on other devices, and which cases that is about."""

from __future__ import annotations

import textwrap

import pytest

from freezing.common.per_device import Refusal, docstring_of, statement, tags
from freezing.common.prune import mark_per_device
from protocol.enums import DOCUMENTED_PER_DEVICE, REFUSES

DOCUMENTATION = {
    "torch.fmod": """The entrywise modulus.

    .. note::

        When the divisor is zero, raises ``RuntimeError`` on CPU;
        Integer division by zero on GPU may return any value.""",
    "torch.Tensor.fmod": "fmod(divisor) -> Tensor\n\nSee :func:`torch.fmod`",
    "torch.Tensor.fmod_": "fmod_(divisor) -> Tensor\n\nIn-place version of :meth:`~Tensor.fmod`",
    "torch.remainder": "Python's modulus.\n"
    + "Complex inputs are not supported.\n" * 9
    + "\nSee :func:`torch.fmod` too.",
    "tf.gather_nd": """Gather slices.

    Note that on CPU, if an out of bound index is found, an error is returned.
    On GPU, if an out of bound index is found, a 0 is stored in the
    corresponding output values.""",
    "tf.math.segment_sum": """Caution: On CPU, values in `segment_ids` are always sorted, and an error is
    thrown for indices that are not increasing. On GPU, this does not throw an error.""",
    "torch.gather": "Gathers values along an axis. An index out of range raises an error.",
    "torch.linalg.inv": """Raises an error if the matrix is not invertible.

    When inputs are on a CUDA device, this function synchronizes that device with the CPU.""",
    "tf.raw_ops.MatrixInverse": """If a matrix is not invertible there is no guarantee what the op does. It
    may raise an exception or it may simply return a garbage result.""",
    "torch.load": """An error is raised on the CPU if the file has zero bytes.

    A second paragraph.

    CUDA needs a driver.""",
}


def documentation(name: str) -> str:
    return DOCUMENTATION.get(name, "")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("torch.fmod", "int32-2-zero"),
        ("torch.Tensor.fmod", "int32-2-zero"),
        ("torch.Tensor.fmod_", "float32-2-int32-zero"),
        ("tf.gather_nd", "float32-0-index-far"),
        ("tf.gather_nd", "float32-0-first-index-far"),
        ("tf.math.segment_sum", "float32-0-index-negative"),
    ],
)
def test_a_refusal_that_documentation_asks_of_the_cpu_alone_is_left_to_each_device(function: str, name: str) -> None:
    assert tags(function, name, documentation) == [DOCUMENTED_PER_DEVICE]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("torch.fmod", "float32-0-other-dtype"),  # the sentence is about zero
        ("torch.fmod", "float32-0-index-far"),
        ("torch.remainder", "int32-2-zero"),  # it refers to a relative
        ("torch.gather", "float32-0-index-far"),  # it names no device
        ("torch.linalg.inv", "float32-0-zeros"),  # the devices differ in something else
        ("torch.load", "float32-0-zero"),  # two paragraphs apart
        ("torch.nothing", "float32-0-zero"),
    ],
)
def test_a_refusal_of_which_documentation_says_something_else_is_not(function: str, name: str) -> None:
    assert statement(function, name, documentation) is None


@pytest.mark.parametrize(
    ("operation", "message", "is_left_open"),
    [
        ("tf.raw_ops.MatrixInverse", "Input is not invertible.", True),
        ("tf.raw_ops.MatrixInverse", "Dimensions must be equal, but are 2 and 3.", False),
        ("tf.gather_nd", "indices[1] = [9] does not index into param shape [4]", True),
        ("tf.raw_ops.Range", "Requires start <= limit", False),
    ],
)
def test_a_refusal_is_left_open_if_the_operation_that_refused_says_so_of_its_error(
    operation: str, message: str, is_left_open: bool
) -> None:
    new_tags = tags("tf.keras.ops.any", "float32-0-option-far", documentation, Refusal(operation, message))
    assert new_tags == [DOCUMENTED_PER_DEVICE] * is_left_open


def test_documentation_is_read_through_the_frameworks_own_lookup() -> None:
    def lookup(name: str) -> object:
        if name != "textwrap.dedent":
            raise LookupError(name)
        return textwrap.dedent

    assert "leading whitespace" in docstring_of(lookup)("textwrap.dedent")
    assert docstring_of(lookup)("textwrap.other") == ""


def test_only_refused_cases_are_marked_and_marked_once() -> None:
    cases = [
        {"function": "torch.fmod", "name": "int32-2-zero", "refuses": "RuntimeError", "tags": [REFUSES]},
        {"function": "torch.fmod", "name": "int32-3-zero", "tags": []},
    ]
    assert mark_per_device(cases, documentation) == 1
    assert mark_per_device(cases, documentation) == 1
    assert [case["tags"] for case in cases] == [[REFUSES, DOCUMENTED_PER_DEVICE], []]


def test_a_case_is_marked_for_the_operation_that_refuses_too() -> None:
    case = {"function": "tf.keras.ops.inv", "name": "float32-0-zeros", "refuses": "Error", "tags": [REFUSES]}
    refusal = Refusal("tf.raw_ops.MatrixInverse", "Input is not invertible.")
    assert mark_per_device([case], documentation, lambda case: refusal) == 1
