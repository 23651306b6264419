# SPDX-License-Identifier: Apache-2.0
"""Cells that hold state, in the text of a netlist (RTLIL), made ready to be cut out: ``expose
-evert`` makes pins of those with a name of their own, and what a memory is told to write shall
count only where it writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tb.runner.mutate_netlist import Mutation

_STATE = re.compile(r"^(  cell \$(?:\w*ff\w*|mem_v2)) \$(\S+)$", re.M)
_NAMED = r"\1 \\state$\2"
_MEMORY = re.compile(r"^  cell \$mem_v2 \\(\S+)\n((?:    .*\n)*)  end\n", re.M)
_AND = """  wire width {width} \\masked${name}
  cell $and \\mask${name}
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH {width}
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH {width}
    parameter \\Y_WIDTH {width}
    connect \\A {data}
    connect \\B {enable}
    connect \\Y \\masked${name}
  end
"""


def named(mutation: Mutation, modules: Mapping[str, str]) -> Mutation:
    """The same change in `ready` modules."""
    cell = f"\\state{mutation.cell}"
    if f" {cell}\n" not in modules[mutation.module]:
        return mutation
    return Mutation(**{**vars(mutation), "cell": cell})


def ready(text: str) -> str:
    """Registers and memories have names of their own; the data of a write are 0 where no enable
    is set.
    """
    return _MEMORY.sub(_masked, _STATE.sub(_NAMED, text))


def _masked(match: re.Match[str]) -> str:
    name, body = match.groups()
    values = dict(re.findall(r"^    (?:parameter|connect) \\(\S+) (.+)$", body, re.M))
    width = int(values["WIDTH"]) * int(values["WR_PORTS"])
    if not width:
        return match.group(0)
    data = f"    connect \\WR_DATA {values['WR_DATA']}\n"
    mask = _AND.format(name=name, width=width, data=values["WR_DATA"], enable=values["WR_EN"])
    return mask + match.group(0).replace(data, f"    connect \\WR_DATA \\masked${name}\n")
