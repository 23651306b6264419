# SPDX-License-Identifier: Apache-2.0
"""Attaches the scoreboard to a test, and makes it judge the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from models.params import Params
from tb.env.records import Record
from tb.env.scoreboard import Scoreboard

if TYPE_CHECKING:
    from tb.env.env import CarillonEnv, Config


class Checking:
    """The scoreboard of one test. It begins anew when the engine is reset."""

    def __init__(self, env: CarillonEnv) -> None:
        self._env = env
        self._config: Config | None = None
        self.board: Scoreboard | None = None
        env.add_subscriber(self._judge, "scoreboard")

    def _judge(self, records: list[Record]) -> None:
        env = self._env
        if env.config is not self._config:
            self._config = env.config
            self._renew()
        assert self.board is not None, "records before the engine's parameters are known"
        self.board(records)

    def _renew(self) -> None:
        config = self._config
        assert config is not None
        if self.board is not None:
            self.board.reset()
            return
        params = Params(
            config.num_cq, config.num_eq, config.num_pages, config.idx_w, config.mod_tick
        )
        self.board = Scoreboard(params, self._env.seed, lambda: self._env.control.commanding)

    def finish(self, allow: Iterable[str] = ()) -> None:
        """End of the test; ``allow``: see ``scoreboard.ALLOWANCES``."""
        allowed = set(allow)
        if self.board is None:
            assert "no_traffic" in allowed, "the scoreboard saw nothing"
            return
        self.board.finish(allowed)
