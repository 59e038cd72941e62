"""Calls that double an array, with or without silent work on the host. All frameworks share them.

``PLANTS`` work on the host, in each way that the rule of ``runners/suite/host_work.py`` names, and must be detected.
``HONEST`` calls look similar and stay on the device. Each call is written once, with the functions of ``Operations``,
which each framework implements. The verdict must be the same for all frameworks.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import functools
import io
import itertools
import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from protocol.enums import Placement, TimingPolicy
from runners.suite.cases import Case, Context, Function

NUMBERS = 6
"""The length of the array that is doubled."""


class Operations(Protocol):
    """The operations of a framework from which the calls are composed. ``x`` is an array on the device with one
    dimension."""

    reads: dict[str, Callable[[Any], Any]]
    """Ways to read all numbers of an array on the host, by name. Each takes an array on the device and returns a NumPy
    array."""

    def double(self, x: Any) -> Any:
        """Twice ``x``, computed on the device."""

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two arrays, computed on the device."""

    def scale(self, x: Any, number: float) -> Any:
        """``x`` times a Python number, computed on the device."""

    def total(self, x: Any) -> Any:
        """The sum of all numbers, as an array without dimensions on the device."""

    def entry(self, x: Any, place: int) -> Any:
        """One number of an array, picked in the framework's usual way. It stays on the device if the framework keeps it
        there."""

    def entries(self, x: Any) -> list[Any]:
        """The array's numbers, as iteration in Python yields them."""

    def apart(self, x: Any) -> list[Any]:
        """All numbers, each as an array without dimensions. The device separates them in one step."""

    def first(self, x: Any, count: int) -> list[Any]:
        """The first few numbers, each as an array without dimensions, picked on the device."""

    def join(self, numbers: list[Any]) -> Any:
        """An array on the device, joined from arrays without dimensions on the device."""

    def array(self, values: Any) -> Any:
        """An array on the device, from a list or a NumPy array."""

    def flags(self, x: Any) -> Any:
        """A Boolean array made on the device: true for each number that equals itself."""

    def places(self, x: Any) -> Any:
        """0, 1, 2, …: as many integers as ``x`` has numbers, made on the device."""

    def take(self, x: Any, places: list[int]) -> Any:
        """The numbers at these indexes, taken on the device."""

    def newton(self, x: Any) -> Any:
        """One Newton step from ``x``, an array without dimensions, toward the square root of four, computed on the
        device."""

    def elsewhere(self, x: Any) -> Any:
        """Twice ``x``, computed by an operation of the framework on the host or on another device, and moved back."""

    def called_back(self, function: Callable[[Any], Any], x: Any) -> Any:
        """An array on the device with the result of a Python function that the framework calls with the numbers."""

    def gradient(self, x: Any) -> Any:
        """The gradient of the sum of squares, computed on the device."""

    def choose(self, x: Any) -> Any:
        """Twice ``x`` where it equals itself, and zero elsewhere, computed on the device."""


class ArrayOperators:
    """The part of ``Operations`` that is the same for all frameworks whose array operators run on the array's
    device."""

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def scale(self, x: Any, number: float) -> Any:
        return x * number

    def total(self, x: Any) -> Any:
        return x.sum()

    def entry(self, x: Any, place: int) -> Any:
        return x[place]

    def entries(self, x: Any) -> list[Any]:
        return list(x)

    def first(self, x: Any, count: int) -> list[Any]:
        return [x[place] for place in range(count)]

    def flags(self, x: Any) -> Any:
        return x == x

    def newton(self, x: Any) -> Any:
        return (x + 4 / x) / 2


Call = Callable[[Operations, Any], Any]


