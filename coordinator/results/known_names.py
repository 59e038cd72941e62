"""Checks the names by which a campaign's results are filtered against the names that the campaign has.

Without this check, a misspelled filter would return an empty result, as if the campaign had no such outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.errors import UnknownNameError
from coordinator.results.query import like_pattern
from coordinator.targets import store as targets_store
from protocol.function_names import did_you_mean, no_function_matches

# Jobs are found by their key, and most filters match the first case that is tried.
_FUNCTIONS = """
SELECT {distinct} s.framework, c.function
  FROM campaign_targets ct
  JOIN suites s ON s.id = ct.suite_id
  JOIN cases c ON c.suite_id = ct.suite_id
 WHERE ct.campaign_id = :campaign AND c.function LIKE :function
   AND EXISTS (SELECT FROM jobs j
                WHERE j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id AND j.case_id = c.id)
"""
_HAS_FUNCTION = text(f"SELECT EXISTS ({_FUNCTIONS.format(distinct='')})")
_ALL_FUNCTIONS = text(_FUNCTIONS.format(distinct="DISTINCT"))
_CHARTED = text("SELECT DISTINCT framework, function FROM matrix_rows")


async def check_filters(
    connection: AsyncConnection,
    campaign_id: int,
    *,
    function: str | None = None,
    framework: str | None = None,
    device: str | None = None,
) -> None:
    """Raise ``UnknownNameError``, with similar names, for a filter that matches nothing in the campaign.

    ``function`` is a glob. The caller makes sure that the campaign exists.
    """
    if framework is not None or device is not None:
        targets = await targets_store.of_campaign(connection, campaign_id)
        _check(campaign_id, "framework", framework, {target.framework for target in targets})
        _check(campaign_id, "device", device, {target.device for target in targets})
    if function is None:
        return
    values = {"campaign": campaign_id, "function": like_pattern(function)}
    if not (await connection.execute(_HAS_FUNCTION, values)).scalar_one():
        rows = await connection.execute(_ALL_FUNCTIONS, {"campaign": campaign_id, "function": "%"})
        if all_names := {row.function for row in rows}:
            raise UnknownNameError(
                f"in campaign {campaign_id} {no_function_matches([function], all_names)}", "function"
            )


def _check(campaign_id: int, field: str, name: str | None, valid_names: Iterable[str]) -> None:
    names = sorted(valid_names)
    if name is not None and names and name not in names:
        raise UnknownNameError(
            f"campaign {campaign_id} has no target of the {field} '{name}'{did_you_mean(name, names) or ';'} "
            f"it has {', '.join(names)}",
            field,
        )


async def nobody_charted(connection: AsyncConnection, framework: str, function: str) -> str:
    """An error message about a function that no campaign has charted, with similar names from any framework."""
    rows = (await connection.execute(_CHARTED)).all()
    own = sorted({row.framework for row in rows if row.function == function})
    if own:
        return f"{function} is a function of {' and '.join(own)}, not of {framework}"
    return f"no campaign has an outcome of {function}{did_you_mean(function, sorted({row.function for row in rows}))}"
