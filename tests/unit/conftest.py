"""Settings of all unit tests: a Hypothesis example that is slow on a busy machine does not fail a test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("portolan", deadline=None)
settings.load_profile("portolan")
