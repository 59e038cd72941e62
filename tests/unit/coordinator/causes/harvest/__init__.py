"""Collects thousands of real failures by calling public functions as a program that is ported to a device would.

Run in a framework's own environment, from the repository's root. It prints one JSON object per line:

    PYTHONPATH=. $ENVIRONMENT/bin/python -m tests.unit.coordinator.causes.harvest tensorflow xla second FILE

A hash of the function's name assigns functions to three parts. Rules may be written for failures of the ``first`` part
and are measured on the ``second``. The ``third`` is reserved for a new measurement after somebody has read the second.
"""
