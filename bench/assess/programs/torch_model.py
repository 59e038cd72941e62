"""Runs a forward pass and a training step of a model: ``python torch_model.py NAME FOLDER [float64]``.

The program is written for any device: the model is created on the default device, and the inputs are moved to the
device of the model's parameters. Weights and inputs come from NumPy, so that they are equal on every device. Each run
writes its values into a folder of its own within ``FOLDER``, named by its number.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import torch

MODELS = Path(__file__).parent.parent / "models.toml"
CLASSES = 10
NONE = "@none"
"""The word in ``models.toml`` that stands for None, because TOML has no such value."""


def main(name: str, folder: str, dtype_name: str = "float32") -> None:
    document = tomllib.loads(MODELS.read_text())
    entry = document["models"][name]
    package = document["packages"][entry["package"]]
    out = Path(folder) / str(len(list(Path(folder).iterdir())))
    out.mkdir()
    torch.manual_seed(0)
    with entered_code() as code_of_set_up:
        model = build(entry["builder"], {**package["options"], **entry.get("options", {})})
    load_weights(model)
    dtype = getattr(torch, dtype_name)
    model.to(dtype)
    device = next(model.parameters()).device
    inputs = {key: torch.from_numpy(value).to(device) for key, value in arrays(entry.get("inputs", package["inputs"]))}
    inputs = {key: value.to(dtype) if value.is_floating_point() else value for key, value in inputs.items()}
    model.eval()
    with torch.no_grad(), entered_code() as code_of_forward_pass:
        scores = scores_of(model(**inputs))
    np.save(out / "forward.npy", scores.detach().cpu().numpy())
    with entered_code() as code_of_training:
        train(model, inputs)
    files = {code.co_filename for code in code_of_forward_pass}
    all_code = code_of_set_up | code_of_forward_pass | code_of_training
    (out / "files.json").write_text(json.dumps(unused_names(model, files, all_code)))
    np.save(out / "gradient.npy", flat_gradient(model))
    np.save(out / "statistics.npy", flat_statistics(model))


def train(model: torch.nn.Module, inputs: Mapping[str, Any]) -> None:
    """Make one training step. Dropout is on, with a probability of zero, so that values can be compared."""
    for module in model.modules():
        drop_nothing(module)
        drop_nothing(getattr(module, "config", None))
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scores = scores_of(model(**inputs))
    scores = scores.reshape(-1, scores.shape[-1])
    labels = torch.arange(scores.shape[0], device=scores.device) % min(CLASSES, scores.shape[-1])
    loss = torch.nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")


def drop_nothing(owner: Any) -> None:
    """Set every dropout probability of a module or a configuration to zero."""
    for name, value in list(getattr(owner, "__dict__", {}).items()):
        if isinstance(value, float) and (name == "p" or "drop" in name):
            setattr(owner, name, 0.0)


def build(builder: str, options: Mapping[str, Any]) -> torch.nn.Module:
    module, *names = builder.split(":")
    makers = [getattr(import_module(module), name) for name in names]
    options = {key: None if value == NONE else value for key, value in options.items()}
    model: torch.nn.Module = makers[1](makers[0](**options)) if len(makers) > 1 else makers[0](**options)
    return model


def load_weights(model: torch.nn.Module) -> None:
    """Set random weights in the usual ranges, seeded by their names. Counters and running means are not changed."""
    state = model.state_dict()
    for name, parameter in model.named_parameters():
        noise = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(tuple(parameter.shape))
        if parameter.ndim < 2:
            values = 0.1 * noise + name.endswith("weight")
        else:
            values = noise / np.sqrt(np.prod(parameter.shape[1:]))
        state[name] = torch.from_numpy(values.astype(np.float32))
    model.load_state_dict(state)


def arrays(shapes: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for name, shape in shapes.items():
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        if name.endswith("ids"):
            yield name, generator.integers(1, CLASSES, tuple(shape))
        else:
            yield name, generator.standard_normal(tuple(shape)).astype(np.float32)


def scores_of(output: Any) -> torch.Tensor:
    """The array that represents a model's output: the output itself, the first value of a mapping, or the last item of
    a sequence."""
    while not isinstance(output, torch.Tensor):
        output = next(iter(output.values())) if isinstance(output, Mapping) else output[-1]
    return output


def flat_gradient(model: torch.nn.Module) -> np.ndarray[Any, Any]:
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return np.concatenate([gradient.cpu().numpy().ravel() for gradient in gradients])


def flat_statistics(model: torch.nn.Module) -> np.ndarray[Any, Any]:
    """The running means and variances, and every other floating-point buffer, as one array."""
    buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    return np.concatenate([np.zeros(0), *(buffer.detach().cpu().double().numpy().ravel() for buffer in buffers)])


@contextlib.contextmanager
def entered_code() -> Iterator[set[CodeType]]:
    """Collects the code of the functions that are called within the context."""
    code: set[CodeType] = set()
    sys.setprofile(lambda frame, event, _: code.add(frame.f_code) if event == "call" else None)
    try:
        yield code
    finally:
        sys.setprofile(None)


def unused_names(model: torch.nn.Module, files: Set[str], all_code: Set[CodeType]) -> Mapping[str, list[str]]:
    """For each of these files, except torch's: its module classes that the model does not have, and its functions that
    were not called."""
    model_classes = {class_ for module in model.modules() for class_ in type(module).__mro__}
    modules = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}

    def is_unused(member: object) -> bool:
        if inspect.isclass(member):
            return issubclass(member, torch.nn.Module) and member not in model_classes
        return inspect.isfunction(member) and inspect.unwrap(member).__code__ not in all_code

    return {
        file: [
            name
            for name, member in vars(modules[file]).items()
            if getattr(member, "__module__", None) == modules[file].__name__ and is_unused(member)
        ]
        for file in sorted(files)
        if file in modules and modules[file].__name__.partition(".")[0] != "torch"
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
