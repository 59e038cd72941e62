"""The public API for authors of cases and of packages for accelerators. Imports no framework.

To write cases:
    ``cases``       ``Function`` and its cases, with the context that a case runs in and the generator of its inputs
    ``checks``      comparison of a result with a reference: tolerances, ``Leaf``, ``Expected``, ``Mismatch``
    ``conformance`` the suite that every runner offers
To bring a device or a framework:
    ``device``      the protocol ``Device``, its description, its proof of placement, the error for a missing device
    ``framework``   the declaration of a framework: its devices and its suites
    ``host``        facts about the machine: processor, driver, versions of libraries
    ``lookup``      looks up an object by its public dotted name
    ``rounding``    host values rounded to a dtype, and the dtype that an array takes on a device
    ``trees``       arrays among lists, tuples, dicts and dataclasses
For the runner:
    ``catalogue``   a framework's suites as the runner offers them
    ``suites``      a suite: its functions and its revision
    ``revision``    the digest of a case and the revision of a suite
    ``source``      the parts of source code that can change a result

Names here keep their meaning from release to release. A name with an underscore may change.
"""
