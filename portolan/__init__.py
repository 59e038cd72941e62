"""Portolan for programs: ``portolan.can_i("torch.multinomial", on="torch/xla", dtype="float16").works``.

Nothing else of Portolan is promised to be importable under one name from release to release.
"""

from coordinator.assess.answers import can_i

__all__ = ["can_i"]
