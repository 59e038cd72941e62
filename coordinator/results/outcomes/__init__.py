"""Outcomes one by one: pages of them, all that is known of one, and files of all."""
