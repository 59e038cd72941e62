"""Portolan for programs: one question, and a client of a coordinator.

``portolan.can_i("torch.multinomial", on="torch/xla", dtype="float16").works`` asks the evidence that ships.
``with portolan.connect() as client: client.results(3).to_pandas()`` asks a coordinator.

Nothing else of Portolan is promised to be importable under one name from release to release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coordinator.assess.answers import can_i

if TYPE_CHECKING:
    from coordinator.campaigns.request import CampaignRequest
    from coordinator.cli.rest_client import Client
    from coordinator.cli.shared_options import connect

__all__ = ["CampaignRequest", "Client", "can_i", "connect"]

_MODULES = {
    "CampaignRequest": "coordinator.campaigns.request",
    "Client": "coordinator.cli.rest_client",
    "connect": "coordinator.cli.shared_options",
}


def __getattr__(name: str) -> Any:
    # A program that asks one question needs no HTTP, and the command line's modules have much of it.
    if name not in _MODULES:
        raise AttributeError(f"module 'portolan' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
