"""The contract between coordinator and runners: message models and enumerations.

Both sides import this package, and it imports neither of them. Authors of runners in other languages need only these
models. Every runner serves their JSON Schema at ``/openapi.json``.
"""

PROTOCOL_VERSION = 1

__all__ = ["PROTOCOL_VERSION"]
