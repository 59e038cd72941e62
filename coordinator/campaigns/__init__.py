"""Campaigns: submits them, plans their jobs, watches and cancels them."""
