"""Harmless sites: reasons in the source why a finding does not matter at a site. This module does no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from coordinator.assess.sites import GuardKind, Site, Use
from coordinator.assess.verdicts import Kind
from coordinator.catalogue.usage.resolver import is_class

ON_HOST = "its arrays stay on the host, as far as the source shows"
UNREACHABLE = "the code takes another branch on this device"
OTHER_DEVICE = "the code calls it only for another kind of device"
IN_TESTS = "it is in the code's own tests"
AT_SETUP = "it runs once or once in an epoch: it sets a module up, reads or writes its state, or ends an epoch"
PREPARES_DATA = "it is in code that prepares data, which usually runs on the host"
SHOWS = "it is in code that prints, plots or logs"
GOES_TO_HOST = "its result is moved to the host immediately"
IN_DEMO = "a demo runs it once"
NOT_REPEATED = "no layer, loop or public function with arrays reaches it"
IN_ERROR = "it runs only before the code raises an error"
OFFERED = "nothing in this source calls its method; it matters if your code does"
EXPORTS = "it is in code that exports a model, which usually runs on the host"
IF_ON = "it runs only with `{}`, which is off by default and which no code here switches on"
IF_GIVEN = "it runs only if `{}` is passed, and no code here passes it"
PROGRAM_CONSTANT = "the compiler turns its result into a constant of the program"

_DEVICE_CALL = re.compile(
    r"torch\.(?:cuda|mps|mtia|xpu)\.(?:\w+\.)*\w+|torch\.(?:Tensor|nn\.Module)\.(?:cuda|hpu|ipu|mtia|npu|xpu)"
)
"""Functions that belong to one kind of device."""
_DEVICE_WORD = re.compile(r"cuda|cudnn|hpu|ipu|mps|mtia|npu|xpu")
_DEVICE_FUNCTION = re.compile(r"(?:^|[._])(hpu|ipu|mps|mtia|npu|xpu)(?:$|[._])")
"""Matches the names of functions for one kind of device. ``cuda`` is excluded, because a program that moves to another
device also moves the functions that it names after CUDA."""
_FLASH_ATTENTION = re.compile(r"FlashAttention|flash_attn|flash_attention")
"""Code that uses the package ``flash-attn``, which works only with CUDA. Models have other attention for other
devices."""
_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|testing|test_utils)/")
_TEST_FILE = re.compile(r"(?:^|/)(?:\w+_test|conftest)\.py$")
_PERHAPS_TEST_FILE = re.compile(r"(?:^|/)test_\w+\.py$")
_SETUP_METHOD = re.compile(
    r"__init__|__post_init__|__repr__|extra_repr|build|_?(?:init(?:ialize)?|setup)(?:_\w+)?|_?reset_(?:\w+_)?parameters"
    r"|_?load_from_state_dict|load_state_dict|_?(?:save|load)_(?:to_)?state_dict|from_pretrained|from_config"
)
_SETUP_FUNCTION = re.compile(
    r"_?(?:convert|load|save|remap|filter|init)_(?:\w+_)?(?:checkpoint|state_dict|weights?)\w*"
    r"|(?:\w+_)?checkpoint_filter_fn|_?init_weights?(?:_\w+)?"
    r"|_?build_\w*(?:backbone|decoder|encoder|estimator|flow|model|net|network)"
)
_INITIALIZER = re.compile(r"_?init(?:ialize)?_\w+|(?:\w+_)?init(?:ializer)?_?")
"""Functions outside of classes that compute the first values of parameters: ``init_phases``, ``orthogonal_init``."""
_STAGE_HOOK = re.compile(
    r"(?:on|before|after)_(?:train(?:ing)?|eval(?:uation)?)(?:_(?:exp|experience|dataset|stage|task))?"
)
"""Methods that a framework calls once for each stage of a continual training: ``after_training_exp``."""
_FRAMEWORK_SETUP = re.compile(r"configure_\w+|setup|prepare_data")
"""Methods that a training framework calls once."""
_RARE_HOOK = re.compile(
    r"_?(?:on|before|after)_(?!\w*(?:batch|step|iter|backward|zero_grad))\w*(?:epoch|fit|train|validat\w*|val|test|predict)"
    r"(?:_(?:start|begin|end))?|\w+_epoch_(?:start|begin|end)"
)
"""Methods that a training framework calls once, or once in an epoch: ``on_fit_start``, ``validation_epoch_end``."""
_METRIC = re.compile(r"Metric$")
"""Classes of metrics. Their method ``compute`` summarizes an epoch, and ``update`` runs for each batch."""
_TOKENIZER = re.compile(r"Tokenizer(?:Base|Fast)?$")
"""Classes that turn texts or series into the inputs of a model, before these are moved to the device."""
_STATE_PARAMETER = re.compile(r"(?:^|_)state_dict$|^checkpoint(?:_model|_state)?$|^ckpt$")
"""Matches the names of parameters that take the weights of a module."""
_LOADING_CODE = re.compile(r"(?:^|[/_])(?:checkpoint|model|state_dict|weights?)_(?:conversion|load(?:er|ing))\.py$")
"""Files that load the weights of a model, which happens once."""
_CONVERTED_WORD = re.compile(r"checkpoint|ckpt|model|original|state_dict|to_hf|weight")
"""Words in the names of files that convert the weights of a model and begin with ``convert_``."""
_DATA_CODE = re.compile(
    r"(?:^|/)(?:data|datasets?|\w*data_?loaders?|loaders?|preprocessing|splits|splitting|tokenizers?)/"
    r"|(?:^|/)(?:data|(?:\w*_)?datasets?(?:_\w+)?|\w*data_?loaders?|data_utils|preprocess(?:ing)?|splits?|splitting)\.py$"
)
"""Files that prepare data. A file ``splitter.py`` is not one of them, because an inference may split its input."""
_MODEL_INPUT_CODE = re.compile(r"(?:^|/)(?:feature_extraction|(?:image_|video_)?processing)_\w+\.py$")
"""Files that turn images, sounds and texts into the inputs of one model (``image_processing_beit.py``), and often its
outputs into results."""
_OUTPUT_FUNCTION = re.compile(r"(?:^|\.)(?:_?post_?process\w*|forward)(?:$|\.)")
"""Functions in these files that run on the device, because they take outputs of the model."""
_EXPORT_CODE = re.compile(r"(?:^|/)(?:export|exporters?)(?:/|\.py$)|(?:^|/)exporter_\w+\.py$")
_EXPORT_FUNCTION = re.compile(r"export|_?export_(?:\w+_)?(?:model|onnx|torch_?script)|(?:to|as|export_to)_onnx")
_TRANSFORMS = re.compile(r"(?:^|/)\w*transforms?(?:/|\.py$)")
"""Files in which classes with a method ``__call__`` prepare data. Other classes in such files may be transforms of
distributions, which run on the device."""
_AUGMENTING_CODE = re.compile(r"^(?:.*/)?\w*augment\w*(?:/|\.py$)")
"""A folder or file that changes the data of a training at random. A data loader or a training step may use it."""
_COPIED_CODE = re.compile(r"(?:^|/)_?(?:third_?party|vendor(?:ed)?|externals?)/")
"""Folders with code of other packages. Much of such code is never used."""
_DEMO = re.compile(
    r"(?:^|/)(?:examples?|demos?|tutorials?|docs?)/|(?:^|/)(?:(?:demo|example)_\w+|\w+_(?:demo|example))\.py$"
)
_DATA_CLASS = re.compile(
    r"(?:^|\.)\w*(?:Data[sS]et|DataLoader|DataModule|Collat(?:e|or)\w*|(?:Batch|Negative|Neighbor|Random)Sampler)\."
)
"""Classes of data sets and loaders, recognized by name. Classes that inherit from the framework's classes are
recognized elsewhere."""
_COLLATES = re.compile(r"(?:^|[._])collate(?:$|[._])")
_SHOWING_WORDS = frozenset(
    (
        "plot",
        "figure",
        "print",
        "show",
        "visualize",
        "visualise",
        "display",
        "summary",
        "summarize",
        "summarise",
        "verbose",
        "diagnostics",
    )
)
_SHOWING_CODE = re.compile(r"(?:^|[/_])(?:plot(?:s|ting|ter)?|visuali[sz](?:e|er|ers|ations?)|viz)(?=[/_]|\.py$)")
_LOGS = re.compile(r"_?log_(?:figures?|gradients|histograms?|images?|metrics?|statistics|stats|videos?)(?:_\w+)?")
"""Functions that write to a log. Other functions named ``log_…`` compute logarithms."""
_IMAGE_PARTS = ("box", "mask", "keypoint", "line", "text", "label")
"""Words for shapes and texts. A function whose name has ``draw`` and one of these words draws into an image. Other
functions named ``draw`` draw samples from a distribution."""
_RUNS_ONCE = re.compile(r"(?:^|\.)(?:fit|main)$")
"""Functions that contain the loop of a program or of an estimator. Code outside of their loops runs once."""
_COSTS = frozenset({Kind.falls_back, Kind.slow})
"""The kinds of findings that only cost time. They matter little in code that runs once."""
_CONSTANTS = frozenset(
    f"tf.{name}" for name in ("constant", "convert_to_tensor", "eye", "fill", "ones", "range", "zeros")
)
"""Functions that create a constant without taking an array."""
RECENT = 256
"""The number of remembered answers about files and functions. The sites of a function follow one another, and so do
the functions of a file."""


@lru_cache(RECENT)
def is_for_other_device(function: str, device: str) -> bool:
    """Whether a function belongs to another kind of device than this one. For example, ``torch.cuda.synchronize`` does
    for ``xla``."""
    return _DEVICE_CALL.fullmatch(function) is not None and device not in function.split(".")


def is_test_code(site: Site) -> bool:
    """Whether a site is in test code: ``tests/models.py``, ``models_test.py``, or ``TestModels`` in ``test_models.py``.

    A file name such as ``test_time_pooling.py`` is not enough, because the file may define a pooling layer.
    """
    if is_test_file(site.path):
        return True
    return _PERHAPS_TEST_FILE.search(site.path) is not None and "test" in site.within.lower()


@lru_cache(RECENT)
def is_test_file(path: str) -> bool:
    """Whether all code of a file is test code."""
    return _TEST_FOLDER.search(path) is not None or _TEST_FILE.search(path) is not None


@lru_cache(RECENT)
def why_aside(path: str, within: str) -> str:
    """The reason, taken from the names of the file and the function, why a function does not run on the device
    repeatedly; empty if the names give none."""
    file = _file(path)
    if file.exports or any(map(_EXPORT_FUNCTION.fullmatch, within.split("."))):
        return EXPORTS
    if file.is_for_flash_attention or _FLASH_ATTENTION.search(within):
        return OTHER_DEVICE
    is_transform = file.is_transform and within.endswith(".__call__")
    if is_transform or file.prepares_data or _DATA_CLASS.search(within) or _COLLATES.search(within):
        return PREPARES_DATA
    if file.makes_model_inputs and not _OUTPUT_FUNCTION.search(within):
        return PREPARES_DATA
    return SHOWS if file.shows or any(map(_shows, within.split("."))) else ""


class _File(NamedTuple):
    """The purposes of a file, as far as its name shows them."""

    exports: bool
    is_for_flash_attention: bool
    is_transform: bool
    prepares_data: bool
    makes_model_inputs: bool
    shows: bool


@lru_cache(RECENT)
def _file(path: str) -> _File:
    return _File(
        _EXPORT_CODE.search(path) is not None,
        _FLASH_ATTENTION.search(path.rpartition("/")[2]) is not None,
        is_transform_file(path),
        _DATA_CODE.search(path) is not None,
        _MODEL_INPUT_CODE.search(path) is not None,
        _SHOWING_CODE.search(path) is not None,
    )


def augmenting_code(path: str) -> str:
    """The folder or file with code for augmentations that contains a file; empty if none does."""
    match = _AUGMENTING_CODE.match(path)
    return match[0] if match else ""


def is_copied(path: str) -> bool:
    """Whether a file is a copy from another package."""
    return _COPIED_CODE.search(path) is not None


def is_demo(path: str) -> bool:
    """Whether a file is a script that shows how to use the code."""
    return _DEMO.search(path) is not None


def is_transform_file(path: str) -> bool:
    """Whether classes of a file that can be called prepare data: ``transforms/crop.py``."""
    return _TRANSFORMS.search(path) is not None


def _shows(name: str) -> bool:
    """Whether the name says that the function prints, plots or logs: ``print_summary``, ``_plot``, ``log_images``,
    ``draw_bounding_boxes``."""
    words = name.split("_")
    if _LOGS.fullmatch(name):
        return True
    return not _SHOWING_WORDS.isdisjoint(words) or ("draw" in words and any(part in name for part in _IMAGE_PARTS))


def why_not_on_device(site: Site, device: str, *, has_default_device: bool, are_tests_apart: bool) -> str:
    """The reason why a site does not run on the device; empty if the source shows no reason.

    ``are_tests_apart`` is true if the source also contains code that is not a test.
    """
    if site.guards:
        if any(guard.reaches(device) is False for guard in site.guards):
            return UNREACHABLE
        if any(guard.kind is GuardKind.export for guard in site.guards):
            return EXPORTS
        if any(guard.kind is GuardKind.error for guard in site.guards):
            return IN_ERROR
    if is_for_other_device(site.function, device) and _is_chosen(site):
        return OTHER_DEVICE
    if _is_named_after_other_device(site.within, device):
        return OTHER_DEVICE
    if site.is_on_host and not has_default_device:
        return ON_HOST
    if are_tests_apart and is_test_code(site):
        return IN_TESTS
    why = why_aside(site.path, site.within)
    return why if why != SHOWS else ""


@lru_cache(RECENT)
def _is_named_after_other_device(within: str, device: str) -> bool:
    return any(name != device for name in _DEVICE_FUNCTION.findall(within))


def why_cheap(
    kind: Kind,
    site: Site,
    device: str,
    *,
    is_repeated: bool = True,
    is_offered: bool = False,
    are_demos_apart: bool = False,
) -> str:
    """Return the reason why a site costs little although its call runs on the host or is slow; an empty text if there
    is no reason. ``is_repeated`` is true if the function around the site runs repeatedly, as far as the source shows.
    ``is_offered`` is true if only public methods reach the function, and no code of the user calls these methods.
    ``are_demos_apart`` is true if the source also contains code that is not a demo."""
    if kind not in _COSTS:
        return ""
    if kind is Kind.slow and device == "xla" and site.function in _CONSTANTS:
        return PROGRAM_CONSTANT
    if kind is Kind.falls_back and site.goes_to_host:
        return GOES_TO_HOST
    # Modules that set-up code creates or passes on are used later: ``self.pool = nn.AdaptiveMaxPool2d(1)``.
    if site.use is Use.named or is_class(site.function):
        return ""
    if is_setup_place(site):
        return AT_SETUP
    if are_demos_apart and not (site.within or site.is_in_loop) and is_demo(site.path):
        return IN_DEMO
    if why_aside(site.path, site.within) == SHOWS:
        return SHOWS
    if site.flag is not None:
        return IF_GIVEN.format(site.flag.name) if site.flag.is_none else IF_ON.format(site.flag.name)
    runs_once = not site.is_in_loop and _RUNS_ONCE.search(site.within) is not None
    if runs_once or not is_repeated:
        return NOT_REPEATED
    return OFFERED if is_offered else ""


def is_setup_place(site: Site) -> bool:
    """Whether a site is in a method that sets up a module, or in code that reads or writes a module's state."""
    return site.is_at_setup or is_setup_function(site.within) or _loads_weights(site.path)