@dataclass(frozen=True)
class Trial:
    """A call, and its expected verdict."""

    name: str
    call: Call
    placement: Placement
    timing: TimingPolicy = TimingPolicy.off
    """False if the number of calls does not matter."""
    calls: range | None = None
    """For a fallback that happens only in some calls, the numbers of these calls, from 0. In other calls the array is
    doubled on the device."""
    constructs: bool = False
    """Whether the case constructs ``call`` with the array before it calls ``call`` with the array."""

    def case(self, operations: Operations, function: str) -> Case:
        """The call as the only case of a function, under a public name of the framework."""
        call: Any = functools.partial(self.call, operations)
        prepare = _plain_call
        if self.calls is not None:
            call = _in_some_calls(call, operations.double, self.calls)
        if self.constructs:
            call = type("Constructed", (self.call,), {"operations": operations})  # type: ignore[misc]
            prepare = _construction
        trial_function = Function(function, lambda x: 2 * x, prepare, given=call)
        trial_function.value("doubled", lambda inputs: [inputs.normal(NUMBERS)])
        return trial_function.cases[-1]


def _in_some_calls(call: Callable[[Any], Any], other: Callable[[Any], Any], calls: range) -> Callable[[Any], Any]:
    turns = itertools.count()
    return lambda x: call(x) if next(turns) in calls else other(x)


def _plain_call(context: Context, x: Any) -> Callable[[], Any]:
    """The call as it is, not compiled as a whole, because a compiled program cannot read values."""
    return lambda: context.function(x)


def _construction(context: Context, x: Any) -> Callable[[], Any]:
    instance = context.function(x)
    return lambda: instance(x)


def host_doubles(values: Any) -> Any:
    return np.asarray(values, "float32") * np.float32(2)


def bring_to_device(operations: Operations, x: Any, values: Any) -> Any:
    """Move values to the device, and add zero to them, because a call that executes nothing on the device has an
    unknown placement."""
    return operations.add(operations.array(values), operations.scale(x, 0.0))


def numpy(operations: Operations, x: Any) -> Any:
    """The basic fallback: all numbers are read, doubled by NumPy, and moved back."""
    return bring_to_device(operations, x, host_doubles(operations.reads["NumPy"](x)))


def elsewhere(operations: Operations, x: Any) -> Any:
    return operations.add(operations.elsewhere(x), operations.scale(x, 0.0))


def called_back(operations: Operations, x: Any) -> Any:
    return operations.add(operations.called_back(host_doubles, x), operations.scale(x, 0.0))


def one_by_one(convert: Callable[[Any], float]) -> Call:
    def call(operations: Operations, x: Any) -> Any:
        return bring_to_device(operations, x, host_doubles([convert(number) for number in operations.entries(x)]))

    return call


def by_read(name: str) -> Call:
    return lambda operations, x: bring_to_device(operations, x, host_doubles(operations.reads[name](x)))


def then_by_read(name: str) -> Call:
    return lambda operations, x: operations.array(np.array(operations.reads[name](operations.double(x))))


def factor_by_read(name: str) -> Call:
    return lambda operations, x: operations.scale(x, 2 + 0 * float(np.sum(operations.reads[name](x))))


def by_text(text: Callable[[Any], str]) -> Call:
    """The text is made but not used, which no watch can know."""

    def call(operations: Operations, x: Any) -> Any:
        assert text(x)
        return operations.double(x)

    return call


def numbers_filled_in(operations: Operations, x: Any) -> Any:
    """Each number comes back as a Python number, with which a one on the device is multiplied."""
    one = operations.array([1.0])
    return operations.add(
        operations.double(x),
        operations.scale(
            functools.reduce(
                operations.add, [operations.scale(one, float(number)) for number in operations.entries(x)]
            ),
            0.0,
        ),
    )


def most_numbers(operations: Operations, x: Any) -> Any:
    numbers = [float(operations.entry(x, place)) for place in range(NUMBERS - 2)]
    return operations.add(operations.double(x), operations.array([0.0 * sum(numbers)] * NUMBERS))


def numbers_of_products(operations: Operations, x: Any) -> Any:
    products = operations.double(x)
    return operations.array([float(operations.entry(products, place)) for place in range(NUMBERS)])


