"""The pages: HTML for people, served beside the REST API, from the same services.

Each module is one kind of page: its routes, and the pure functions that turn a service's answer
into what the template shows. ``site.py`` puts them together; ``pages.py`` is what all share.
Everything works offline and, but for what moves by itself, without scripts.
"""
