"""Linking: after every file has been read, determines the value of each symbol, and turns mentions of a framework into
sites. This module does no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from sys import intern
from typing import Any, NamedTuple

from coordinator.assess import operators
from coordinator.assess.arguments import BASIC
from coordinator.assess.flags import text_flag
from coordinator.assess.harmless import (
    augmenting_code,
    is_copied,
    is_metric,
    is_rare_hook,
    is_setup_method,
    is_summary,
    is_tokenizer,
    is_transform_file,
    takes_state,
)
from coordinator.assess.host_arrays import DATA_PACKAGE, makes_on_host
from coordinator.assess.knowledge import CALL_METHODS, LAYERS, Knowledge, PublicNames
from coordinator.assess.mentions import GLOBAL, Facts, FileReading, Form, FunctionFact, MemberUse, Mention, Parcel
from coordinator.assess.operators import OperatorCall
from coordinator.assess.repetition import TRAINS, is_repeated_name
from coordinator.assess.sites import Certainty, Flag, Site, Use, UserFunction
from coordinator.assess.values import (
    CALLED,
    LOOKUPS,
    MASK,
    SUPER,
    Alternatives,
    Elements,
    Items,
    Method,
    Parametrized,
    Symbol,
    Thing,
    Wrapped,
    array,
    either,
    element_of,
    item_of,
    mask_of,
)
from coordinator.catalogue.surfaces import ROOTS
from coordinator.catalogue.usage.resolver import OTHER, Binding
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite

_MAPPING_METHODS = frozenset({"keys", "values", "items", "get"})
_CALLS = ("forward", "__call__", "call")
"""The methods that run when an instance is called."""

_ALSO_OF_NUMPY = frozenset({"count_nonzero", "nonzero"})
"""Methods that arrays of NumPy or SciPy have too. A call with arguments is PyTorch's, because these methods take none.
"""
_ALSO_OF_PANDAS = frozenset({"unique"})
"""Methods that columns of pandas have too. A call with arguments is PyTorch's, because pandas' method takes none."""
MOST_REMEMBERED = 20_000
"""If more symbol values than this are cached, the cache is emptied before the next file. Most symbols are used in only
one file."""
MOST_PASSED = 8
"""The maximum number of passed values that are evaluated for one parameter."""
_PUBLIC_ROOTS = frozenset(ROOTS.values())
_FRAMEWORK_MODULES = {"keras": "tf.keras"}
"""Packages that are also modules of a framework. They are resolved here and not in each file, because the user's code
may be a module of this name."""
_MISSING: Any = object()
"""The result of a look-up without result, because None is a possible value."""
_CALL, _NAME, _READ = Form.called, Form.named, Form.read
"""The most frequent forms. Python 3.11 takes five times as long to look up a member of an enum as a name."""
_FINAL = frozenset({str, Thing, Method, type(OTHER)})
"""The kinds of values that contain no symbol."""


class CallEdge(NamedTuple):
    """A call from one function of the user's code to another, or the passing on of a function as a value."""

    caller: str
    """The dotted name of the function or class body that contains the call. If neither does, the module's name."""
    callee: str
    is_handed_on: bool = False
    """Whether ``caller`` passes ``callee`` on as a value and does not call it."""
    flag: Flag | None = None
    """A flag that is off by default, and without which ``caller`` does not use ``callee``."""
    keeps_host: bool = False
    """Whether ``callee`` is a function that uses the host unless a call gives it a device, and this call gives it
    none."""


class _ClassKind(NamedTuple):
    """The kind of a user's class, as far as its names and those of its base classes show."""

    is_tokenizer: bool
    is_metric: bool


_OTHER_CLASS = _ClassKind(is_tokenizer=False, is_metric=False)


class _Imports(NamedTuple):
    """The imports between the files of the user's code."""

    modules: frozenset[str]
    """The modules from which a file imports anything."""

    names: frozenset[str]
    """The functions, classes and other values that a file imports from another."""
    read_in_part: frozenset[str]
    """The modules from which other files import single names, but which no file imports as a whole."""


