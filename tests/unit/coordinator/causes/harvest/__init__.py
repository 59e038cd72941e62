"""Real failures by the thousand: public functions called as a port to a device would call them.

Run in a framework's own environment, from the repository's root; one JSON object a line:

    PYTHONPATH=. $ENVIRONMENT/bin/python -m tests.unit.coordinator.causes.harvest tensorflow xla second FILE

Functions are split by a hash of their names into three parts. Rules may be written for
failures of the ``first``; the ``second`` is what they are measured on; the ``third`` is there
for a fresh measurement once somebody has looked at the second.
"""
