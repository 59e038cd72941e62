"""Frequency of use: counts how often Python sources use the functions of a framework."""
