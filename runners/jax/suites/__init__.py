"""The suites of cases: a folder each."""
