# SPDX-License-Identifier: Apache-2.0
"""The bench for other projects; needs cocotb, and pyuvm for the agents.

``Pins`` listens to an engine inside any top, ``Scoreboard`` and ``Coverage`` take its records.
``CarillonEnv`` with its agents drives an engine inside our harness ``tb/hdl/tb_top.v``.
"""

try:
    from tb.env.coverage.coverage import Coverage
    from tb.env.defs import CB_RETURN, CQ_DB, Cmd, PageReg, Reg
    from tb.env.env import CarillonEnv
    from tb.env.pins import Pins
    from tb.env.scoreboard.scoreboard import Mismatch, Scoreboard
except ModuleNotFoundError as error:
    needed = f"{error}; in the checkout of Carillon: pip install '.[bench]'"
    raise ModuleNotFoundError(needed, name=error.name) from error

__all__ = [
    "CB_RETURN",
    "CQ_DB",
    "CarillonEnv",
    "Cmd",
    "Coverage",
    "Mismatch",
    "PageReg",
    "Pins",
    "Reg",
    "Scoreboard",
]
