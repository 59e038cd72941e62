"""The tables of a matrix: one per framework, with the targets that have a cell in it."""

from __future__ import annotations

from coordinator.figures.counting import ANYWHERE
from coordinator.results.models import Freshness, MatrixPage, MatrixRow, Module
from coordinator.web.matrix_page import tables
from tests.unit.coordinator.cells import cell, counts, target


def row(framework: str, module: str, function: str, *targets: int) -> MatrixRow:
    cells = {number: cell(counts("success", 2, 2), target_id=number) for number in targets}
    return MatrixRow(framework=framework, module=module, function=function, host_only=False, cells=cells)


def test_a_framework_has_a_table_without_the_targets_of_others_and_without_empty_columns() -> None:
    rows = [
        row("jax", "jax.numpy", "jax.numpy.add", 1),
        row("torch", "torch", "torch.add", 2),
        row("torch", "torch", "torch.cat", 2, 3),
        row("torch", "torch.nn", "torch.nn.Linear", 3),
    ]
    modules = [("jax", "jax.numpy", 1, 0), ("torch", "torch", 2, 1), ("torch", "torch.nn", 1, 3)]
    part = MatrixPage(
        campaign_id=1,
        name="both",
        suite="paper",
        state="done",
        rule=ANYWHERE.name,
        query="",
        freshness=Freshness(outcomes=5, of=5, at=None, current=True),
        targets=[
            target(1, "cpu", "jax"),
            target(2, "cpu", "torch"),
            target(3, "xla", "torch"),
            target(4, "cuda", "torch"),
        ],
        modules=[Module(framework=one, name=name, functions=n, first=first) for one, name, n, first in modules],
        found=4,
        functions=4,
        offset=0,
        rows=rows,
    )
    jax, torch = tables(part, ANYWHERE)
    assert (jax.framework, [one.device for one in jax.targets]) == ("jax", ["cpu"])
    assert (torch.framework, [one.device for one in torch.targets]) == ("torch", ["cpu", "xla"])
    assert [module.name for module, _ in torch.modules] == ["torch", "torch.nn"]
    ((add, cells), _) = torch.modules[0][1]
    assert add.function == "torch.add"
    assert [shown_cell is not None for _, shown_cell, *_ in cells] == [True, False]
