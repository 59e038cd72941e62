"""Requests to runners: allowed addresses, limits for responses, and the errors that responses mean."""
