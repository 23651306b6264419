# SPDX-License-Identifier: Apache-2.0
"""`make synth PRICES=1`: what features and sizes cost, by synthesis alone; without a clock, for
nothing is placed. Written into sim_build/synth.json as `prices`, `parts` and `ultrascale`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scripts.synth.flow import levels, parts, synthesise

#: The completion core with one parameter changed. The IDs of m_axi grow with the queues.
CHANGES: Mapping[str, Mapping[str, int]] = {
    "as above": {},
    "`ECC` = 0": {"ECC": 0},
    "`INJECT` = 1": {"INJECT": 1},
    "`TRACE` = 1": {"TRACE": 1},
    "`MAX_WRITES` = 64": {"MAX_WRITES": 64},
    "`NUM_CQ` = 16": {"NUM_CQ": 16, "M_ID_W": 5},
    "`NUM_CQ` = 64": {"NUM_CQ": 64, "M_ID_W": 7},
    "`NUM_CQ` = 1024": {"NUM_CQ": 1024, "M_ID_W": 11},
    "`NUM_CQ` = 4096": {"NUM_CQ": 4096, "M_ID_W": 13},
}
#: Modules that are synthesised for UltraScale+.
ULTRASCALE = ("cde_ctx", "cde_ctx_2w", "cde_cq", "cde_arm", "cde_cpl_top")


def prices() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Section of the results, name of the row, row; one after the other, as they are made."""
    for name, change in CHANGES.items():
        yield "prices", name, synthesise("cde_cpl_top", change).area
    engine = synthesise("cde_top")
    yield "parts", "cde_top", engine.area
    for name, area in sorted(parts(engine, 1).items(), key=lambda item: -item[1]["lut4"]):
        yield "parts", name, area
    for module in ULTRASCALE:
        made = synthesise(module, family="xcup")
        yield "ultrascale", module, {**made.area, "levels": levels(made)}
