"""The matrix of functions and targets, kept ready: added up beside the requests, asked in a query language."""
