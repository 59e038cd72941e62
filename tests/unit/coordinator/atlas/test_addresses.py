"""Every name has a path, and different names have different paths on every file system."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.assess import evidence_file
from coordinator.atlas.addresses import LONGEST, as_link, file_name, function_path, name_of, target_path
from coordinator.atlas.index import usual_address

NAMES = st.text(max_size=300)


@given(NAMES, NAMES)
def test_names_that_differ_have_files_that_differ_where_case_does_not_count(one: str, other: str) -> None:
    assert (file_name(one).lower() == file_name(other).lower()) == (one == other)


@given(NAMES)
def test_a_file_is_in_its_folder_and_its_name_short_enough(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9~=_-]?[a-z0-9~=._-]*", file_name(name))
    assert len(file_name(name)) <= LONGEST + 20


@given(NAMES)
def test_a_name_is_read_back_from_its_file(name: str) -> None:
    assert name_of(file_name(name)) in (name, None if len(file_name(name)) > LONGEST else name)


@pytest.mark.parametrize("file", ["Capital", "~A", "=41=", "a=zz=", "=110000=", "../etc"])
def test_what_is_no_file_of_a_name_is_read_as_none(file: str) -> None:
    assert name_of(file) is None


def test_functions_and_targets_have_addresses_that_can_be_read() -> None:
    assert function_path("torch.nn.Conv2d") == "functions/torch.nn.~conv2d.html"
    assert target_path("torch@2.9.0/xla", "AMD EPYC") == "targets/torch-2.9.0-xla-~a~m~d=20=~e~p~y~c.html"


def test_the_script_of_the_front_page_needs_no_address_of_a_function_that_ships() -> None:
    names = [name for target in evidence_file.load_shipped().targets for name in target.functions]
    assert len(names) > 1_000
    assert [name for name in names if as_link(function_path(name)) != usual_address(name)] == []
