"""Portolan's Python interface: a question about one function, and a client of a coordinator.

``portolan.can_i("torch.multinomial", on="torch/xla", dtype="float16").works`` reads Portolan's own evidence.
``with portolan.connect() as client: client.results(3).to_pandas()`` reads results from a coordinator.

Only the names in ``__all__`` stay importable in later releases. All other modules and names may change.
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
