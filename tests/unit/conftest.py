"""The settings of all unit tests: an example that is slow on a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("portolan", deadline=None)
settings.load_profile("portolan")
