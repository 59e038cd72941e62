"""Figures: how cases add up to a verdict, the figures of a cell, and how people read a figure. Pure."""
