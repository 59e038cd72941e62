"""Docstrings: their statements are found however they are written, and compared with what they print."""

from __future__ import annotations

import pytest

from freezing.common.docstrings import agrees, read


def sources(text: str) -> list[str]:
    return [statement.source for statement in read(text).statements]


def test_statements_come_with_what_they_print() -> None:
    examples = read("""Adds.

    Example::

        >>> a = add(1, 2)
        >>> a
        3

    .. code-block:: python

        >>> add(
        ...     2,
        ...     3)
        5
    """)
    assert [statement.source for statement in examples.statements] == ["a = add(1, 2)", "a", "add(\n    2,\n    3)"]
    assert [statement.place for statement in examples.statements] == [1, 2, 3]
    assert examples.printed == ("", "3\n", "5\n")


@pytest.mark.parametrize(
    "text",
    [
        ">>> def double(x):\n...     return 2 * x\n",
        ">>> def double(x):\n>>>     return 2 * x\n",
        ">>> def double(x):\n>>>     # twice\n>>>     return 2 * x\n",
    ],
)
def test_a_function_is_one_statement_however_it_is_prompted(text: str) -> None:
    assert sources(text) == ["def double(x):\n    return 2 * x"]


def test_a_decorator_and_an_else_belong_to_their_statement() -> None:
    text = ">>> @once\n>>> def f(): return 1\n>>> if f():\n>>>     a = 1\n>>> else:\n>>>     a = 2\n>>> a\n"
    assert sources(text) == ["@once\ndef f(): return 1", "if f():\n    a = 1\nelse:\n    a = 2", "a"]


def test_a_statement_behind_a_wide_prompt_stands_by_itself() -> None:
    assert sources(">>> a = 1\n>>>  b = 2\n>>> a + b\n3\n") == ["a = 1", "b = 2", "a + b"]


def test_statements_of_one_line_are_taken_apart() -> None:
    assert sources(">>> a = 1; b = 2\n>>> a + b\n3\n") == ["a = 1", "b = 2", "a + b"]


def test_directives_of_other_tools_are_no_part_of_a_statement() -> None:
    text = ">>> # xdoctest: +SKIP\n>>> add(1, 2)  # doctest: +ELLIPSIS\n3\n"
    assert sources(text) == ["add(1, 2)"]


def test_lines_without_prompts_that_finish_a_statement_belong_to_it() -> None:
    assert sources(">>> a = add(1,\n            2)\n>>> a\n3\n") == ["a = add(1,\n            2)", "a"]


def test_what_is_not_python_is_listed_and_the_rest_is_read() -> None:
    examples = read(">>> python train.py --fast\n>>> add(1, 2)\n3\n")
    assert [statement.source for statement in examples.statements] == ["add(1, 2)"]
    assert [place for place, _ in examples.unread] == [1]


def test_a_block_that_doctest_refuses_costs_itself_alone() -> None:
    examples = read("Text.\n\n    >>>add(1, 2)\n\n    >>> add(2, 3)\n    5\n")
    assert [statement.source for statement in examples.statements] == ["add(2, 3)"]
    assert len(examples.unread) == 1


def test_a_docstring_without_prompts_has_no_example() -> None:
    examples = read("Adds two numbers, such as 1 and 2.")
    assert not examples.statements
    assert not examples.unread


@pytest.mark.parametrize(
    ("printed_text", "documented_text", "agreement"),
    [
        ("tensor([1.0000, 2.3333])", "tensor([1.0000, 2.3333])", True),
        ("tensor([ 1.,  2.])", "tensor([1., 2.])", True),
        ("0.333", "0.3333333432674408", True),
        ("tensor([1.0000, 2.3333])", "tensor([1.0000, 2.4333])", False),
        ("tensor([1, 2])", "tensor([1, 2, 3])", False),
        ("True", "False", False),
        ("nan", "nan", True),
        ("nan", "1.0", False),
        ("inf", "inf", True),
        ("tensor([[1, 2],", "tensor([[1, 2],\n\n[3, 4]])", True),
        ("tensor([1, ..., 9])", "tensor([1, 2])", None),
        ("<object>", "<object>", None),
        ("", "3", None),
        ("array([1, 2])", "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2])>", True),
        ("<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2])>", "array([1, 3])", False),
        ("True", "np.True_", True),
        ("True", "np.False_", False),
    ],
)
def test_what_is_printed_agrees_by_its_numbers(printed_text: str, documented_text: str, agreement: bool | None) -> None:
    assert agrees(printed_text, documented_text) is agreement
