"""Fixtures: the campaign of the queue's tests, whose outcomes are classified here."""

from __future__ import annotations

from tests.integration.coordinator.dispatch.conftest import place

__all__ = ["place"]
