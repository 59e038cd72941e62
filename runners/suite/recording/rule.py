"""The rule that decides which calls a recording may make. Recorders, replays and runner services all use it.

A recording is data that may come from somebody else. The names in it are looked up and called. A call is allowed if

1. its function is public and belongs to one of the framework's modules and classes in ``HOMES``;
2. if its name begins with two underscores, it is an operator;
3. neither the table ``REFUSED`` nor a word of ``_WORDS`` forbids the last part of the function's name;
4. its arguments are arrays, plain values, and names of the few kinds of values in ``_VALUES``.

So a recording cannot call anything that reads or writes files, loads pickles or libraries, accesses other memory than
its arguments, starts processes or threads, communicates, or changes settings. A function that calls back into Python
needs a function as an argument, which condition 4 does not allow.

The rule is pure and does not depend on a framework's release. Each framework's ``recordable.py`` lists the functions of
its release that pass the rule. A name that is not in this list is not even looked up.

Standard library only, because both the runner's service and the framework's interpreter import it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "jax": (
            "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.nn", "jax.random",
            "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.stats", "jax.scipy.ndimage",
            "jax.scipy.fft", "jax.scipy.integrate", "jax.scipy.cluster.vq", "jax.image", "jax.ops", "jax.Array",
            "jax.Array.at",
        ),
        "tensorflow": (
            "tf", "tf.math", "tf.linalg", "tf.nn", "tf.signal", "tf.bitwise", "tf.image", "tf.random",
            "tf.quantization", "tf.experimental.numpy", "tf.Tensor", "tf.Variable",
        ),
        "torch": (
            "torch", "torch.Tensor", "torch.nn.functional", "torch.nn.init", "torch.fft", "torch.linalg",
            "torch.special",
        ),
    }
)  # fmt: skip
"""For each framework, the modules and classes whose functions may be called. Submodules are not included."""
_MORE: Mapping[str, frozenset[str]] = MappingProxyType({"jax": frozenset({"jax.device_put", "jax.random.PRNGKey"})})
"""Additional functions: they are in other modules, or their names begin with a capital like the name of a class."""

REFUSED: Mapping[str, Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "jax": {
            "it reads or writes files": frozenset({"save", "savez", "load", "fromfile"}),
            "it makes arrays of texts, or texts of arrays": frozenset(
                {"fromstring", "fromiter", "array_repr", "array_str"}
            ),
            "it reaches memory that it was not given": frozenset({"frombuffer", "from_dlpack"}),
            "it changes settings": frozenset({"printoptions", "get_printoptions", "set_printoptions"}),
            "it works with a function": frozenset(
                {
                    "apply", "apply_along_axis", "apply_over_axes", "fromfunction", "frompyfunc", "piecewise",
                    "vectorize", "composite", "custom_linear_solve", "custom_root", "platform_dependent",
                }
            ),
            "it works across devices, or on tokens of a program": frozenset(
                {
                    "after_all", "create_token", "dce_sink", "stage", "infeed", "outfeed", "all_gather", "all_to_all",
                    "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean", "pmin", "ppermute", "precv",
                    "psend", "pshuffle", "psum", "psum_scatter", "pswapaxes", "ragged_all_to_all",
                    "with_sharding_constraint",
                }
            ),
        },
        "tensorflow": {
            "it reads or writes files, or loads libraries": frozenset(
                {"fixed_unigram_candidate_sampler", "import_graph_def", "load_library", "load_op_library"}
            ),
            "it decodes or encodes a file's bytes": frozenset(
                {
                    "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_jxl",
                    "decode_png", "decode_webp", "encode_jpeg", "encode_png", "extract_jpeg_shape", "is_jpeg",
                }
            ),
            "it prints, or changes settings or scopes": frozenset(
                {
                    "print", "get_logger", "register_tensor_conversion_function", "device", "init_scope",
                    "control_dependencies", "variable_creator_scope", "set_seed", "get_global_generator",
                    "set_global_generator", "experimental_enable_numpy_behavior", "no_gradient",
                }
            ),
            "it works with a function": frozenset(
                {
                    "case", "cond", "custom_gradient", "foldl", "foldr", "function", "grad_pass_through", "map_fn",
                    "nondifferentiable_batch_function", "numpy_function", "py_function", "recompute_grad", "scan",
                    "switch_case", "vectorized_map", "while_loop",
                }
            ),
            "it works on graphs, messages and texts": frozenset(
                {
                    "as_string", "fingerprint", "get_static_value", "gradients", "group", "hessians", "make_ndarray",
                    "make_tensor_proto", "no_op", "timestamp", "tuple", "type_spec_from_value",
                }
            ),
        },
        "torch": {
            "it reaches memory that it was not given": frozenset(
                {
                    "set_", "data_ptr", "record_stream", "from_file", "frombuffer", "from_dlpack", "from_blob",
                    "share_memory_", "pin_memory", "as_subclass", "storage", "untyped_storage", "storage_type",
                    "module_load", "is_set_to",
                    # They interpret the bytes of an array as a C++ object.
                    "fbgemm_linear_fp16_weight", "fbgemm_linear_fp16_weight_fp32_activation",
                    "fbgemm_linear_int8_weight", "fbgemm_linear_int8_weight_fp32_activation",
                }
            ),
            "it works with a function": frozenset(
                {
                    "apply_", "map_", "map2_", "register_hook", "register_post_accumulate_grad_hook",
                }
            ),
            "it changes settings, or sets up a backward pass": frozenset(
                {
                    "autocast", "backward", "requires_grad_", "retain_grad", "enable_grad", "no_grad", "inference_mode",
                    "set_grad_enabled", "set_default_device", "set_default_dtype", "set_default_tensor_type",
                    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
                    "set_num_threads", "set_num_interop_threads", "set_printoptions", "set_rng_state",
                    "set_warn_always", "manual_seed", "seed", "use_deterministic_algorithms",
                }
            ),
        },
    }
)  # fmt: skip
"""For each framework, the functions in ``HOMES`` that a recording may not call: the reason, and their last names."""

_WORDS = re.compile(
    r"(?:^|_)(?:load|loads|save|saves|savez|dump|dumps|file|files|filename|pickle|unpickle|dlpack|hook|hooks|storage"
    r"|callback|callbacks|export|exported|serialize|deserialize|compile|compiled|exec|eval|import|library|libraries"
    r"|process|processes|thread|threads|fork|spawn|socket|subprocess|environ|profiler|hub|py|tofile|fromfile)(?:_|$)"
)
"""Words that forbid a function if its last name contains one. They catch functions of releases newer than the table."""

_NUMBERS = "add|and|div|divmod|floordiv|lshift|matmul|mod|mul|or|pow|rshift|sub|truediv|xor"
_OPERATOR = re.compile(
    rf"__(?:[ri]?(?:{_NUMBERS})|abs|eq|ge|gt|invert|le|lt|ne|neg|pos|round|contains|getitem|setitem|reversed)__"
)
_PUBLIC = re.compile(r"[a-z]\w*", re.ASCII)
"""The last name of a public function. Names of classes begin with a capital."""

_NUMBER_TYPE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_ENUM_MEMBER = re.compile(r"\A[A-Z]\w*\.[A-Za-z]\w*", re.ASCII)
_RECORD_CLASS = re.compile(r"[A-Z]\w*", re.ASCII)
_SIZES = re.compile(r"\[[0-9, ]*\]")
_VALUES: Mapping[str, Mapping[str, re.Pattern[str] | None]] = MappingProxyType(
    {
        "jax": {"dtype": _NUMBER_TYPE, "device": None, "public": _ENUM_MEMBER, "made": _RECORD_CLASS},
        "tensorflow": {"dtype": _NUMBER_TYPE},
        "torch": {"dtype": _NUMBER_TYPE, "format": _NUMBER_TYPE, "device": None, "size": _SIZES},
    }
)
"""For each framework, the kinds of values that an argument may name, and the pattern of such names. In JAX, ``public``
is a member of an enumeration and ``made`` a class of named tuples, both in ``HOMES``. None means that values of the
kind have no name, because there is only one."""
_PLAIN = frozenset({"array", "tuple", "mapping", "slice", "ellipsis", "float", "complex"})
"""The kinds of values that are written without a name."""

NOT_PUBLIC = "it is not a public function in one of the framework's modules for computing"
NO_FUNCTION = "a recording names no function among arguments"


def refusal(framework: str, function: str) -> str | None:
    """Return the reason why a recording may not call the function with this public name; None if it may."""
    home, _, last = function.rpartition(".")
    if function in _MORE.get(framework, ()):
        return None
    if home not in HOMES.get(framework, ()):
        return NOT_PUBLIC
    if not _PUBLIC.fullmatch(last) and not _OPERATOR.fullmatch(last):
        return NOT_PUBLIC
    for reason, names in REFUSED[framework].items():
        if last in names:
            return reason
    if word := _WORDS.search(last):
        return f"its name has the word {word[0].strip('_')!r}"
    return None


def argument_refusal(framework: str, value: Any) -> str | None:
    """Return the reason why a call may not have these written arguments; None if it may."""
    return next(_refused_values(framework, value), None)


def call_refusal(framework: str, function: str, value: Any) -> str | None:
    """Return the reason why a recording may not make this call; None if it may."""
    return refusal(framework, function) or argument_refusal(framework, value)


def names_value(framework: str, kind: str, name: str) -> bool:
    """Whether an argument may name a value of this kind by this name."""
    forms = _VALUES.get(framework, {})
    if kind not in forms:
        return False
    if (form := forms[kind]) is None:
        return not name
    if kind == "made":
        name = _class_of(name)
    if kind in ("public", "made"):
        home = max((home for home in HOMES[framework] if name.startswith(f"{home}.")), key=len, default=None)
        if home is None:
            return False
        name = name[len(home) + 1 :]
    return form.fullmatch(name) is not None


def refused_names(framework: str) -> frozenset[str]:
    """Return the last names of all forbidden functions in ``REFUSED``."""
    return frozenset(chain.from_iterable(REFUSED[framework].values()))


def _refused_values(framework: str, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for member in value:
            yield from _refused_values(framework, member)
    elif isinstance(value, Mapping):
        kind, content = next(iter(value.items()), ("", None))
        if "named" in value:
            if not names_value(framework, str(kind), str(content)):
                yield f"{NO_FUNCTION}, as this one does: {content}"
        elif kind not in _PLAIN:
            yield f"a recording has no values of the kind {kind!r}"
        else:
            yield from _refused_values(framework, content)


def _class_of(made: str) -> str:
    """Return the class of a written named tuple; empty if the text is not one."""
    try:
        owner = json.loads(made)["class"]
    except (ValueError, TypeError, KeyError):
        return ""
    return owner if isinstance(owner, str) else ""
