"""Walks public modules and classes, and makes an entry for each public function, class and member."""

from __future__ import annotations

import inspect
import types
import typing
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runners.suite.framework import PublicSurface
from runners.surface.imports import exports, members
from runners.surface.rule import canonical, is_deprecated, is_public, private_imports, told_signature, within

Entry = dict[str, Any]


def entries(modules: Mapping[str, types.ModuleType], surface: PublicSurface) -> Iterator[Entry]:
    """Yield every public object (function, class or member of a class) once, with all of its names."""
    objects, names = _objects(modules, surface)
    public = {key: canonical(names_of_value) for key, names_of_value in names.items()}
    classes = {value: public[key] for key, value in objects.items() if isinstance(value, type)}
    for key, value in objects.items():
        yield _entry(names[key], _kind(value), value, bases=_bases(value, classes))
    by_id: dict[int, tuple[Any, type, set[str]]] = {}
    for owner, name in classes.items():
        for attribute, member, base in _members(owner, classes, surface):
            # Several classes may share a member. One object makes one entry.
            by_id.setdefault(id(member), (member, base, set()))[2].add(f"{name}.{attribute}")
    for member, base, names_of_value in by_id.values():
        kind = _member_kind(member)
        assert kind is not None
        yield _entry(names_of_value, kind, _function_of(member), defined_in=base.__module__)


def _bases(value: Any, classes: Mapping[type, str]) -> list[str]:
    """Return the public base classes of a class, the nearest first."""
    return [classes[base] for base in value.__mro__[1:] if base in classes] if isinstance(value, type) else []


def _objects(
    modules: Mapping[str, types.ModuleType], surface: PublicSurface
) -> tuple[dict[int, Any], dict[int, set[str]]]:
    """Return the framework's own functions and classes by identity, and the public names of each."""
    objects: dict[int, Any] = {}
    names: dict[int, set[str]] = {}
    for module_name, module in modules.items():
        for attribute, value in public_values(module, surface).items():
            if _is_own(value, surface):
                objects[id(value)] = value
                names.setdefault(id(value), set()).add(f"{module_name}.{attribute}")
    return objects, names


def public_values(module: types.ModuleType, surface: PublicSurface) -> dict[str, Any]:
    """Return the public values of a module: those in its ``__all__`` or, without ``__all__``, those that it does not
    import only for its own use.

    Packages are an exception: both rules apply to them, and each adds values, because ``__all__`` of torch and its
    subpackages omits documented functions.
    """
    exported_names = set(exports(module))
    values = {name: value for name, value in members(module).items() if is_public(name)}
    if surface.generated:
        return values
    is_package = hasattr(module, "__path__")
    if exported_names and not is_package:
        return {name: value for name, value in values.items() if name in exported_names}
    private_names = private_imports(_source(module), module.__name__, is_package=is_package) - exported_names
    return {name: value for name, value in values.items() if name not in private_names}


def _source(module: types.ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError, SyntaxError, UnicodeDecodeError):
        return ""


def _is_own(value: Any, surface: PublicSurface) -> bool:
    """Whether a value is a function or class of the framework itself, not of a package that the framework uses."""
    if isinstance(value, types.ModuleType) or not callable(value) or type(value).__module__ == typing.__name__:
        return False
    if isinstance(value, types.GenericAlias if hasattr(types, "GenericAlias") else ()):
        return False
    home = _home(value)
    # A compiled object may name no module. It belongs to the framework if the framework exposes it.
    return within(home, surface.homes) if home else isinstance(value, (types.BuiltinFunctionType, type))


def _home(value: Any) -> str | None:
    home = _attribute(value, "__module__")
    if isinstance(home, str) and home:
        return home
    return None if isinstance(value, types.BuiltinFunctionType) else type(value).__module__


def _attribute(value: Any, name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(value, name, None)
    except BaseException:
        # A proxy may raise anything.
        return None


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function"


def _members(owner: type, classes: Mapping[type, str], surface: PublicSurface) -> Iterator[tuple[str, Any, type]]:
    """Yield the public members that a class defines itself, and those that it inherits from a base without an entry of
    its own."""
    attributes: set[str] = set()
    for base in owner.__mro__:
        if base is not owner and (base in classes or not within(base.__module__, surface.homes)):
            continue
        for attribute in sorted(vars(base)):
            if attribute in attributes or not is_public(attribute):
                continue
            attributes.add(attribute)
            member = inspect.getattr_static(base, attribute, None)
            if _member_kind(member) is not None:
                yield attribute, member, base


def _member_kind(member: Any) -> str | None:
    if isinstance(member, classmethod):
        return "classmethod"
    if isinstance(member, staticmethod):
        return "staticmethod"
    if isinstance(member, (property, types.GetSetDescriptorType)):
        return "property"
    if isinstance(member, types.ClassMethodDescriptorType):
        return "classmethod"
    if isinstance(member, (types.FunctionType, types.MethodDescriptorType, types.BuiltinFunctionType)):
        return "method"
    # Other kinds of compiled functions (jitted, bound by pybind11) are methods if they bind to an instance.
    is_method = not isinstance(member, type) and callable(member) and hasattr(type(member), "__get__")
    return "method" if is_method else None


def _function_of(member: Any) -> Any:
    if isinstance(member, (classmethod, staticmethod)):
        return member.__func__
    return member.fget if isinstance(member, property) and member.fget is not None else member


def _entry(names: set[str], kind: str, value: Any, defined_in: str | None = None, bases: Sequence[str] = ()) -> Entry:
    name = canonical(names)
    doc = _attribute(value, "__doc__")
    text = doc if isinstance(doc, str) and doc.strip() else None
    is_marked = isinstance(_attribute(value, "__deprecated__"), str)
    return {
        "name": name,
        "aliases": sorted(names - {name}),
        "kind": kind,
        "bases": list(bases),
        "module": defined_in or _home(value) or "",
        "signature": told_signature(None if kind == "property" else _signature(value), text, name),
        "documented": text is not None,
        "deprecated": is_marked or is_deprecated(text, name),
    }


def _signature(value: Any) -> str | None:
    try:
        return str(inspect.signature(value))
    except BaseException:
        # Compiled functions have no signature, and some annotations raise an error when they are printed.
        return None
