"""Harmless places: why a finding does not concern a place, as far as the source shows. Pure."""

from __future__ import annotations

import re
from collections import defaultdict, deque

from coordinator.assess.sites import AssessedSource, GuardKind, Site, Use, function_of
from coordinator.assess.verdicts import Kind
from coordinator.catalogue.usage.resolver import is_class

ON_HOST = "its arrays stay on the host, as far as the source shows"
UNREACHABLE = "the code takes another branch on this device"
OTHER_DEVICE = "the code calls it only for another kind of device"
IN_TESTS = "it is in the code's own tests"
AT_SETUP = "it is in code that sets a module up, or reads or writes its state"
PREPARES_DATA = "it is in code that prepares data, which runs on the host as a rule"
EXPORTS = "it is in code that exports a model, which runs on the host as a rule"
PROGRAM_CONSTANT = "a compiler makes it a constant of the program"

_DEVICE_CALL = re.compile(
    r"torch\.(?:cuda|mps|mtia|xpu)\.(?:\w+\.)*\w+|torch\.(?:Tensor|nn\.Module)\.(?:cuda|hpu|ipu|mtia|npu|xpu)"
)
"""Functions of one kind of device."""
_DEVICE_WORD = re.compile(r"cuda|cudnn|hpu|ipu|mps|mtia|npu|xpu")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|testing|test_utils)/")
_TEST_FILE = re.compile(r"(?:^|/)(?:\w+_test|conftest)\.py$")
_PERHAPS_TEST_FILE = re.compile(r"(?:^|/)test_\w+\.py$")
_SETUP_METHOD = re.compile(
    r"__init__|__post_init__|__repr__|extra_repr|build|_?init(?:ialize)?(?:_\w+)?|_?reset_(?:\w+_)?parameters"
    r"|_?load_from_state_dict|load_state_dict|_?(?:save|load)_(?:to_)?state_dict|from_pretrained|from_config"
)
_SETUP_FUNCTION = re.compile(
    r"_?(?:convert|load|save|remap|filter|init)_(?:\w+_)?(?:checkpoint|state_dict|weights?)\w*"
    r"|(?:\w+_)?checkpoint_filter_fn|_?init_weights?(?:_\w+)?"
)
_DATA_CODE = re.compile(
    r"(?:^|/)(?:data|datasets?|\w*data_?loaders?|loaders?|preprocessing|tokenizers?)/"
    r"|(?:^|/)(?:data|datasets?|\w*data_?loaders?|data_utils|preprocess(?:ing)?)\.py$"
)
_EXPORT_CODE = re.compile(r"(?:^|/)(?:export|exporters?)(?:/|\.py$)|(?:^|/)exporter_\w+\.py$")
_TRANSFORMS = re.compile(r"(?:^|/)\w*transforms?(?:/|\.py$)")
"""Where the callable classes prepare data; other classes there may be those of distributions."""
_COSTS = frozenset({Kind.falls_back, Kind.slow})
"""Kinds that cost time and nothing else, so that what happens once costs little."""
_CONSTANTS = frozenset(
    f"tf.{name}" for name in ("constant", "convert_to_tensor", "eye", "fill", "ones", "range", "zeros")
)
"""Functions that make a constant, of no array."""


def is_for_other_device(function: str, device: str) -> bool:
    """Whether a function belongs to another kind of device than this one: ``torch.cuda.synchronize`` on XLA."""
    return _DEVICE_CALL.fullmatch(function) is not None and device not in function.split(".")


def is_test_code(site: Site) -> bool:
    """Whether a place is in a test: ``tests/models.py``, ``models_test.py``, ``test_models.py`` within ``TestModels``.

    The file's name ``test_time_pooling.py`` alone may as well be that of a pooling layer.
    """
    if _TEST_FOLDER.search(site.path) or _TEST_FILE.search(site.path):
        return True
    return _PERHAPS_TEST_FILE.search(site.path) is not None and "test" in site.within.lower()


def why_not_on_device(site: Site, device: str, *, has_default_device: bool, are_tests_apart: bool) -> str:
    """The reason why a place does not run on the device; empty if the source shows none. ``are_tests_apart``: the
    source has other code than tests.
    """
    if any(guard.reaches(device) is False for guard in site.guards):
        return UNREACHABLE
    if is_for_other_device(site.function, device) and _is_chosen(site):
        return OTHER_DEVICE
    if site.is_on_host and not has_default_device:
        return ON_HOST
    if are_tests_apart and is_test_code(site):
        return IN_TESTS
    if _EXPORT_CODE.search(site.path):
        return EXPORTS
    is_transform = _TRANSFORMS.search(site.path) is not None and site.within.endswith(".__call__")
    return PREPARES_DATA if is_transform or _DATA_CODE.search(site.path) else ""


def why_cheap(kind: Kind, site: Site, device: str, *, is_called_at_setup: bool = False) -> str:
    """The reason why a place costs little though the call runs on the host or is slow; empty if there is none.
    ``is_called_at_setup``: only code that sets modules up calls the function around it.
    """
    if kind not in _COSTS:
        return ""
    if kind is Kind.slow and device == "xla" and site.function in _CONSTANTS:
        return PROGRAM_CONSTANT
    # What is made or handed on there is used later: ``self.pool = nn.AdaptiveMaxPool2d(1)``.
    is_used_later = site.use is Use.named or is_class(site.function)
    if not is_used_later and (is_called_at_setup or is_setup_place(site)):
        return AT_SETUP
    return ""


def is_setup_place(site: Site) -> bool:
    """Whether a place is in a method that sets a module up, or in a function that reads or writes its state."""
    return site.is_at_setup or _is_setup_function(site.within)


def called_at_setup(source: AssessedSource) -> frozenset[str]:
    """The user's private functions that nothing but code that sets modules up calls: ``self._rotations(size)`` in
    ``__init__``. Programs may call public ones at any time.
    """
    called_by: dict[str, set[str]] = defaultdict(set)
    for caller, callees in source.calls.items():
        for callee in callees - {caller}:
            called_by[callee].add(caller)
    places = {function_of(site, source.modules) for site in source.sites if is_setup_place(site)}
    set_up = {caller for caller in source.calls if caller in places or _is_setup_function(caller)}
    helpers = set[str]()
    waiting = deque(set_up)
    while waiting:
        for callee in source.calls.get(waiting.popleft(), ()):
            is_private = callee.rpartition(".")[2].startswith("_")
            if is_private and callee not in set_up and called_by[callee] <= set_up:
                set_up.add(callee)
                helpers.add(callee)
                waiting.append(callee)
    return frozenset(helpers)


def _is_setup_function(path: str) -> bool:
    return _SETUP_FUNCTION.fullmatch(path.rpartition(".")[2]) is not None


def is_setup_method(method: str) -> bool:
    """Whether a method of a module sets it up, describes it, or reads or writes its state."""
    return _SETUP_METHOD.fullmatch(method) is not None


def _is_chosen(site: Site) -> bool:
    """Whether the code around a call names its device: ``def cuda(self):``, ``if use_cuda:``."""
    return _DEVICE_WORD.search(site.within.lower()) is not None or any(
        guard.kind in (GuardKind.device, GuardKind.availability) for guard in site.guards
    )
