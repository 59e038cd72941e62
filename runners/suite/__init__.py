"""The public interface of authors of cases and of accelerators' packages. Imports no framework.

To write cases:
    ``cases``       ``Function`` and its cases, with the context that a case runs in and the source of its inputs
    ``checks``      comparison of a result with a reference: tolerances, ``Leaf``, ``Expected``, ``Mismatch``
    ``conformance`` the suite that every runner offers
To bring a device or a framework:
    ``device``      the protocol ``Device``, its description, its proof of placement, the error that it is not there
    ``framework``   the declaration of a framework: its devices and its suites
    ``host``        facts about the machine: processor, driver, versions of libraries
    ``lookup``      the object behind a public dotted name
    ``rounding``    host values rounded to a dtype, and the dtype that an array takes on a device
    ``trees``       arrays among lists, tuples, dicts and dataclasses
For the runner:
    ``catalogue``   a framework's suites as the runner offers them

Names here keep their meaning from release to release; a name with an underscore does not.
"""