def numbers_computed(operations: Operations, x: Any) -> Any:
    """No number is picked from the array: each is a sum of a part of the array, computed on the device."""
    numbers = [float(operations.total(operations.take(x, [place]))) for place in range(NUMBERS)]
    return operations.array(host_doubles(numbers))


def numbers_joined(operations: Operations, x: Any) -> Any:
    return operations.join([operations.array(np.float32(2 * float(number))) for number in operations.entries(x)])


def numbers_of_parts(operations: Operations, x: Any) -> Any:
    """Each number is the first of a part of the array."""
    numbers = [float(operations.entry(x[place:], 0)) for place in range(NUMBERS)]
    return operations.add(operations.double(x), operations.array([0.0 * sum(numbers)] * NUMBERS))


def numbers_backwards(operations: Operations, x: Any) -> Any:
    numbers = [float(operations.entry(x, place)) for place in reversed(range(NUMBERS))]
    return bring_to_device(operations, x, host_doubles(numbers[::-1]))


def numbers_compared(operations: Operations, x: Any) -> Any:
    """Only the signs are read. The host applies them to the magnitudes that the device computed."""
    signs = [1.0 if number > 0 else -1.0 for number in operations.entries(x)]
    return operations.add(operations.double(x), operations.array([0.0 * sign for sign in signs]))


def flags_by_numpy(operations: Operations, x: Any) -> Any:
    flags = operations.reads["NumPy"](operations.flags(x))
    return operations.double(operations.take(x, [place for place in range(NUMBERS) if flags[place]]))


def flags_one_by_one(operations: Operations, x: Any) -> Any:
    flags = [bool(flag) for flag in operations.entries(operations.flags(x))]
    return operations.double(operations.take(x, [place for place in range(NUMBERS) if flags[place]]))


def places_by_list(operations: Operations, x: Any) -> Any:
    return operations.double(operations.take(x, operations.reads["list"](operations.places(x)).tolist()))


def places_one_by_one(operations: Operations, x: Any) -> Any:
    places = [place.__index__() for place in operations.entries(operations.places(x))]
    return operations.double(operations.take(x, places))


def places_by_range(operations: Operations, x: Any) -> Any:
    """Each number is read as the end of a range."""
    places = [len(range(place)) for place in operations.entries(operations.places(x))]
    return operations.double(operations.take(x, places))


def in_a_thread(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(call(operations, x)))
        thread.start()
        thread.join()
        return results[0]

    return run_hidden


POOL = ThreadPoolExecutor(1)


def in_a_lasting_pool(call: Call) -> Call:
    """The thread existed before the call."""
    POOL.submit(int).result()
    return lambda operations, x: POOL.submit(call, operations, x).result()


