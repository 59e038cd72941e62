"""In realistic training scripts, every call of a function that the text names is found, on its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from coordinator.assess.knowledge import read_shipped
from coordinator.assess.names import Names
from coordinator.assess.sources import read_sources
from coordinator.catalogue.releases import nearest
from coordinator.catalogue.surfaces import open_surface
from coordinator.reference.reader import read as read_reference
from protocol.host_only import load_host_only
from runners import frameworks
from runners.suite.cases import collected

SCRIPTS = Path(__file__).parent / "scripts"
MODULES = {
    "gpt.py": {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "dist": "torch.distributed"},
    "resnet.py": {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "optim": "torch.optim"},
    "flax_classifier.py": {"jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax", "random": "jax.random"},
}
"""For each script, the modules of frameworks, by the names under which the script imports them."""
LEAST_SITES = {"gpt.py": 155, "resnet.py": 168, "flax_classifier.py": 115}
"""The number of sites with methods and operators, about as many as a person counts."""

VERSIONS = {"torch": "2.9.0", "jax": "0.10.2"}
"""The releases whose functions the suites test."""
LEAST_CHARTED = 0.95


def charted_names(framework: str) -> Names:
    """The functions for which a suite has cases: those of the study, and of suites that can be loaded without a
    framework."""
    suites = frameworks.load(framework).suites
    loaded = [function for name in ("library", "docs") for function in collected(import_module(suites[name]))]
    of_the_study = {function.function for function in read_reference().functions if function.framework == framework}
    release = nearest(framework, VERSIONS[framework])
    assert release is not None
    return Names(frozenset(of_the_study | {function.name for function in loaded}), open_surface(release))


@pytest.mark.parametrize(
    ("script", "framework"), {"gpt.py": "torch", "resnet.py": "torch", "flax_classifier.py": "jax"}.items()
)
def test_nearly_every_function_that_touches_a_device_has_a_case(script: str, framework: str) -> None:
    names, host_only = charted_names(framework), load_host_only()
    functions = {site.function for site in read_sources(SCRIPTS / script).sites}
    on_device = {name for name in functions if name not in host_only}
    uncharted = {name for name in on_device if names.charted_name(name) is None}
    assert len(on_device) >= 55
    assert len(uncharted) <= (1 - LEAST_CHARTED) * len(on_device), sorted(uncharted)


def named_calls(script: str) -> Iterator[tuple[int, str]]:
    """The lines and names of calls that begin with a module, found without a parser."""
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
