"""Functions that double an array: some silently work on the host (``FALLBACKS``), others stay on the device.

Each takes an array on a device and returns twice that array on this device, so neither its values nor the devices of
its arrays show a fallback. ``FACTORIES`` make a function that counts its calls, a new one for each case.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from runners.suite.cases import Function

Plant = Callable[[Any], Any]


def by_copy(values: Any) -> Any:
    return (values.cpu() * 2).to(values.device)


def by_numpy(values: Any) -> Any:
    return torch.from_numpy(np.multiply(values.detach().cpu().numpy(), np.float32(2))).to(values.device)


def by_forced_numpy(values: Any) -> Any:
    return torch.as_tensor(values.numpy(force=True) * np.float32(2), device=values.device)


def by_list(values: Any) -> Any:
    return torch.tensor([2 * number for number in values.tolist()], device=values.device)


def by_list_and_numpy(values: Any) -> Any:
    return torch.as_tensor(np.array(values.tolist(), dtype=np.float32) * 2, device=values.device)


def by_item(values: Any) -> Any:
    return torch.tensor([2 * values[place].item() for place in range(len(values))], device=values.device)


def by_iteration(values: Any) -> Any:
    return torch.tensor([2 * float(number) for number in values], device=values.device)


def by_item_and_stack(values: Any) -> Any:
    numbers = [torch.tensor(2 * values[place].item(), device=values.device) for place in range(len(values))]
    return torch.stack(numbers)


def by_item_of_products(values: Any) -> Any:
    numbers = [(values[place] * 3).item() / 3 * 2 for place in range(len(values))]
    return torch.tensor(numbers, device=values.device)


def by_item_of_sums(values: Any) -> Any:
    """No element is picked: the device sums each row, and the host doubles the sums."""
    rows = values.reshape(-1, 1)
    return torch.tensor([2 * rows.narrow(0, place, 1).sum().item() for place in range(len(rows))], device=values.device)


def by_item_and_fill(values: Any) -> Any:
    result = torch.zeros_like(values)
    for place in range(len(values)):
        result[place] = 2 * values[place].item()
    return result


def by_cast(values: Any) -> Any:
    return values.to("cpu", torch.float64).mul(2).to(values.device, values.dtype)


def by_type(values: Any) -> Any:
    return values.type(torch.FloatTensor).mul(2).to(values.device)


def by_copying_into_the_host(values: Any) -> Any:
    host = torch.empty(values.shape)
    host.copy_(values)
    return torch.from_numpy(host.numpy() * 2).to(values.device)


def by_scope(values: Any) -> Any:
    with torch.device("cpu"):
        numbers = torch.tensor(values.tolist()) * 2
    return numbers.to(values.device)


def by_factors_of_the_host(values: Any) -> Any:
    with torch.device("cpu"):
        factors = torch.full(values.shape, 2.0)
    return torch.as_tensor(factors.numpy() * values.cpu().numpy(), device=values.device)


def by_dlpack(values: Any) -> Any:
    """On torch_xla the host shares the memory, so no transfer is counted."""
    if values.device.type != "xla":
        return by_numpy(values)
    dlpack = importlib.import_module("torch_xla.utils.dlpack")
    host_view = torch.utils.dlpack.from_dlpack(dlpack.to_dlpack(values)).numpy()
    return values * 0 + torch.from_numpy(host_view * np.float32(2)).to(values.device)


def by_half(values: Any) -> Any:
    middle = len(values) // 2
    return torch.cat([values[:middle] * 2, by_numpy(values[middle:])])


def by_file(values: Any) -> Any:
    file = io.BytesIO()
    np.save(file, values.cpu().numpy())
    return torch.from_numpy(np.load(io.BytesIO(file.getvalue())) * np.float32(2)).to(values.device)


def in_a_thread(plant: Plant) -> Plant:
    def run_plant(values: Any) -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(plant(values)))
        thread.start()
        thread.join()
        return results[0]

    return run_plant


def in_a_pool(plant: Plant) -> Plant:
    def run_plant(values: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            return torch.cat(list(pool.map(plant, values.chunk(2))))

    return run_plant


def in_an_event_loop(values: Any) -> Any:
    return asyncio.run(asyncio.to_thread(by_numpy, values))


def mapped(values: Any) -> Any:
    return torch.func.vmap(by_copy)(values.reshape(2, -1)).reshape(-1)


def pulled_back(values: Any) -> Any:
    return torch.func.vjp(by_copy, values)[0]


class _Layer(torch.nn.Module):  # type: ignore[misc]
    def forward(self, values: Any) -> Any:
        return by_list(values)


def in_a_layer(values: Any) -> Any:
    return torch.func.functional_call(_Layer(), {}, (values,))


def without_gradients(values: Any) -> Any:
    with torch.no_grad():
        return by_numpy(values)


class _Doubling(torch.autograd.Function):  # type: ignore[misc]
    """The gradient of x squared, twice x, computed on the host."""

    @staticmethod
    def forward(context: Any, values: Any) -> Any:
        context.save_for_backward(values)
        return values * values

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return by_numpy(context.saved_tensors[0]) * gradient


def in_a_backward_pass(values: Any) -> Any:
    leaf = values.detach().requires_grad_()
    return torch.autograd.grad(_Doubling.apply(leaf).sum(), leaf)[0]


class _Overridden(TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
        if function is torch.mul:
            return by_numpy(arguments[0])
        return function(*arguments, **(options or {}))


def overridden(values: Any) -> Any:
    with _Overridden():
        return torch.mul(values, 2)


FALLBACKS: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        by_copy, by_numpy, by_forced_numpy, by_list, by_list_and_numpy, by_item, by_iteration, by_item_and_stack,
        by_item_of_products, by_item_of_sums, by_item_and_fill, by_cast, by_type, by_copying_into_the_host, by_scope,
        by_dlpack,
        by_factors_of_the_host, by_half, by_file, in_an_event_loop, mapped, pulled_back, in_a_layer, without_gradients,
        in_a_backward_pass, overridden,
    )
} | {
    f"{planted.__name__}_{plant.__name__}": planted(plant)
    for planted in (in_a_thread, in_a_pool)
    for plant in (by_copy, by_numpy, by_list, by_item)
}  # fmt: skip


def on_the_first_call(plant: Plant) -> Plant:
    calls = iter([True])
    return lambda values: plant(values) if next(calls, False) else values * 2


def from_the_third_call_on(plant: Plant) -> Plant:
    calls = iter([True, True])
    return lambda values: values * 2 if next(calls, False) else plant(values)


def in_a_lasting_pool(plant: Plant) -> Plant:
    """The thread of the first call also does the work of all later calls."""
    pool = ThreadPoolExecutor(1)
    return lambda values: pool.submit(plant, values).result()


FACTORIES: dict[str, Callable[[], Plant]] = {
    f"{factory.__name__}_{plant.__name__}": lambda factory=factory, plant=plant: factory(plant)  # type: ignore[misc]
    for factory in (on_the_first_call, from_the_third_call_on, in_a_lasting_pool)
    for plant in (by_copy, by_numpy, by_list, by_item)
}


def plainly(values: Any) -> Any:
    return values * 2


def decided_by_a_number(values: Any) -> Any:
    return values * 2 if (values * values).sum().item() > 0 else values + values


def decided_again_and_again(values: Any) -> Any:
    """Newton's method for the square root of four, like in a minimizer: read, decide, continue."""
    root = (values * values).sum() + 1
    while abs(root.item() ** 2 - 4) > 1e-5:
        root = (root + 4 / root) / 2
    return values * root


