"""The runner: a small HTTP service that owns one device for one framework.

The folder of each framework contains its cases, and the code that places work on its device, waits for it and verifies
where it ran. The runner never imports the coordinator.
"""
