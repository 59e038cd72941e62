"""The suites of cases, each a module or a folder."""
