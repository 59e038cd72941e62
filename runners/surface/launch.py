"""Walks a framework's surface in whatever Python this is, and says on a pipe what it finds.

Run as a script: ``PYTHON launch.py FRAMEWORK FD``, with the modules to skip as JSON on stdin. Nothing of ours is
installed in that Python; the packages are imported from where they lie, and no folder is added to the path.
"""

import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0]) == _here:
    # Python puts a script's folder there; its modules would be taken for those of the same name elsewhere.
    del sys.path[0]

_project = os.path.dirname(os.path.dirname(_here))
for _name in ("protocol", "runners"):
    _folder = os.path.join(_project, _name)
    _spec = importlib.util.spec_from_file_location(
        _name, os.path.join(_folder, "__init__.py"), submodule_search_locations=[_folder]
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[_name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[_name])

from runners.surface import child  # noqa: E402

child.main(sys.argv[1], int(sys.argv[2]))
