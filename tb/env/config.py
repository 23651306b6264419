# SPDX-License-Identifier: Apache-2.0
"""What a run is told from outside, and what the engine tells of itself.

The test puts a ``RunConfig`` into the ConfigDB once, when it is built; components get it in their
build phase: ``self.cdb_get(RUN)``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import cocotb

#: Name in the ConfigDB.
RUN = "RUN"

#: Environment variables of the runner: the seed; where the counts of coverage go, set and empty:
#: nothing is counted.
_SEED = "COCOTB_RANDOM_SEED"
_COVERAGE = "CARILLON_COVERAGE_OUT"


@dataclass(frozen=True)
class RunConfig:
    """``seed``: of all random streams. ``covers``: coverage is counted; ``coverage``: the file that
    the counts go to, None: nowhere.
    """

    seed: int
    covers: bool
    coverage: Path | None

    @classmethod
    def of_environment(cls) -> RunConfig:
        """As the runner says."""
        # The seed of the run, not cocotb's, which depends on the test's name.
        seed = int(os.environ.get(_SEED, cocotb.RANDOM_SEED))
        out = os.environ.get(_COVERAGE)
        return cls(seed, out != "", Path(out) if out else None)


@dataclass(frozen=True)
class Config:
    """The engine's parameters, as it reports them."""

    num_cq: int
    num_eq: int
    num_pages: int
    idx_w: int
    max_log2: int
    max_writes: int
    mod_tick: int
    num_qp: int = 0  # 0: the completion core alone
    sq_log2: int = 0
    burst: int = 0
    num_srq: int = 0
    rq_log2: int = 0
    srq_log2: int = 0
    rx_log2: int = 0
    num_mr: int = 0
    num_mw: int = 0  # 0: no memory windows, accesses are not checked