class Linker:
    """Determines the value of each symbol of the user's code, such as a framework function, from the readings of all
    files."""

    def __init__(
        self, facts: Facts, readings: Sequence[FileReading], knowledge: Knowledge, public: PublicNames
    ) -> None:
        self._facts = facts
        self._public = public
        self._packages = frozenset(reading.module for reading in readings if reading.is_package)
        self._modules = _with_parents(reading.module for reading in readings)
        self._aliases = _short_names(self._modules, self._packages)
        self._definitions = {*facts.classes, *facts.functions, *self._modules}
        """The paths of the user's classes, functions and modules. One look-up in this set is faster than three."""
        self._transform_modules = frozenset(reading.module for reading in readings if is_transform_file(reading.path))
        self._modules_by_name = self._read_names_of_stars()
        self._sources_of_stars: dict[str, frozenset[str] | None] = {}
        """The results of ``_read_sources_of_star``."""
        self._knowledge = knowledge
        self._memo: dict[str, Binding] = {}
        self._calls: dict[str | int, CallSite] = {}
        """The calls of sites by their texts, or by their numbers of arguments if no value of an argument is known."""
        self._roles: dict[str, tuple[bool, bool]] = {}
        """The results of ``_role`` for the functions of the current file."""
        self._dtypes: dict[frozenset[str], frozenset[str]] = {}
        """The sets of dtypes. Equal sets share one object, because the 100,000 calls of a package have only 1,000
        different sets."""
        self._lines: dict[int, int] = {}
        """The line numbers of sites. Equal numbers share one object, as equal dtypes do."""
        self._own_methods = {path.rpartition(".")[2] for path, function in facts.functions.items() if function.owner}
        """The method names of the user's own classes. A call of a method with one of these names does not show that its
        object is an array."""
        self._methods_with_flags: dict[str, list[str]] = defaultdict(list)
        for path, function in facts.functions.items():
            if function.owner and function.flags and not path.endswith(".__init__"):
                self._methods_with_flags[path.rpartition(".")[2]].append(path)
        self.on_flags = set(facts.on_flags)
        """The flags that are on by default, or that some code may switch on. They are complete after all uses were
        read."""
        self._importing = _Imports(frozenset(), frozenset(), frozenset())
        self._bases: dict[str, Sequence[str]] = {}
        """The framework classes from which each class inherits."""
        self._used_classes = set[str]()
        """The classes that code outside of them uses. They are complete after all uses were read."""
        self._classes_of_symbols: dict[str, str] = {}
        """The results of ``_class_of`` for the symbols of the current file."""
        self._class_kinds: dict[str, _ClassKind] = {}
        self._ancestries: dict[str, Sequence[str]] = {}
        """The results of ``_ancestors`` for the classes whose methods were looked up."""
        self._foreign: dict[str, bool] = {}
        """The results of ``_has_foreign_base``."""
        self._passed: dict[str, list[Binding]] = {}
        for reading in readings:
            for arguments in reading.facts.passed:
                for parameter, value in self._passed_values(arguments.callee, arguments.positional, arguments.keywords):
                    values = self._passed.setdefault(parameter, [])
                    if len(values) < MOST_PASSED:
                        values.append(value)
        for parameter, value in facts.defaults.items():
            self._passed.setdefault(parameter, []).append(value)
        for bases in facts.classes.values():
            self._used_classes.update(base.path for base in map(self.value, bases) if isinstance(base, Symbol))
        self._augmenting_modules = frozenset(self._read_augmentations(readings))
        # The values in the cache were evaluated while the passed arguments were incomplete.
        self._memo.clear()

    def value(self, binding: Binding) -> Binding:
        """The value that a binding stands for. If the result is a symbol, it stands for a class, a function or a module
        of the user."""
        # Nearly all bindings are of these kinds, and this comparison is much faster than a match statement.
        if type(binding) is Symbol:
            return self._evaluate(binding.path)
        if binding is None or type(binding) in _FINAL:
            return binding
        match binding:
            case Alternatives(values):
                return either([self.value(option) for option in values])
            case Wrapped(function):
                return self.value(function)
            case Parametrized(instance, argument):
                instance_value = self.value(instance)
                return instance_value if isinstance(instance_value, Symbol) else self.value(argument)
            case _:
                return binding

    def _evaluate(self, path: str) -> Binding:
        value: Binding = self._memo.get(path, _MISSING)
        if value is not _MISSING:
            return value
        self._memo[path] = None  # The value of a name that is defined by itself is unknown.
        try:
            result = self._evaluate_once(path)
        except RecursionError:
            result = None
        self._memo[path] = result
        return result

    def _evaluate_once(self, path: str) -> Binding:
        binding = self._facts.names.get(path, _MISSING)
        if binding is not _MISSING:
            return self.value(binding)
        if path in self._definitions:
            return Symbol(path)
        if path in self._aliases:
            return self._evaluate(self._aliases[path])
        if path.endswith(CALLED):
            owner, _, name = path[: -len(CALLED)].rpartition(".")
            if owner and name in LOOKUPS and isinstance(table := self._evaluate(owner), Elements):
                return self.value(element_of(table))
            return self._call(path[: -len(CALLED)])
        if path.endswith(MASK):
            value = self._evaluate(path[: -len(MASK)])
            # A comparison of instances of a user's class is treated like the instance.
            return mask_of(value) if _is_array(value) else value
        if path.endswith("]"):
            owner, _, index = path[:-1].rpartition("[")
            collection = self._evaluate(owner)
            if isinstance(collection, Symbol) and collection.path.endswith(CALLED):
                return self.made_by(self._member(collection, "__getitem__"))
            return self.value(item_of(collection, int(index)) if index else element_of(collection))
        if path.endswith(">") and not path.endswith(SUPER):
            return self._parameter(path)
        owner, _, name = path.rpartition(".")
        if not owner:
            return _FRAMEWORK_MODULES.get(name, OTHER)
        return None if owner == "?" else self._member(self._evaluate(owner), name)

    def _read_augmentations(self, readings: Sequence[FileReading]) -> Iterator[str]:
        """The modules with augmentations, if a data loader or a function that collates a batch stands beside them.

        Without such a loader, a training step may apply the augmentations on the device.
        """
        modules: dict[str, list[str]] = defaultdict(list)
        for reading in readings:
            if place := augmenting_code(reading.path):
                modules[place].append(reading.module)
        for names in modules.values():
            owners = set(names)
            classes = (path for path in self._facts.classes if path.rpartition(".")[0] in owners)
            if any(base.startswith(DATA_PACKAGE) for path in classes for base in self._framework_bases(path)):
                yield from names

    # Members

    def _member(self, owner: Binding, name: str) -> Binding:
        match owner:
            case None:
                return None
            case Symbol(path):
                return self._member_of_symbol(path, name)
            case str():
                return f"{owner}.{name}"
            case Thing():
                return self._knowledge.member(owner, name)
            case Method():
                return OTHER if owner.owner.is_array and owner.name != "at" else owner
            case Alternatives(values):
                return either([self._member(option, name) for option in values])
            case Elements(of) if name in ("values", "indices"):
                return of
            case _:
                return OTHER if owner is OTHER else None

    def _member_of_symbol(self, path: str, name: str) -> Binding:
        if path.endswith(CALLED):
            return self._member_of_class(path[: -len(CALLED)], name, is_instance=True)
        if path.endswith(SUPER):
            return self._inherited_member(path[: -len(CALLED + SUPER)], name, is_instance=True)
        if path in self._facts.classes:
            return self._member_of_class(path, name, is_instance=False)
        return self._member_of_module(path, name) if path in self._modules else None

    def _member_of_module(self, module: str, name: str) -> Binding:
        for star in self._facts.stars.get(module, ()):
            if star.partition(".")[0] in _PUBLIC_ROOTS:
                if self._public.has(f"{star}.{name}"):
                    return f"{star}.{name}"
            elif self._may_have(star, name):
                member = self._evaluate(f"{star}.{name}")
                if member is not None and member is not OTHER:
                    return member
        return None

    def _may_have(self, module: str, name: str) -> bool:
        """Whether a module may define a name or get it by ``import *``.

        A large package imports all names of hundreds of modules. Evaluating a name in each of them would take most of
        the time and much memory.
        """
        if module not in self._sources_of_stars:
            self._sources_of_stars[module] = self._read_sources_of_star(module)
        sources = self._sources_of_stars[module]
        return sources is None or not sources.isdisjoint(self._modules_by_name.get(name, ()))

    def _read_sources_of_star(self, module: str) -> frozenset[str] | None:
        """The module and all modules from which it directly or indirectly gets names by ``import *``. None if one of
        them was not read, because it may define any name."""
        waiting, sources = [module], set[str]()
        while waiting:
            current = waiting.pop()
            if current not in self._modules or current in self._facts.names:
                return None
            if current not in sources:
                sources.add(current)
                waiting += self._facts.stars.get(current, ())
        return frozenset(sources)

    def _read_names_of_stars(self) -> dict[str, list[str]]:
        """For each name, the modules that define it, of those from which another module imports all names."""
        stars = {module for modules in self._facts.stars.values() for module in modules}
        modules_by_name: dict[str, list[str]] = defaultdict(list)
        for path in chain(self._facts.names, self._definitions, self._aliases):
            module, _, name = path.rpartition(".")
            if module in stars:
                modules_by_name[name].append(module)
        return dict(modules_by_name)

    def _member_of_class(self, path: str, name: str, *, is_instance: bool) -> Binding:
        facts = self._facts
        if path not in facts.classes:
            return None
        if is_instance and (attribute := facts.names.get(f"{path}{CALLED}.{name}", _MISSING)) is not _MISSING:
            return self.value(attribute)
        member_path = f"{path}.{name}"
        function = facts.functions.get(member_path)
        if function is not None:
            return self.value(function.returns) if function.is_property and is_instance else Symbol(member_path)
        member = facts.names.get(member_path, _MISSING)
        if member is not _MISSING:
            return self.value(member)
        return self._inherited_member(path, name, is_instance=is_instance)

    def _inherited_member(self, path: str, name: str, *, is_instance: bool) -> Binding:
        for base in self._facts.classes.get(path, ()):
            base_value = self.value(base)
            if isinstance(base_value, str):
                if self._knowledge.is_class(base_value):
                    return Method(Thing(base_value, True), name)
            elif isinstance(base_value, Symbol) and base_value.path != path:
                # The path is compared, so that the search ends for a class that inherits from itself.
                member = self._evaluate(f"{base_value.path}{CALLED if is_instance else ''}.{name}")
                if member is not None:
                    return member
        return None

    def framework_base(self, path: str) -> str | None:
        """Return the framework class from which a user's class inherits. If there are several, return the first; if
        there is no such class, return None."""
        return next(self._framework_bases(path), None)

    def _framework_bases(self, path: str) -> Iterator[str]:
        for ancestor in self._ancestors(path):
            for base in self._facts.classes.get(ancestor, ()):
                base_value = self.value(base)
                if isinstance(base_value, str):
                    yield base_value

    def _ancestors(self, path: str) -> Iterator[str]:
        waiting, visits = [path], set[str]()
        while waiting:
            current = waiting.pop(0)
            if current in visits:
                continue
            visits.add(current)
            yield current
            for base in self._facts.classes.get(current, ()):
                base_value = self.value(base)
                if isinstance(base_value, Symbol):
                    waiting.append(base_value.path)

    # Calls

    def _call(self, callee_path: str) -> Binding:
        return self.made_by(self._evaluate(callee_path))

    def made_by(self, callee: Binding) -> Binding:
        """The value that a call returns."""
        match callee:
            case None:
                return None
            case Symbol(path):
                return self._made_by_symbol(path)
            case str():
                return self._knowledge.result(callee, None, None)
            case Method():
                return self._knowledge.result_of_method(callee, None, None)
            case Thing():
                return self._knowledge.result_of_layer(callee)
            case Elements(container=str(container)):
                return array(container.partition(".")[0], certain=True)
            case Alternatives(values):
                return either([self.made_by(option) for option in values])
            case _:
                return OTHER if callee is OTHER else None

    def _made_by_symbol(self, path: str) -> Binding:
        function = self._facts.functions.get(path)
        if function is not None:
            return self.value(function.returns)
        if path in self._facts.classes:
            return Symbol(path + CALLED)
        return self._called_instance(path[: -len(CALLED)]) if path.endswith(CALLED) else None

    def _called_instance(self, path: str) -> Binding:
        function = self.call_method(path)
        result = None if function is None else self.value(self._facts.functions[function].returns)
        if result is not None:
            return result
        base = self.framework_base(path)
        if base is not None and self._knowledge.is_layer(base):
            return array(base.partition(".")[0], certain=False)
        return None

    def call_method(self, path: str) -> str | None:
        """The user's method that runs when an instance of a class is called."""
        for ancestor in self._ancestors(path):
            for name in _CALLS:
                if f"{ancestor}.{name}" in self._facts.functions:
                    return f"{ancestor}.{name}"
        return None

    def function_of(self, callee: Binding) -> str | None:
        """The user's function that a call runs."""
        if not isinstance(callee, Symbol):
            return None
        path = callee.path
        if path in self._facts.functions:
            return path
        if path in self._facts.classes:
            constructors = (f"{ancestor}.__init__" for ancestor in self._ancestors(path))
            return next((name for name in constructors if name in self._facts.functions), None)
        return self.call_method(path[: -len(CALLED)]) if path.endswith(CALLED) else None

    # Parameters

    def _passed_values(
        self, callee: Binding, positional: Sequence[Binding], keywords: Mapping[str, Binding]
    ) -> Iterator[tuple[str, Binding]]:
        for option in callee.values if isinstance(callee, Alternatives) else (callee,):
            function = self.value(option)
            path = self.function_of(function)
            if path is None:
                if isinstance(option, Symbol) and option.path.rpartition(".")[0] in self._facts.stars:
                    self._use_as_array(function, positional)
                continue
            names = self._facts.functions[path].parameters
            for name, value in (*zip(names, positional, strict=False), *keywords.items()):
                if value is not None and name in names and (parameter := f"{path}<{name}>") not in self._facts.names:
                    yield parameter, value

    def _use_as_array(self, function: Binding, positional: Sequence[Binding]) -> None:
        """Record that a parameter is an array, because it is passed to a framework's function. The names of functions
        from ``import *`` are known only here."""
        match function, positional:
            case str(), [Symbol(path) as parameter, *_] if parameter.is_parameter and self._knowledge.computes(
                function
            ):
                self._facts.parameters.setdefault(path, function.partition(".")[0])

    def _parameter(self, path: str) -> Binding:
        root = self._facts.parameters.get(path)
        if root is not None:
            return array(root, certain=False)
        argument = either([self.value(value) for value in self._passed.get(path, ())[:MOST_PASSED]])
        if argument is not None:
            return _uncertain(argument)
        function = path.rpartition("<")[0]
        fact = self._facts.functions.get(function)
        if fact is None or not fact.owner or function.rpartition(".")[2] not in _CALLS:
            return None
        base = self.framework_base(fact.owner)
        if base is not None and CALL_METHODS.get(base) == function.rpartition(".")[2]:
            return array(base.partition(".")[0], certain=False)
        return None

    # Uses

    def uses(self, reading: FileReading) -> Iterator[Site | CallEdge]:
        """The sites of one file, and its calls of the user's own functions."""
        self._limit_memory()
        self._roles.clear()
        self._classes_of_symbols.clear()
        for mention in reading.mentions:
            value = self.value(mention.value)
            is_call = mention.form is _CALL or mention.form is _NAME
            callees: Sequence[str] = ()
            if type(value) is Alternatives:
                options = value.values
                self._use_classes((mention.value, *options), reading.module, mention.within)
                callees = list(filter(None, map(self.function_of, options)))
                option_sites = (self._site(mention, option, reading) for option in options)
                yield from _sites_of_choice(options, [site for site in option_sites if site is not None], callees)
            else:
                self._use_classes((mention.value, value), reading.module, mention.within)
                if not (is_call and _is_never_of_framework(value)) and (site := self._site(mention, value, reading)):
                    yield site
                callee = self.function_of(value) if type(value) is Symbol else None
                if callee is not None:
                    callees = (callee,)
            if is_call:
                if mention.call is not None:
                    self._set_flags(mention.value, callees, mention.call)
                if callees:
                    caller = f"{reading.module}.{mention.within}".rstrip(".")
                    flag = self._flag_of(mention)
                    is_handed_on = mention.form is _NAME
                    for callee in callees:
                        keeps_host = not is_handed_on and self._keeps_host(callee, mention.call)
                        yield CallEdge(caller, callee, is_handed_on, flag, keeps_host)

    def _flag_of(self, mention: Mention) -> Flag | None:
        """A flag that is off by default, and without which the program does not reach a mention."""
        return next(filter(self._facts.off_flags.__contains__, mention.flags), None) if mention.flags else None

    def _set_flags(self, value: Binding, callees: Sequence[str], call: CallSite) -> None:
        """Record the flags that a call may switch on by its positional arguments. If the function is unknown, it may be
        any method with the same name."""
        if not call.positional:
            return
        names: Iterable[str] = callees
        if not callees and isinstance(value, Symbol):
            names = self._methods_with_flags.get(value.path.rpartition(".")[2], ())
        if not names:
            return
        texts = [(number, text) for number, text in call.arguments.items() if type(text) is str]
        for name in names:
            parameters = self._facts.functions[name].parameters if texts else ()
            self.on_flags.update(
                text_flag(parameters[number - 1], text) for number, text in texts if number <= len(parameters)
            )
            for number, flag in self._facts.functions[name].flags:
                if number < call.positional and call.arguments.get(number + 1, UNKNOWN_VALUE) not in (None, False):
                    self.on_flags.add(flag)

    def _use_classes(self, values: Iterable[Binding], module: str, within: str) -> None:
        """Record the classes that code outside of them uses."""
        for value in values:
            if type(value) is Symbol:
                path = self._class_of(value.path)
                # Most classes were recorded before, and the first look-up is the fastest.
                if path and path not in self._used_classes and not f"{module}.{within}.".startswith(f"{path}."):
                    self._used_classes.add(path)

    def _class_of(self, symbol_path: str) -> str:
        """The class that a symbol is or belongs to; empty if there is none."""
        path = self._classes_of_symbols.get(symbol_path)
        if path is None:
            path = symbol_path.partition(CALLED)[0]
            while path and path not in self._facts.classes:
                path = path.rpartition(".")[0]
            self._classes_of_symbols[symbol_path] = path
        return path

    def _keeps_host(self, callee: str, call: CallSite | None) -> bool:
        fact = self._facts.functions[callee]
        # The calls of a method are not all known, because the class of an object may be unknown.
        if fact.device_parameter is None or fact.owner or call is None:
            return False
        return "device" not in call.keywords and call.positional <= fact.device_parameter

    def functions_on_host(self) -> Iterator[str]:
        """The functions outside of classes that use the host unless a call gives them a device."""
        for path, fact in self._facts.functions.items():
            if fact.device_parameter is not None and not fact.owner:
                yield path

    def _limit_memory(self) -> None:
        if len(self._memo) > MOST_REMEMBERED:
            self._memo.clear()

    def _site(self, mention: Mention, value: Binding, reading: FileReading) -> Site | None:
        call = mention.call
        if mention.form is _CALL:
            name, certainty, use = *self._called_name(mention, value, reading), Use.called
            if isinstance(value, Thing) and value.made_by is not None:
                call = value.made_by
            elif isinstance(value, Thing | Elements):
                call = None
        elif mention.form is _NAME:
            name, certainty, use = *self._called_name(mention, value, reading), Use.named
            if isinstance(value, Thing | Elements) or certainty is Certainty.guessed:
                return None
        elif mention.form is _READ:
            if not (isinstance(value, Thing) and value.is_array):
                return None
            name, certainty, use = f"{value.of}.{mention.operator}", _certainty(value), Use.called
            call = None
        else:
            operation, thing = self._operation(mention, value)
            if operation is None or thing is None:
                return None
            name, certainty, use, call = operation.function, _certainty(thing), Use.operator, operation.call
        public_name = self._public.canonical(name) if name and name not in LAYERS else None
        if public_name is None and use is Use.operator and name:
            public_name = name  # Surfaces do not list operators themselves.
        if public_name is None:
            return None
        is_on_host = mention.is_on_host or _makes_on_host(mention, public_name)
        path, line = reading.place(mention.line)
        is_in_data_class, is_at_setup = self._role(reading.module, mention.within)
        return Site(
            path, self._lines.setdefault(line, line), mention.column, public_name, certainty, use,
            call if call is None else self._share_call(call), mention.within,
            mention.guards, self._dtypes.setdefault(mention.dtypes, mention.dtypes),
            is_on_host=is_on_host or is_in_data_class,
            is_at_setup=is_at_setup,
            goes_to_host=mention.goes_to_host,
            is_option=mention.is_option,
            is_in_loop=mention.is_in_loop,
            has_gradient=mention.has_gradient,
            flag=self._flag_of(mention),
        )  # fmt: skip

    def _share_call(self, call: CallSite) -> CallSite:
        """Return an equal call. Equal calls share one object."""
        # Of most calls only the number of arguments is known. Numbers are compared much faster than the texts of calls.
        if not call.keywords and not call.arguments:
            return self._calls.setdefault(call.positional, call)
        return self._calls.setdefault(f"{call.positional} {call.keywords} {call.arguments}", call)

    def _role(self, module: str, within: str) -> tuple[bool, bool]:
        """The results of ``_is_in_data_class`` and ``_is_at_setup`` for a function of the current file."""
        if within not in self._roles:
            self._roles[within] = self._is_in_data_class(module, within), self._is_at_setup(module, within)
        return self._roles[within]

    def _is_in_data_class(self, module: str, within: str) -> bool:
        """Whether a function is a method of a data set, sampler, transform or tokenizer, or an augmentation that a data
        loader applies."""
        if module in self._augmenting_modules or self._is_in_transform(module, within):
            return True
        bases = self._bases_around(module, within)
        return any(base.startswith(DATA_PACKAGE) for base in bases) or self._is_in_tokenizer(module, within)

    def _is_in_transform(self, module: str, within: str) -> bool:
        """Whether a function is a method of a class of transforms that can be called. A layer does not count, because
        it may run on the device."""
        path = f"{module}.{within.rpartition('.')[0]}"
        if module not in self._transform_modules or path not in self._facts.classes:
            return False
        is_called = any(f"{ancestor}.__call__" in self._facts.functions for ancestor in self._ancestry(path))
        return is_called and not any(map(self._knowledge.is_layer, self._bases_around(module, within)))

    def _is_in_tokenizer(self, module: str, within: str) -> bool:
        """Whether a function is a method of a tokenizer. A layer that is named like a tokenizer does not count, because
        it runs on the device."""
        if not self._kind_of_class(f"{module}.{within.rpartition('.')[0]}").is_tokenizer:
            return False
        return not any(map(self._knowledge.is_layer, self._bases_around(module, within)))

    def _kind_of_class(self, path: str) -> _ClassKind:
        """The kind of a class, by the names of the class and of its base classes, including those of other packages."""
        if path not in self._facts.classes:
            return _OTHER_CLASS
        if path not in self._class_kinds:
            ancestors = self._ancestry(path)
            bases = (base for ancestor in ancestors for base in self._facts.classes.get(ancestor, ()))
            paths = (*ancestors, *(base.path for base in bases if isinstance(base, Symbol)))
            names = {name.rpartition(".")[2] for name in paths}
            self._class_kinds[path] = _ClassKind(is_tokenizer(names), is_metric(names))
        return self._class_kinds[path]

    def _is_at_setup(self, module: str, within: str) -> bool:
        """Whether a function sets up a layer, takes the weights of a module, or runs only once in an epoch."""
        class_name, _, method = within.rpartition(".")
        fact = self._facts.functions.get(f"{module}.{within}")
        if fact is not None and _takes_state(fact, method):
            return True
        if self._is_rare(f"{module}.{class_name}", method):
            return True
        return is_setup_method(method) and any(map(self._knowledge.is_layer, self._bases_around(module, within)))

    def _is_rare(self, path: str, method: str) -> bool:
        """Whether a method of a class runs only once, or once in an epoch."""
        fact = self._facts.functions.get(f"{path}.{method}")
        if fact is None or path not in self._facts.classes:
            return False
        if is_rare_hook(method):
            is_of_framework = self._has_foreign_base(path) or self.framework_base(path) is not None
            return is_of_framework or self._is_inherited(path, method)
        return is_summary(method, fact.parameters) and self._kind_of_class(path).is_metric

    def _is_inherited(self, path: str, method: str) -> bool:
        """Whether a base class in the user's code has a method of this name."""
        return any(f"{base}.{method}" in self._facts.functions for base in self._ancestry(path) if base != path)

    def _bases_around(self, module: str, within: str) -> Sequence[str]:
        """The base classes, from the framework, of the user's class that defines the method ``within``. Empty if
        ``within`` is not a method."""
        class_name, _, method = within.rpartition(".")
        path = f"{module}.{class_name}"
        if not method or path not in self._facts.classes:
            return ()
        if path not in self._bases:
            self._bases[path] = tuple(self._framework_bases(path))
        return self._bases[path]

    # Functions

    def user_functions(self, readings: Sequence[FileReading]) -> Iterator[tuple[str, UserFunction]]:
        """The user's functions by name, with the facts from which ``repetition`` decides whether they run
        repeatedly."""
        modules = {reading.module for reading in readings}
        self._importing = self._read_imports()
        names_by_module: dict[str, list[str]] = defaultdict(list)
        for name in self._facts.functions:
            module = name.rpartition(".")[0]
            while module and module not in modules:
                module = module.rpartition(".")[0]
            if module and "<" not in name:
                names_by_module[module].append(name)
        for reading in readings:
            self._limit_memory()
            # One file's members are decoded at a time, because the members of all files take much memory.
            members: dict[str, set[MemberUse]] = defaultdict(set)
            for use in reading.members:
                if use.name in self._own_methods or use.name in TRAINS:
                    members[use.within].add(use)
            for name in names_by_module.get(reading.module, ()):
                yield name, self._user_function(name, reading, members.get(name[len(reading.module) + 1 :], set()))
            reading.members = Parcel(MemberUse)

    def _read_imports(self) -> _Imports:
        names, modules, whole = set[str](), set[str](), set[str]()
        for importer, all_names_of in self._facts.stars.items():
            # A package publishes all names that ``import *`` gives it. Other files use some of them.
            target = whole if importer in self._packages else modules
            target.update(self._aliases.get(module, module) for module in all_names_of)
        for path in self._facts.imports:
            owner, _, member = path.rpartition(".")
            module = self._aliases.get(owner, owner)
            if path in self._modules or path in self._aliases:
                whole.add(self._aliases.get(path, path))
            elif module in self._modules:
                names.add(f"{module}.{member}")
                modules.add(module)
        return _Imports(frozenset(modules | whole), frozenset(names), frozenset(modules - whole))

    def _user_function(self, name: str, reading: FileReading, members: Set[MemberUse]) -> UserFunction:
        fact = self._facts.functions[name]
        within = name[len(reading.module) + 1 :]
        method = within.rpartition(".")[2]
        bases = self._bases_around(reading.module, within) if fact.owner else ()
        parents = self._facts.classes.get(fact.owner, ())
        base_methods = (self._own_method(parent, method) for parent in parents)
        uses = (self._own_method(Symbol(fact.owner), use.name) for use in members if use.is_own)
        return UserFunction(
            reading.path,
            within,
            fact.owner,
            tuple(bases),
            is_of_layer=any(map(self._knowledge.is_layer, bases)),
            is_of_foreign_class=bool(fact.owner) and self._has_foreign_base(fact.owner),
            is_of_metric=self._kind_of_class(fact.owner).is_metric,
            is_aside=self._is_in_tokenizer(reading.module, within)
            or self._is_rare(fact.owner, method)
            or (is_copied(reading.path) and reading.module not in self._importing.modules),
            has_arrays=self._has_arrays(name, fact),
            returns_numbers=fact.returns_numbers,
            takes_state=_takes_state(fact, method),
            is_left_out=self._is_left_out(reading.module, within),
            has_gradient=fact.has_gradient,
            overrides=next(filter(None, base_methods), None),
            uses=tuple(sorted(set(filter(None, uses)))),
            members=tuple(sorted(intern(use.name) for use in members if not use.is_own)),
        )

    def _is_left_out(self, module: str, within: str) -> bool:
        """Whether other files import names from a file, but neither the function or class that contains ``within``, nor
        the whole file, and no code outside of the class uses the class."""
        path = f"{module}.{within.partition('.')[0]}"
        if module not in self._importing.read_in_part or path in self._importing.names or path in self._facts.exports:
            return False
        return path not in self._facts.classes or path not in self._used_classes

    def _own_method(self, owner: Binding, method: str) -> str | None:
        """The user's function that implements a method of a class."""
        if method not in self._own_methods:
            return None
        owner_value = self.value(owner)
        if not isinstance(owner_value, Symbol):
            return None
        for ancestor in self._ancestry(owner_value.path):
            path = f"{ancestor}.{method}"
            if path in self._facts.functions:
                return path
        return None

    def _ancestry(self, path: str) -> Sequence[str]:
        """The class and its base classes among the user's classes."""
        if path not in self._ancestries:
            self._ancestries[path] = tuple(self._ancestors(path))
        return self._ancestries[path]

    def _has_foreign_base(self, path: str) -> bool:
        """Whether a class has a base class that was not read."""
        if path not in self._foreign:
            bases = (base for ancestor in self._ancestry(path) for base in self._facts.classes.get(ancestor, ()))
            symbols = (base for base in bases if isinstance(base, Symbol))
            self._foreign[path] = any(not isinstance(self.value(base), str | Symbol) for base in symbols)
        return self._foreign[path]

    def _has_arrays(self, name: str, fact: FunctionFact) -> bool:
        paths = [f"{name}<{parameter}>" for parameter in fact.parameters]
        return not self._facts.batches.isdisjoint(paths) or any(_may_be_array(self._evaluate(path)) for path in paths)

    # Names of sites

    def _called_name(self, mention: Mention, value: Binding, reading: FileReading) -> tuple[str, Certainty]:
        match value:
            case str():
                return value, Certainty.resolved
            case Method(name="__init__"):
                return value.owner.of, Certainty.resolved
            case Method(owner, name):
                # Unknown layers may also return a dictionary.
                is_of_mapping = not owner.certain and name in _MAPPING_METHODS
                return "" if is_of_mapping else value.full_name, _certainty(owner)
            case Thing():
                return (value.of if self._knowledge.is_layer(value.of) else ""), _certainty(value)
            case Symbol(path) if path.endswith(CALLED) and self.call_method(path[: -len(CALLED)]) is None:
                # ``class Block(nn.Sequential)`` is called in the same way as its base class.
                base = self.framework_base(path[: -len(CALLED)]) or ""
                return (base if self._knowledge.is_layer(base) else ""), Certainty.typed
            case Elements(container="torch.nn.Sequential"):
                return "torch.nn.Sequential", Certainty.typed
            case None if (
                isinstance(mention.value, Symbol) and mention.operator != GLOBAL and len(reading.frameworks) == 1
            ):
                (root,) = reading.frameworks
                receiver, _, method = mention.value.path.rpartition(".")
                is_told = self._knowledge.told_by_name(method, root) and method not in self._own_methods
                is_of_others = (reading.imports_numpy and method in _ALSO_OF_NUMPY) or (
                    reading.imports_pandas and method in _ALSO_OF_PANDAS
                )
                if is_of_others and mention.call == CallSite(0, {}):
                    is_told = False
                if receiver not in self._modules and not receiver.endswith(CALLED) and is_told:
                    return f"{array(root, certain=False).of}.{method}", Certainty.guessed
        return "", Certainty.guessed

    def _operation(self, mention: Mention, left: Binding) -> tuple[OperatorCall | None, Thing | None]:
        right = self.value(mention.other)
        right_option = next(filter(_is_array, right.values if isinstance(right, Alternatives) else (right,)), None)
        left_array = left if isinstance(left, Thing) and left.is_array else None
        right_array = right_option if isinstance(right_option, Thing) else None
        thing = left_array or right_array
        if thing is None:
            return None, None
        root = thing.of.partition(".")[0]
        if mention.form in (Form.indexed, Form.written):
            if left_array is None:
                return None, None
            if mention.form is Form.indexed:
                return operators.reading(root), left_array
            return operators.writing(root, by_array=mention.operator != BASIC and right_array is not None), left_array
        if mention.form is Form.unary:
            return (operators.unary(root, mention.operator), left_array) if left_array else (None, None)
        if left_array is None and isinstance(left, Items | Elements | Method):
            return None, None
        binary = operators.in_place if mention.form is Form.in_place else operators.binary
        return binary(root, mention.operator, left_is_array=left_array is not None), thing


