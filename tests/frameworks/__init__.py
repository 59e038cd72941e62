"""Tests of the frameworks' suites and devices, run in each framework's environment. ``common`` has the shared parts."""
