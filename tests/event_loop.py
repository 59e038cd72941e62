"""An event loop in another thread than the test's, for servers that must run while the test waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

LOOP_LIMIT_S = 60.0


class EventLoop:
    """An event loop in a thread of its own. When it is closed, its running tasks are cancelled and finish."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(LOOP_LIMIT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LOOP_LIMIT_S)
        assert not self._thread.is_alive(), "something on the loop does not end"

    def _serve(self) -> None:
        with self._runner:
            self.loop.run_forever()