def _sites_of_choice(options: Sequence[Binding], sites: Sequence[Site], callees: Iterable[str]) -> Iterator[Site]:
    """The sites of a mention that has several possible values, from the sites of all values."""
    # A passed function may be any of the alternatives, so each gets a site. A value has one class, so it gets one site.
    by_function = {site.function: site for site in sites if site.certainty is Certainty.resolved}
    # An array has one class, even if the source allows several. A layer may have been made of any of them.
    layers = {option.of for option in options if isinstance(option, Thing) and not option.is_array}
    is_choice = len({*by_function, *callees, *layers}) > 1
    for site in by_function.values() or sites[:1]:
        yield replace(site, is_option=True) if is_choice else site


def _is_never_of_framework(callee: Binding) -> bool:
    """Whether a call of a value is certainly no site. This is true for half of the calls, and faster to find out than
    the name of the site."""
    return callee is OTHER or (type(callee) is Symbol and not callee.path.endswith(CALLED))


def _takes_state(fact: FunctionFact, method: str) -> bool:
    return takes_state(fact.parameters) and not is_repeated_name(method)


def _makes_on_host(mention: Mention, function: str) -> bool:
    """Whether a mention creates an array on the host by a framework that its file imports from another file, by
    ``import *``. A function that the code wraps may have a device: ``self.draw = partial(torch.randperm, device=…)``.
    """
    is_of_framework = isinstance(mention.value, Symbol) and mention.value.path.endswith(f".{function}")
    return is_of_framework and makes_on_host(function, mention.call)


