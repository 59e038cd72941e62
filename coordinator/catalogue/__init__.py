"""What can be charted: suites, functions and cases that registered runners offer."""
