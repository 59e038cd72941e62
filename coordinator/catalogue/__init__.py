"""The catalogue: suites, functions and cases that registered runners offer."""