def in_a_new_pool(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            return pool.submit(call, operations, x).result()

    return run_hidden


def in_a_coroutine(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        async def main() -> Any:
            return await asyncio.to_thread(call, operations, x)

        return asyncio.run(main())

    return run_hidden


def in_a_generator(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        return next(call(operations, part) for part in (x,))

    return run_hidden


def in_a_handler(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        try:
            raise LookupError("no kernel")
        except LookupError:
            return call(operations, x)

    return run_hidden


def in_an_exit(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        results: list[Any] = []
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: results.append(call(operations, x)))
        return results[0]

    return run_hidden


def in_a_property(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        return type("Lazy", (), {"value": property(lambda self: call(operations, x))})().value

    return run_hidden


def in_a_finalizer(call: Call) -> Call:
    def run_hidden(operations: Operations, x: Any) -> Any:
        results: list[Any] = []
        dying = type("Dying", (), {"__del__": lambda self: results.append(call(operations, x))})()
        del dying
        return results[0]

    return run_hidden


def half(call: Call) -> Call:
    def halve(operations: Operations, x: Any) -> Any:
        """The host doubles one half of the array, the device the other."""
        numbers, rest = range(NUMBERS // 2), range(NUMBERS // 2, NUMBERS)
        products = call(operations, operations.take(x, list(numbers)))
        rest = operations.double(operations.take(x, list(rest)))
        return operations.join([*operations.first(products, len(numbers)), *operations.first(rest, NUMBERS // 2)])

    return halve


def read_twice(operations: Operations, x: Any) -> Any:
    """The numbers are read once for a check, and once for the result."""
    assert np.isfinite(operations.reads["NumPy"](x)).all()
    products = operations.double(x)
    operations.reads["list"](products)
    return products


def checked_on_the_host(operations: Operations, x: Any) -> Any:
    assert np.isfinite(operations.reads["NumPy"](x)).all()
    return operations.double(x)


def sorted_on_the_host(operations: Operations, x: Any) -> Any:
    order = np.argsort(operations.reads["NumPy"](x))
    return operations.double(operations.take(operations.take(x, order.tolist()), np.argsort(order).tolist()))


def sorted_by_python(operations: Operations, x: Any) -> Any:
    """The device makes each comparison, and their results are read one by one."""
    numbers = operations.entries(x)
    order = sorted(
        range(NUMBERS), key=functools.cmp_to_key(lambda one, other: 1 if numbers[one] > numbers[other] else -1)
    )
    return operations.double(operations.take(operations.take(x, order), np.argsort(order).tolist()))


def apart_and_summed(operations: Operations, x: Any) -> Any:
    return operations.scale(x, 2 + 0 * sum(float(number) for number in operations.apart(x)))


def largest_by_python(operations: Operations, x: Any) -> Any:
    largest = max(float(number) for number in operations.entries(x))
    return operations.scale(x, 2 + 0 * largest)


def summed_by_python(operations: Operations, x: Any) -> Any:
    return operations.scale(x, 2 + 0 * math.fsum(float(number) for number in operations.entries(x)))


def iterated_by_numpy(operations: Operations, x: Any) -> Any:
    return bring_to_device(
        operations, x, host_doubles(np.fromiter((float(number) for number in operations.entries(x)), float))
    )


def by_json(operations: Operations, x: Any) -> Any:
    return bring_to_device(operations, x, host_doubles(json.loads(json.dumps(operations.reads["list"](x).tolist()))))


def by_a_file(operations: Operations, x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, operations.reads["NumPy"](x))
    file.seek(0)
    return bring_to_device(operations, x, host_doubles(np.load(file)))


def by_a_machine_array(operations: Operations, x: Any) -> Any:
    numbers = array.array("f", (float(operations.entry(x, place)) for place in range(NUMBERS)))
    return bring_to_device(operations, x, host_doubles(numbers))


def by_a_closure(operations: Operations, x: Any) -> Any:
    """The read numbers stay in a function that is called only after the device has continued."""
    values = operations.reads["NumPy"](x)
    later = functools.partial(host_doubles, values)
    return operations.add(operations.scale(x, 0.0), operations.array(later()))


class Constructed:
    """A function whose object the case constructs before it calls it."""

    operations: Operations

    def __call__(self, x: Any) -> Any:
        return self.operations.double(x)


class ReadsInItsConstructor(Constructed):
    way = "NumPy"

    def __init__(self, x: Any) -> None:
        self.doubled = host_doubles(self.operations.reads[self.way](x))

    def __call__(self, x: Any) -> Any:
        return self.operations.add(self.operations.array(self.doubled), self.operations.scale(x, 0.0))


class ReadsAsItIsMade(Constructed):
    """The class has no ``__init__``."""

    doubled: Any

    def __new__(cls, x: Any) -> Any:
        array = super().__new__(cls)
        array.doubled = host_doubles(cls.operations.reads["NumPy"](x))
        return array

    def __call__(self, x: Any) -> Any:
        return bring_to_device(self.operations, x, self.doubled)


class ListsInItsConstructor(ReadsInItsConstructor):
    way = "list"


class BringsInItsConstructor(Constructed):
    def __init__(self, x: Any) -> None:
        self.doubled = numpy(self.operations, x)

    def __call__(self, x: Any) -> Any:
        return self.operations.add(self.doubled, self.operations.scale(x, 0.0))


class ThreadsInItsConstructor(BringsInItsConstructor):
    def __init__(self, x: Any) -> None:
        self.doubled = in_a_thread(numpy)(self.operations, x)


def plant(name: str, call: Any, **options: Any) -> Trial:
    return Trial(name, call, Placement.fell_back, **options)


READS = (
    "NumPy", "list", "NumPy's own array", "a function of NumPy", "bytes", "a buffer", "dlpack", "a copy into the host",
    "pickle", "text",
)  # fmt: skip
"""The names in ``Operations.reads``."""
_HIDDEN = (
    in_a_thread, in_a_lasting_pool, in_a_new_pool, in_a_coroutine, in_a_generator, in_a_handler, in_an_exit,
    in_a_property, in_a_finalizer,
)  # fmt: skip
_CONVERSIONS: dict[str, Callable[[Any], float]] = {
    "float": float,
    "complex": lambda number: complex(number).real,
    "bool and float": lambda number: float(number) if number else 0.0,
    "a text": lambda number: float(f"{number}"),
}

PLANTS: tuple[Trial, ...] = (
    *(plant(f"by {name}", by_read(name)) for name in READS),
    *(plant(f"by {name} after it doubled", then_by_read(name)) for name in ("NumPy", "list", "a buffer", "dlpack")),
    *(plant(f"a factor of all numbers by {name}", factor_by_read(name)) for name in ("NumPy", "list", "a buffer")),
    *(plant(f"number by number as {name}", one_by_one(convert)) for name, convert in _CONVERSIONS.items()),
    plant("numbers filled in", numbers_filled_in),
    plant("most of the numbers", most_numbers),
    plant("numbers of products", numbers_of_products),
    plant("numbers that were computed", numbers_computed),
    plant("numbers joined", numbers_joined),
    plant("numbers of parts", numbers_of_parts),
    plant("numbers backwards", numbers_backwards),
    plant("numbers compared", numbers_compared),
    plant("truth values by NumPy", flags_by_numpy),
    plant("truth values one by one", flags_one_by_one),
    plant("places by list", places_by_list),
    plant("places one by one", places_one_by_one),
    plant("places as ends of ranges", places_by_range),
    *(plant(f"{hide.__name__.replace('_', ' ')}", hide(numpy)) for hide in _HIDDEN),
    plant("numbers in a thread", in_a_thread(numbers_backwards)),
    plant("numbers in a lasting pool", in_a_lasting_pool(one_by_one(float))),
    plant("a list in a new pool", in_a_new_pool(by_read("list"))),
    plant("in the first call alone", numpy, calls=range(1), timing=TimingPolicy.quick),
    plant("in later calls alone", numpy, calls=range(1, 10**9), timing=TimingPolicy.quick),
    plant("a list in the first call alone", by_read("list"), calls=range(1), timing=TimingPolicy.quick),
    plant("from the third call on", numpy, calls=range(2, 10**9), timing=TimingPolicy.quick),
    plant("elsewhere in the first call alone", elsewhere, calls=range(1), timing=TimingPolicy.quick),
    plant("half of it", half(numpy)),
    plant("half of it in a thread", in_a_thread(half(numpy))),
    plant("elsewhere", elsewhere),
    plant("half of it elsewhere", half(elsewhere)),
    plant("elsewhere in a thread", in_a_thread(elsewhere)),
    plant("called back", called_back),
    plant("called back in a thread", in_a_thread(called_back)),
    plant("printed in the midst", by_text(str)),
    plant("represented in the midst", by_text(repr)),
    plant("formatted in the midst", by_text(lambda x: f"{x}")),
    plant("read twice", read_twice),
    plant("checked on the host", checked_on_the_host),
    plant("sorted on the host", sorted_on_the_host),
    plant("sorted by Python", sorted_by_python),
    plant("taken apart and summed", apart_and_summed),
    plant("its largest by Python", largest_by_python),
    plant("summed by Python", summed_by_python),
    plant("iterated by NumPy", iterated_by_numpy),
    plant("by JSON", by_json),
    plant("by a file", by_a_file),
    plant("by a machine's array", by_a_machine_array),
    plant("by a closure", by_a_closure),
    plant("read in a constructor", ReadsInItsConstructor, constructs=True),
    plant("read as it is made", ReadsAsItIsMade, constructs=True),
    plant("listed in a constructor", ListsInItsConstructor, constructs=True),
    plant("brought in a constructor", BringsInItsConstructor, constructs=True),
    plant("brought in a thread of a constructor", ThreadsInItsConstructor, constructs=True),
)  # fmt: skip


def decide_by(number: Callable[[Any], Any]) -> Call:
    """The sum of the device decides between two branches."""

    def call(operations: Operations, x: Any) -> Any:
        return operations.double(x) if number(operations.total(x)) is not None else operations.scale(x, 2.0)

    return call


def decided_by_a_comparison(operations: Operations, x: Any) -> Any:
    return operations.double(x) if bool(operations.flags(operations.total(x))) else x


def decided_by_many_losses(operations: Operations, x: Any) -> Any:
    """The device computes each loss, and it is read. No later array is made from these numbers."""
    losses = [float(operations.total(x)) for _ in range(4 * NUMBERS)]
    return operations.add(operations.double(x), operations.array([0.0] * NUMBERS)) if losses else x


def scale_by(number: Callable[[Any], float]) -> Call:
    def call(operations: Operations, x: Any) -> Any:
        return operations.scale(x, 2 + 0 * number(operations.total(x)))

    return call


def decided_again_and_again(operations: Operations, x: Any) -> Any:
    root = operations.add(operations.total(operations.scale(x, 0.0)), operations.array(np.float32(3)))
    while abs(float(root) ** 2 - 4) > 1e-4:
        root = operations.newton(root)
    return operations.scale(x, round(float(root), 3))


def decided_by_its_first_numbers(operations: Operations, x: Any) -> Any:
    first, second = (float(number) for number in operations.first(x, 2))
    return operations.double(x) if first <= second else operations.add(x, x)


def decided_by_a_number_of_each(operations: Operations, x: Any) -> Any:
    """One number is read from each of several arrays of one size."""
    for _ in range(NUMBERS):
        [first] = operations.first(operations.double(x), 1)
        x = x if float(first) < 1e9 else operations.double(x)
    return operations.double(x)


def decided_by_numbers_together(operations: Operations, x: Any) -> Any:
    """Like in a rejection sampler, numbers of a new array decide together in each round, and so does their sum."""
    total = operations.total(x)
    for _ in range(3):
        first, second = operations.first(operations.double(x), 2)
        sums = operations.add(first, second)
        if bool(operations.flags(sums)):
            total = operations.add(total, sums)
        if not bool(operations.flags(total)):
            break
    return operations.double(x)


def looked_at_last(look: Callable[[Operations, Any], Any]) -> Call:
    def call(operations: Operations, x: Any) -> Any:
        products = operations.double(x)
        look(operations, products)
        return products

    return call


def with_a_constant(values: Any) -> Call:
    return lambda operations, x: operations.add(operations.double(x), operations.array(values))


def by_its_shape(operations: Operations, x: Any) -> Any:
    return operations.scale(x, x.shape[0] - NUMBERS + len(x.shape) + 1.0)


def by_its_type(operations: Operations, x: Any) -> Any:
    assert "float32" in str(x.dtype)
    return operations.double(x)


def in_parts(operations: Operations, x: Any) -> Any:
    return operations.join(operations.first(operations.double(x), NUMBERS))


def at_places(operations: Operations, x: Any) -> Any:
    return operations.double(operations.take(operations.take(x, [5, 4, 3, 2, 1, 0]), [5, 4, 3, 2, 1, 0]))


def after_an_error(operations: Operations, x: Any) -> Any:
    with contextlib.suppress(Exception):
        operations.add(x, operations.array([1.0] * (NUMBERS + 1)))
    return operations.double(x)


def twice_half(operations: Operations, x: Any) -> Any:
    return operations.double(operations.scale(operations.add(x, x), 0.5))


def many_times(operations: Operations, x: Any) -> Any:
    for _ in range(20):
        operations.double(x)
    return operations.double(x)


class WeightsOfTheHost(Constructed):
    def __init__(self, x: Any) -> None:
        self.weights = self.operations.array([0.0] * NUMBERS)

    def __call__(self, x: Any) -> Any:
        return self.operations.add(self.operations.double(x), self.weights)


class DecidesInItsConstructor(Constructed):
    def __init__(self, x: Any) -> None:
        self.factor = 2.0 if float(self.operations.total(x)) < 1e9 else 3.0

    def __call__(self, x: Any) -> Any:
        return self.operations.scale(x, self.factor)


class ComputesInItsConstructor(Constructed):
    def __init__(self, x: Any) -> None:
        self.doubled = self.operations.double(x)

    def __call__(self, x: Any) -> Any:
        return self.operations.add(self.doubled, self.operations.scale(x, 0.0))


def honest(name: str, call: Any, **options: Any) -> Trial:
    return Trial(name, call, Placement.on_device, **options)


def double_directly(operations: Operations, x: Any) -> Any:
    return operations.double(x)


HONEST: tuple[Trial, ...] = (
    honest("doubled", double_directly),
    honest("added to itself", lambda operations, x: operations.add(x, x)),
    honest("scaled by a number of Python's", lambda operations, x: operations.scale(x, 2.0)),
    honest("twice half of twice", twice_half),
    honest("many times", many_times),
    honest("timed", double_directly, timing=TimingPolicy.quick),
    honest("with a constant list", with_a_constant([0.0] * NUMBERS)),
    honest("with a constant array", with_a_constant(np.zeros(NUMBERS, "float32"))),
    honest("with a constant number", with_a_constant(np.float32(0))),
    honest("in parts", in_parts),
    honest("at places", at_places),
    honest("by a choice on the device", lambda operations, x: operations.choose(x)),
    honest("by a gradient", lambda operations, x: operations.gradient(x)),
    honest("by its shape", by_its_shape),
    honest("by its type", by_its_type),
    honest("decided by float", decide_by(float)),
    honest("decided by bool", decide_by(bool)),
    honest("decided by int", decide_by(int)),
    honest("decided by a comparison", decided_by_a_comparison),
    honest("decided by a text", decide_by(str)),
    honest("decided again and again", decided_again_and_again),
    honest("decided by its first numbers", decided_by_its_first_numbers),
    honest("decided by many losses", decided_by_many_losses),
    honest("decided by a number of each", decided_by_a_number_of_each),
    honest("decided by numbers together", decided_by_numbers_together),
    honest("scaled by float", scale_by(float)),
    honest("scaled by int", scale_by(int)),
    honest("scaled by complex", scale_by(lambda total: complex(total).real)),
    honest("scaled by float in a thread", in_a_thread(scale_by(float))),
    honest("scaled and timed", scale_by(float), timing=TimingPolicy.quick),
    honest("printed last", looked_at_last(lambda operations, x: print(x))),
    honest("represented last", looked_at_last(lambda operations, x: repr(x))),
    honest("read last", looked_at_last(lambda operations, x: operations.reads["NumPy"](x))),
    honest("listed last", looked_at_last(lambda operations, x: operations.reads["list"](x))),
    honest("its sum read last", looked_at_last(lambda operations, x: float(operations.total(x)))),
    honest("doubled in a thread", in_a_thread(double_directly)),
    honest("doubled in a lasting pool", in_a_lasting_pool(double_directly)),
    honest("doubled in a coroutine", in_a_coroutine(double_directly)),
    honest("doubled in a finalizer", in_a_finalizer(double_directly)),
    honest("after an error", after_an_error),
    honest("with weights of the host", WeightsOfTheHost, constructs=True),
    honest("decided in a constructor", DecidesInItsConstructor, constructs=True),
    honest("computed in a constructor", ComputesInItsConstructor, constructs=True),
)
