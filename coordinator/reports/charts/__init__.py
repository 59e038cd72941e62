"""Figures of a report's tables, and the renderer that draws them."""
