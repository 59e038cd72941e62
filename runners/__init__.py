"""The runner: a small HTTP service that owns one device for one framework.

Each framework has a folder. It contains the framework's cases, and the code that places work on the device, waits for
the work and verifies where it ran. The runner never imports the coordinator.
"""
