"""The contract between coordinator and runners: models and words, nothing else.

Both sides import this package; it imports neither of them. Whoever writes a runner in
another language needs only what these models say (their JSON Schema is served by every
runner at ``/openapi.json``).
"""

PROTOCOL_VERSION = 1

__all__ = ["PROTOCOL_VERSION"]
