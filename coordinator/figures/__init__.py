"""The values of a matrix cell: how cases add up to a verdict, what is measured, and how values are formatted. It does
no I/O.
"""