def _loads_weights(path: str) -> bool:
    """Whether a file loads or converts the weights of a model: ``weight_loader.py``, ``convert_vit_to_hf.py``."""
    name = path.rpartition("/")[2]
    is_conversion = name.startswith("convert_") and _CONVERTED_WORD.search(name) is not None
    return is_conversion or _LOADING_CODE.search(path) is not None


def is_setup_function(path: str) -> bool:
    name = path.rpartition(".")[2]
    return _SETUP_FUNCTION.fullmatch(name) is not None or _INITIALIZER.fullmatch(path) is not None


def takes_state(parameters: Iterable[str]) -> bool:
    """Whether a function with these parameters reads or writes the weights of a module, as far as their names show:
    ``interpolate_positions(model, state_dict)``."""
    return any(map(_STATE_PARAMETER.search, parameters))


def is_rare_hook(method: str) -> bool:
    """Whether a training framework calls a method with this name only once, or once in an epoch."""
    is_of_epoch = _RARE_HOOK.fullmatch(method) is not None or _STAGE_HOOK.fullmatch(method) is not None
    return is_of_epoch or _FRAMEWORK_SETUP.fullmatch(method) is not None


def is_metric(class_names: Iterable[str]) -> bool:
    """Whether a class with these names, its own and those of its base classes, is a metric."""
    return any(map(_METRIC.search, class_names))


def is_summary(method: str, parameters: Sequence[str]) -> bool:
    """Whether a method of a metric summarizes the values that the metric has collected in an epoch."""
    return method == "compute" and not parameters


def is_tokenizer(class_names: Iterable[str]) -> bool:
    """Whether a class with these names, its own and those of its base classes, is a tokenizer."""
    return any(map(_TOKENIZER.search, class_names))


def is_setup_method(method: str) -> bool:
    """Whether a method of a module sets it up, describes it, or reads or writes its state."""
    return _SETUP_METHOD.fullmatch(method) is not None


def _is_chosen(site: Site) -> bool:
    """Whether the code around a call selects its device: ``def cuda(self):``, ``if use_cuda:``."""
    return _DEVICE_WORD.search(site.within.lower()) is not None or any(
        guard.kind in (GuardKind.device, GuardKind.availability) for guard in site.guards
    )
