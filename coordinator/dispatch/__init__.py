"""The hot path: claims, posts, events, finishes. Decisions are in ``machine.py``, without I/O."""
