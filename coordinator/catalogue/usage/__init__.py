"""Counts how often Python sources use the functions of a framework."""