def _is_array(value: Binding) -> bool:
    return isinstance(value, Thing) and value.is_array


def _may_be_array(value: Binding) -> bool:
    """Whether a value is or may be an array or a list of arrays."""
    match value:
        case Thing():
            return value.is_array
        case Elements(of):
            return _may_be_array(of)
        case Alternatives(values) | Items(values):
            return any(map(_may_be_array, values))
        case _:
            return False


def _certainty(thing: Thing) -> Certainty:
    return Certainty.typed if thing.certain else Certainty.guessed


def _uncertain(value: Binding) -> Binding:
    """The value of a parameter, marked as uncertain, because other callers may pass other values."""
    if isinstance(value, Thing):
        return Thing(value.of, False)
    return either(map(_uncertain, value.values)) if isinstance(value, Alternatives) else value


def _with_parents(modules: Iterable[str]) -> frozenset[str]:
    names = set[str]()
    for module in modules:
        while module and module not in names:
            names.add(module)
            module = module.rpartition(".")[0]
    return frozenset(names)


def _short_names(modules: frozenset[str], packages: Set[str]) -> dict[str, str]:
    """The modules by the shorter names under which programs may import them. If ``src`` is a folder and not a package,
    programs import ``src.package.module`` as ``package.module``."""
    module_of: dict[str, str] = {}
    for module in sorted(modules, key=lambda name: (name.count("."), name)):
        folder, _, rest = module.partition(".")
        while rest and folder not in packages:
            if rest not in modules:
                module_of.setdefault(rest, module)
            part, _, rest = rest.partition(".")
            folder = f"{folder}.{part}"
    return module_of
