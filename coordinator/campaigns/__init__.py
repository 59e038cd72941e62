"""Campaigns: submitting, planning into jobs, watching, cancelling."""
