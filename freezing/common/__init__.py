"""Freezing: how samples that a framework ships become the cases of a suite that is kept as data.

A framework's own part draws samples and knows their references (``freezing/FRAMEWORK/``); the gate, the kinds
of input, the quick form and the files are the same for all and stand here. A developer's tool: no runner imports it.
"""
