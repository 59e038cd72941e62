"""The pages: HTML for people, next to the REST API and from the same services.

Each module is one kind of page: its routes, and pure functions that prepare a service's results for the template.
``site.py`` combines them; ``pages.py`` has the parts that all pages share. Everything works offline, and without
scripts except for live progress and interactive figures.
"""
