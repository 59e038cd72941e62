"""Requests to runners: allowed addresses, limits of answers, and the errors that answers mean."""
