"""The pages: HTML for people, served beside the REST API, from the same services.

Each module is one kind of page: its routes, and the pure functions that prepare a service's answer
for the template. ``site.py`` puts them together; ``pages.py`` has the parts that all share.
Everything works offline and, but for live progress and interactive figures, without scripts.
"""
