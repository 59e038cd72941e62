"""Requests to runners: the addresses to which they may go, the limits on responses, and the errors for failed
responses."""
