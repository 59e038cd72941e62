"""Frequency of use: how often sources in Python name the functions of a framework."""
