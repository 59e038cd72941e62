"""Training scripts as people write them: every call of a function that the text names is seen, on its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.assess.knowledge import read_shipped
from coordinator.assess.sources import read_sources

SCRIPTS = Path(__file__).parent / "scripts"
MODULES = {
    "gpt.py": {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "dist": "torch.distributed"},
    "resnet.py": {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim"},
    "flax_classifier.py": {"jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax", "random": "jax.random"},
}
"""By script, the modules of frameworks by the names under which it has them."""
LEAST_SITES = {"gpt.py": 155, "resnet.py": 168, "flax_classifier.py": 115}
"""With methods and operators, about as many as a person counts."""


def named_calls(script: str) -> Iterator[tuple[int, str]]:
    """The lines and names of the calls that begin with a module, read without any parser."""
    for number, line in enumerate((SCRIPTS / script).read_text().splitlines(), 1):
        for alias, name in re.findall(r"(?<![\w.])(\w+)\.([\w.]+)\(", line):
            if alias in MODULES[script]:
                yield number, f"{MODULES[script][alias]}.{name}"


@pytest.mark.parametrize("script", MODULES)
def test_every_call_that_names_its_module_is_seen(script: str) -> None:
    _, public = read_shipped()
    sites = read_sources(SCRIPTS / script).sites
    seen_calls = {(site.line, site.function) for site in sites}
    named = [(line, name) for line, name in named_calls(script) if public.canonical(name) is not None]
    missing = [(line, name) for line, name in named if (line, public.canonical(name)) not in seen_calls]
    assert len(named) >= 40
    assert missing == []
    assert len(sites) >= LEAST_SITES[script]
