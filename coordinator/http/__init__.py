"""Helpers that the routes of REST and of the pages share."""
