"""The formats of a report: for a terminal, a browser, programs, and the checks of code hosts."""