def scaled_by_a_number(values: Any) -> Any:
    total = (values * 0).sum().item()
    return values * (2 + total)


def decided_by_its_first_numbers(values: Any) -> Any:
    first, second = values[0].item(), values[1].item()
    return values * 2 if first <= second else values + values


def with_constants(values: Any) -> Any:
    return values * torch.tensor([2.0] * len(values), device=values.device)


def in_honest_threads(values: Any) -> Any:
    return in_a_pool(plainly)(values)


def mapped_on_the_device(values: Any) -> Any:
    return torch.func.vmap(plainly)(values.reshape(2, -1)).reshape(-1)


def in_a_scope_of_the_device(values: Any) -> Any:
    with torch.device(values.device):
        return values * torch.full((len(values),), 2.0)


def by_a_gradient(values: Any) -> Any:
    leaf = values.detach().requires_grad_()
    return torch.autograd.grad((leaf * leaf).sum(), leaf)[0]


def checked_for_infinities(values: Any) -> Any:
    if bool((values * 0 != 0).sum() > 0) or not float((values * values).sum()) < 1e30:
        raise ValueError("these values cannot be doubled")
    return values * 2


HONEST: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        plainly, decided_by_a_number, decided_again_and_again, scaled_by_a_number, decided_by_its_first_numbers,
        with_constants, in_honest_threads, mapped_on_the_device, in_a_scope_of_the_device, by_a_gradient,
        checked_for_infinities,
    )
}  # fmt: skip


def doubling(plant: Plant) -> Function:
    """The plant as the function of a single case."""
    function = Function("doubled", reference=lambda values: 2 * values, given=plant)
    function.value("numbers", lambda inputs: (inputs.normal(6),))
    return function
