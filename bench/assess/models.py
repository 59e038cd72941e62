"""The models of the bench, which are listed in ``models.toml``."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("models.toml")


@dataclass(frozen=True)
class ModelPackage:
    """A package of models, the target on which the models run, and the requirements that are installed with the
    package."""

    name: str
    framework: str
    target: str
    requirements: Sequence[str]


@dataclass(frozen=True)
class Model:
    """A model. One of the programs creates it from its name."""

    name: str
    package: ModelPackage


def read_models() -> list[Model]:
    document = tomllib.loads(LIST.read_text())
    packages: Mapping[str, ModelPackage] = {
        name: ModelPackage(name, package["framework"], package["target"], package["requirements"])
        for name, package in document["packages"].items()
    }
    return [Model(name, packages[entry["package"]]) for name, entry in document["models"].items()]


def draw(models: Sequence[Model], number: int, seed: int) -> list[Model]:
    """Choose models at random, and return them in the order of the list."""
    places = random.Random(seed).sample(range(len(models)), min(number, len(models)))
    return [models[place] for place in sorted(places)]
