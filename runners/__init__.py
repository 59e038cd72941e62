"""The runner: a small HTTP service that owns one device for one framework.

Each framework has a folder with the framework's cases, and with the code that places work on the device, waits for it
and verifies where it ran. The runner never imports the coordinator.
"""
