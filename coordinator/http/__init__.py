"""Helpers that the routes of REST and the routes of pages share."""
