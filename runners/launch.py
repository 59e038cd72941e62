"""Starts a module of Portolan in any Python interpreter, typically one that has the framework but not Portolan.

It is run as a script: ``PYTHON launch.py MODULE FD ARGUMENT...``. It calls the module's ``main`` with all arguments
after the module's name. The first line that the script writes to FD names the version of this Python, or says that this
Python cannot be used.

The two packages of Portolan are imported from their own folders, and no folder is added to the path. So no module of
Portolan can hide a module of the framework's environment. Every version of Python can parse this file, so that a
version that is too old can say so.
"""

import json
import os
import sys

OLDEST = (3, 9)

_here = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0]) == _here:
    # Python puts a script's folder first. Modules in it would hide modules of the same name elsewhere.
    del sys.path[0]

_version = ".".join(str(part) for part in sys.version_info[:3])
if sys.version_info < OLDEST:
    _first = {"type": "broken", "reason": "it is Python %s, and the runner needs 3.9 or later" % _version}  # noqa: UP031
else:
    _first = {"type": "greeting", "version": _version}
os.write(int(sys.argv[2]), json.dumps(_first).encode() + b"\n")
if sys.version_info < OLDEST:
    sys.exit(1)

import importlib.util  # noqa: E402

_project = os.path.dirname(_here)
for _name in ("protocol", "runners"):
    _folder = os.path.join(_project, _name)
    _spec = importlib.util.spec_from_file_location(
        _name, os.path.join(_folder, "__init__.py"), submodule_search_locations=[_folder]
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])

sys.exit(importlib.import_module(sys.argv[1]).main(sys.argv[2:]))
