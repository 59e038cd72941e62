"""The pages: HTML for people. They use the same services as the REST API.

Each module is one kind of page. It has the page's routes, and pure functions that prepare a service's results for the
template. ``site.py`` combines the modules. ``pages.py`` has the parts that all pages share. Everything works offline.
Only live progress and interactive figures need scripts.
"""
