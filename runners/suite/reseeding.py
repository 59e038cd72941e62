"""Changes the seeds of an example, to find out which of its values depend on a framework's random numbers. Pure."""

from __future__ import annotations

import ast


class Reseeded(ast.NodeTransformer):
    """Adds an offset to every seed of a framework's generator in a statement.

    Seeds of NumPy and Python stay: their random numbers come from the host and are the same for every device.
    """

    SEEDERS = frozenset({"manual_seed", "manual_seed_all", "set_seed", "set_random_seed", "from_seed", "seed_all"})
    KEYWORDS = frozenset({"seed", "random_seed", "seeds"})
    HOSTS = frozenset({"np", "numpy", "random"})
    STEP = 1_000

    def __init__(self, times: int) -> None:
        self._offset = times * self.STEP

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        callee = node.func
        own = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        if _first_name(callee) in self.HOSTS:
            return node
        if own in self.SEEDERS:
            node.args = [self._move_seed(argument) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg in self.KEYWORDS:
                keyword.value = self._move_seed(keyword.value)
        return node

    def _move_seed(self, argument: ast.expr) -> ast.expr:
        for constant in ast.walk(argument):
            if isinstance(constant, ast.Constant) and type(constant.value) is int:
                constant.value += self._offset
        return argument


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
