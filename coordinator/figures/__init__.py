"""Figures: how cases add up to a verdict, the figures of a matrix cell, and the format of figures. Pure."""
