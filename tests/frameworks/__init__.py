"""The frameworks' own suites and devices, tested in each framework's environment; ``common`` is what they share."""
