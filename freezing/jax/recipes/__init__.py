"""The recipes, one module for each family of functions. ``by_function`` returns all of them."""

from __future__ import annotations

from collections.abc import Mapping

from freezing.jax.recipes import chances, control, creation, elementwise, linalg, reductions, shaping, signals
from freezing.jax.recipes.recipe import Recipe

FAMILIES = (elementwise, reductions, shaping, creation, linalg, signals, chances, control)


def by_function() -> Mapping[str, Recipe]:
    """Return the recipe of each function, by its name. Raise ``ValueError`` if a function has two recipes."""
    by_name: dict[str, Recipe] = {}
    for family in FAMILIES:
        for recipe in family.RECIPES:
            for function in recipe.functions():
                if function in by_name:
                    raise ValueError(f"{function} has two recipes: remove one of them")
                by_name[function] = recipe
    return by_name
