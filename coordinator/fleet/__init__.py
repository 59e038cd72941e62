"""Containers of runners on one host."""
