"""Figures: what is drawn of a report's tables, and the renderer that draws it."""
