"""Knowledge about the values that framework functions return. It comes from the surfaces (lists of a framework's public
names) that ship with Portolan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from sys import intern

from coordinator.assess.values import Elements, Items, Method, Thing, array, is_array
from coordinator.catalogue.surfaces import (
    ARRAYS,
    CHARTABLE,
    ROOTS,
    plain_name,
    shipped_entries,
    shipped_releases,
)
from coordinator.catalogue.usage.resolver import MAKERS, OTHER, Binding, is_class
from coordinator.results.conditions import CallSite
from protocol.surface import SurfaceEntry

LAYERS = ("torch.nn.Module", "tf.keras.layers.Layer", "tf.Module")
"""Classes whose instances can be called."""
CALL_METHODS = {"torch.nn.Module": "forward", "tf.keras.layers.Layer": "call", "tf.Module": "__call__"}
_SEVERAL = frozenset(
    """aminmax array_split broadcast_arrays broadcast_tensors chunk cummax cummin divmod dsplit eig eigh frexp hsplit
    kthvalue lstsq lu max_pool2d_with_indices meshgrid mode modf moments qr slogdet sort_key_val split std_mean svd
    tensor_split top_k topk unbind unstack unsafe_chunk unsafe_split var_mean vsplit nonzero_static""".split()  # noqa: SIM905
)
"""Functions that return several arrays, except those in ``_ONE``."""
_SEVERAL_ALONG = frozenset({"max", "min", "median", "nanmedian", "sort", "where"})
"""PyTorch functions that return several arrays if they are called with a dimension."""
_LAYER_ARRAYS = frozenset(
    {"weight", "bias", "running_mean", "running_var", "in_proj_weight", "kernel", "gamma", "beta"}
)
"""Names of the attributes of layers that are arrays."""
_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves", "tf.nest.flatten"})
"""Functions that take arrays out of a container."""
_LEAVES_WITH_TREE = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree_flatten"})
_ONE = frozenset({"jax.random.split", "jax.numpy.sort", "jax.lax.sort", "tf.sort"})
_PLAIN_PROPERTIES = frozenset(
    """device device_buffer dtype fp_precision_type grad_fn is_cpu is_cuda is_deleted is_fully_addressable is_leaf
    is_meta is_mkldnn is_mps is_quantized is_sparse is_xla is_xpu itemsize layout name names nbytes ndim op
    output_nr requires_grad retains_grad shape sharding size weak_type""".split()  # noqa: SIM905
)
"""Properties of arrays that are not arrays."""
_PLAIN_METHODS = frozenset(
    """backward data_ptr dim element_size get_device get_shape is_complex is_contiguous is_floating_point is_pinned
    is_shared item ndimension nelement numel numpy register_hook requires_grad_ size storage storage_offset stride
    tolist type_as_string""".split()  # noqa: SIM905
)
_ARRAY_RESULT = re.compile(r"\b(Tensor|Array|ArrayLike|Self|Buffer)\b")
_PLAIN_RESULT = re.compile(r"'?(None|bool|int|str|float|complex|bytes|type|dtype|torch\.(dtype|device|Size)).*")
_NUMERIC = re.compile(
    r"torch\.(nn\.functional\.|linalg\.|fft\.|special\.|Tensor\.)?\w+"
    r"|jax\.(numpy|lax|nn|random|scipy)\.(\w+\.)*\w+"
    r"|tf\.((math|nn|linalg|image|signal|random|bitwise|raw_ops|keras\.ops|experimental\.numpy|compat\.v1)\.)?\w+"
)
"""Matches functions in modules that compute with arrays. It decides about functions whose signatures do not show the
result."""
_NO_ARRAYS = re.compile(
    r"torch\.((is|set|get|are|use)_\w+|compile|load|save|vmap|manual_seed|seed|cond|Generator|device|Size|dtype)"
    r"|tf\.(function|py_function|custom_gradient|(is|executing)_\w+|device|name_scope|group|no_op|print|shape)"
    r"|jax\.(lax\.(scan|while_loop|fori_loop|cond|switch|map|associative_scan|custom_\w+)|numpy\.(vectorize|shape|ndim|size))"
    r"|jax\.nn\.initializers\.\w+"
)
_MIXED_NAMES = frozenset(name for kind in (str, bytes, list, dict, set, int, float) for name in dir(kind))
"""Names of members of Python's built-in types. They do not show that an object is an array."""


