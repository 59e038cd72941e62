"""Campaigns: submitted, planned into jobs, watched, cancelled."""
