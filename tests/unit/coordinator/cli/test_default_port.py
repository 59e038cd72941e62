"""The port of ``portolan up`` and ``portolan demo``: from the option, without it from the settings, without both the
default."""

from __future__ import annotations

import pytest

from coordinator.cli.directory import DEFAULT_PORT
from coordinator.cli.server import port_or_default
from coordinator.errors import SettingError


@pytest.mark.parametrize(
    ("option", "setting", "port"),
    [(None, None, DEFAULT_PORT), (None, "", DEFAULT_PORT), (None, "8750", 8750), (0, "8750", 0), (8751, "8750", 8751)],
)
def test_an_option_goes_before_the_setting(
    monkeypatch: pytest.MonkeyPatch, option: int | None, setting: str | None, port: int
) -> None:
    if setting is not None:
        monkeypatch.setenv("PORTOLAN_PORT", setting)
    else:
        monkeypatch.delenv("PORTOLAN_PORT", raising=False)
    assert port_or_default(option) == port


@pytest.mark.parametrize("setting", ["http", "-1", "65536"])
def test_a_setting_that_is_no_port_is_refused(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv("PORTOLAN_PORT", setting)
    with pytest.raises(SettingError, match=f"PORTOLAN_PORT is '{setting}': set it to a port, 0 to 65535"):
        port_or_default(None)
