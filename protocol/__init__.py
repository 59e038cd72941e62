"""The contract between coordinator and runners: message models and enumerations, nothing else.

Both sides import this package, and it imports neither of them. An author of a runner in another language needs only
these models. Every runner serves their JSON Schema at ``/openapi.json``.
"""

PROTOCOL_VERSION = 1

__all__ = ["PROTOCOL_VERSION"]
