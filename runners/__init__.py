"""The runner: one small HTTP service that owns one device for one framework.

Supervisor and workers live here; each framework's folder says how its device is forced,
waited for and verified, and holds its cases. Never imports the coordinator.
"""