@dataclass(frozen=True)
class Knowledge:
    """The names in the frameworks' surfaces, grouped by kind and by return value."""

    methods: Mapping[str, frozenset[str]]
    """The method names of arrays, by the framework's public root."""
    properties: frozenset[str]
    """The property names of arrays of any framework."""
    arrays: frozenset[str]
    """Functions and methods whose signatures say that they return arrays."""
    plain: frozenset[str]
    """Functions and methods whose signatures say that they return no arrays."""
    classes: frozenset[str]
    layers: frozenset[str]

    def told_by_name(self, method: str, root: str) -> bool:
        """Whether a method's name alone shows that its object is an array."""
        return method in self.methods.get(root, ()) and method not in _MIXED_NAMES

    def is_class(self, name: str) -> bool:
        return is_class(name) or name in self.classes

    def is_layer(self, name: str) -> bool:
        return name in self.layers

    def computes(self, name: str) -> bool:
        """Whether a function computes with an array that is its first argument. False for functions that create arrays,
        and for classes."""
        return (
            name not in MAKERS
            and name not in self.plain
            and not self.is_class(name)
            and _NO_ARRAYS.fullmatch(name) is None
            and _NUMERIC.fullmatch(name) is not None
        )

    def result(self, callee: str, call: CallSite | None, dtype: str | None, *, along: bool = False) -> Binding:
        """The value that a call of a framework's function returns. ``along`` is true if the call passes a dimension;
        some functions then return several values."""
        root, last = callee.partition(".")[0], callee.rpartition(".")[2]
        if is_array(callee):
            return array(root, certain=True, dtype=dtype)
        if self.is_class(callee):
            return Thing(callee, True, made_by=call)
        if callee in self.plain:
            return OTHER
        if callee in MAKERS:
            return array(root, certain=True, dtype=dtype)
        if callee in _LEAVES:
            return Elements(array(root, certain=False))
        if callee in _LEAVES_WITH_TREE:
            return Items((Elements(array(root, certain=False)), OTHER))
        if _NO_ARRAYS.fullmatch(callee):
            return None
        certain = callee in self.arrays
        if not certain and _NUMERIC.fullmatch(callee) is None:
            return None
        value = array(root, certain=certain, dtype=dtype)
        # ``torch.where(mask)`` returns one array of indices per dimension.
        is_split = along or (callee == "torch.where" and call is not None and call.positional == 1)
        return _several(callee, last, value, along=is_split)

    def result_of_method(
        self, method: Method, call: CallSite | None, dtype: str | None, *, along: bool = False
    ) -> Binding:
        owner, name = method.owner, method.name
        if not owner.is_array:
            return self.result(method.full_name, call, None) if method.full_name in self.arrays else None
        if name in _PLAIN_METHODS or f"{owner.of}.{name}" in self.plain:
            return OTHER
        root = owner.of.partition(".")[0]
        return _several(method.full_name, name, array(root, certain=owner.certain, dtype=dtype), along=along)

    def result_of_layer(self, layer: Thing) -> Binding:
        """The value that a call of a layer returns: an array if the class of the layer shows this, otherwise
        unknown."""
        if not self.is_layer(layer.of):
            return None
        return array(layer.of.partition(".")[0], certain=layer.certain and layer.of not in LAYERS)

    def member(self, owner: Thing, name: str) -> Binding:
        """A member of an instance: the value of a property, or a bound method."""
        if self.is_layer(owner.of) and name in _LAYER_ARRAYS:
            return array(owner.of.partition(".")[0], certain=True)
        if not owner.is_array or name not in self.properties:
            return Method(owner, name)
        return OTHER if name in _PLAIN_PROPERTIES else replace(owner, made_by=None)


def _several(callee: str, last: str, value: Thing, *, along: bool) -> Binding:
    if callee in _ONE:
        return value
    several = last in _SEVERAL or (along and callee.startswith("torch.") and last in _SEVERAL_ALONG)
    return Elements(value) if several else value


def read_shipped() -> tuple[Knowledge, PublicNames]:
    """Read the surfaces that ship with Portolan, the newest release of each framework first.

    Only one entry is in memory at a time, because all surfaces together take 60 MB.
    """
    public = PublicNames()

    def entries() -> Iterator[tuple[str, SurfaceEntry]]:
        for release in reversed(shipped_releases()):
            root = ROOTS[release.partition("@")[0]]
            names = public.add_release(root)
            for entry in shipped_entries(release):
                names.add(entry)
                yield root, entry

    return _knowledge_of(entries()), public


