"""Replay on torch: makes a recorded call, on the device and on the CPU in float64."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from runners.errors import UntestedError
from runners.suite.cases import Case
from runners.suite.frozen import Named, decode
from runners.suite.recording import replay
from runners.suite.recording.reading import RecordedCall
from runners.suite.recording.replay import CHANGES, Openness
from runners.suite.recording.rule import NO_FUNCTION
from runners.torch.devices import Cpu
from runners.torch.frozen import WAY, FrozenCall, resolved
from runners.torch.layouts import take_view
from runners.torch.left_open import FIRST_OF_EQUALS, NOT_UNIQUE, UNINITIALISED
from runners.torch.recordable import recordable_names
from runners.torch.ways import WAYS, Way, tensors_in
from runners.torch.widening import widened

_NAMED = (torch.dtype, torch.layout, torch.memory_format)


def case_of(call: RecordedCall) -> Case:
    """Return the case that makes a recorded call."""
    last = call.function.rpartition(".")[2].rstrip("_")
    openness = Openness(call.is_random or last in NOT_UNIQUE | UNINITIALISED, last in FIRST_OF_EQUALS)
    prepare = ReplayedCall(replay.with_changes(call))
    return replay.case_of(call, prepare, openness, framework="torch", recordable=recordable_names())


def changes(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], places: Sequence[int]
) -> Callable[[], Any]:
    """Return the call with a larger result, which also contains the arrays at these positions. The call changes these
    arrays."""
    given = list({id(tensor): tensor for tensor in tensors_in((arguments, options))}.values())

    def call() -> Any:
        return [function(*arguments, **options), [given[place] for place in places]]

    return call


@dataclass(frozen=True)
class ReplayedCall(FrozenCall):
    """Prepares a recorded call. If the program passed the same array object twice, the replay also passes one object
    twice, and not two equal arrays."""

    @property
    def way(self) -> Way:
        return {**WAYS, CHANGES: changes}[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any], device: Any) -> Any:
        made: dict[int, Any] = {}

        def leaf(slot: Any) -> Any:
            if slot.number not in made:
                made[slot.number] = take_view(arrays[slot.number], slot.dtype, slot.strides)
            return made[slot.number]

        def named(value: Named) -> Any:
            target = resolved(value, device)
            if value.kind in ("dtype", "format") and not isinstance(target, _NAMED):
                raise UntestedError(f"{NO_FUNCTION}, as this one does: {value.name}")
            return target

        return decode(json.loads(self.written), leaf, named)

    def on_host(self, function: str, dtype: str, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        host = Cpu()
        parts = self.parts(host.to_device(list(arrays), dtype), host.handle)
        return host.to_host(self.way(host.lookup(function), *(widened(parts) if is_wide else parts))())
