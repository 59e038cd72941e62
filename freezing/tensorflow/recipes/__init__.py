"""The recipes. Each module has the ``RECIPES`` of one family of functions."""

from __future__ import annotations

from freezing.tensorflow.recipe import Recipe
from freezing.tensorflow.recipes import (
    convolutions,
    creation,
    elementwise,
    gradients,
    images,
    indexing,
    linear_algebra,
    losses,
    networks,
    quantization,
    shapes,
    signals,
)

RECIPES: tuple[Recipe, ...] = (
    *elementwise.RECIPES,
    *shapes.RECIPES,
    *indexing.RECIPES,
    *linear_algebra.RECIPES,
    *convolutions.RECIPES,
    *networks.RECIPES,
    *losses.RECIPES,
    *signals.RECIPES,
    *images.RECIPES,
    *gradients.RECIPES,
    *quantization.RECIPES,
    *creation.RECIPES,
)