def _knowledge_of(entries: Iterable[tuple[str, SurfaceEntry]]) -> Knowledge:
    """Collect the knowledge about functions from entries of any releases, each with its framework's public root."""
    methods: dict[str, set[str]] = {root: set() for root in ROOTS.values()}
    properties, arrays, plain, classes, layers = (set[str]() for _ in range(5))
    for root, entry in entries:
        names = (entry.name, *entry.aliases)
        result = (entry.signature or "").rpartition("->")[2].strip() if "->" in (entry.signature or "") else ""
        members = [name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == ARRAYS[root]]
        methods[root].update(members)
        if entry.kind == "property":
            # ``x.at[index].set(value)`` is one call that is written in several parts.
            properties.update(name for name in members if name != "at")
        elif entry.kind == "class":
            classes.update(name for name in names if not is_class(name))
            if not {entry.name, *entry.bases}.isdisjoint(LAYERS):
                layers.update(names)
        elif _ARRAY_RESULT.search(result):
            arrays.update(names)
        elif _PLAIN_RESULT.fullmatch(result):
            plain.update(names)
    methods_by_root = {root: frozenset(names) for root, names in methods.items()}
    return Knowledge(methods_by_root, frozenset(properties), *map(frozenset, (arrays, plain, classes, layers)))


class PublicNames:
    """The canonical names of everything in the shipped surfaces that can be charted. The surfaces themselves are not
    kept."""

    def __init__(self) -> None:
        self._releases: dict[str, list[ReleaseNames]] = {root: [] for root in ROOTS.values()}
        self._known: dict[str, str | None] = {}

    def add_release(self, root: str) -> ReleaseNames:
        """Add another release, to which its names can be added. Releases that were added before have precedence.
        ``root`` is the framework's public root."""
        self._releases[root].append(ReleaseNames())
        return self._releases[root][-1]

    def canonical(self, name: str) -> str | None:
        """The canonical name of a function, class or method; None for other names."""
        try:
            return self._known[name]
        except KeyError:
            return self._known.setdefault(name, self._look_up(name))

    def has(self, name: str) -> bool:
        """Whether a name is public, or is a module with public names."""
        return self.canonical(name) is not None or plain_name(name) in self._modules

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The modules and classes that contain public names. They are collected only for code with star imports of a
        framework."""
        modules = set[str]()
        for names in chain.from_iterable(self._releases.values()):
            for name in chain(names.canonical, names.aliases):
                while (name := name.rpartition(".")[0]) and name not in modules:
                    modules.add(name)
        return frozenset(modules)

    def _look_up(self, name: str) -> str | None:
        for release in self._releases.get(name.partition(".")[0], ()):
            first_name = release.first_name(plain_name(name))
            if first_name is not None:
                return release.canonical[first_name]
        return None


@dataclass(frozen=True)
class ReleaseNames:
    """The names of one release."""

    canonical: dict[str, str | None] = field(default_factory=dict)
    """For the first name of every object, the canonical name: the same name, or None if no program can call the object
    or read its value."""
    aliases: dict[str, str] = field(default_factory=dict)
    """The first name of the object for each of its other names."""
    owners: dict[str, Sequence[str]] = field(default_factory=dict)
    """For the first name of every class, this name and the public base classes."""

    def add(self, entry: SurfaceEntry) -> None:
        # Releases of a framework have nearly the same names.
        name = intern(entry.name)
        self.canonical[name] = name if entry.kind in CHARTABLE else None
        self.aliases.update(dict.fromkeys(map(intern, entry.aliases), name))
        if entry.kind == "class" and (entry.bases or entry.aliases):
            self.owners[name] = (name, *map(intern, entry.bases))

    def first_name(self, name: str) -> str | None:
        """The first name of the object with this name. For a member of a class, also the member of this name of a base
        class. None if the release has no such object."""
        own_name = self._own_name(name)
        if own_name is not None:
            return own_name
        owner, _, member = name.rpartition(".")
        members = (f"{base}.{member}" for base in self.owners.get(self._own_name(owner) or "", ()))
        return next(filter(None, map(self._own_name, members)), None)

    def _own_name(self, name: str) -> str | None:
        return name if name in self.canonical else self.aliases.get(name)
