# SPDX-License-Identifier: Apache-2.0
"""`make synth`: clock and area of modules and of the completion core, placed and routed, and area
of the whole engine; table and sim_build/synth.json. With PRICES=1 what features and sizes cost.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from scripts.synth.flow import BLOCK_RAMS, DEVICE, Result, check_parameters, measure
from scripts.synth.prices import prices
from tb.runner.common import SIM_BUILD, RunnerError

#: Modules in the order of the table; the core and the engine come last, they take longest.
MODULES = (
    *(
        "cde_ram",
        "cde_ctx",
        "cde_ctx_2w",
        "cde_fifo",
        "cde_arbiter",
    ),
    *("cde_cq", "cde_credit", "cde_arm", "cde_event", "cde_irq", "cde_host_write", "cde_page_port"),
    *("cde_control", "cde_post", "cde_dispatch", "cde_done", "cde_retire", "cde_qp_ctrl"),
    *("cde_take", "cde_rpost", "cde_rdone", "cde_keys", "cde_check", "cde_core"),
)
#: Bounds of QUICK=1 in MHz, for one seed.
QUICK = {"cde_ctx": 158.0, "cde_ram": 115.0, "cde_arbiter": 103.0}
METRICS = {"cde_cpl_top": "cpl_top", "cde_top": "top"}
RESULTS = SIM_BUILD / "synth.json"
HEAD = "module               MHz  seeds                LUT4     FF  block  distr.  worst path"


def line(result: Result) -> str:
    """A row of the printed table; below it the worst ways of the slowest seed."""
    area, clocks = result.area, " ".join(map(str, result.mhz.values()))
    ways = ""
    if result.mhz:
        slowest = min(result.mhz, key=result.mhz.__getitem__)
        worst = result.paths[slowest]
        path = f"{worst.start} -> {worst.end}, {worst.levels} levels, {worst.ns} ns"
        for way in result.worst_paths[slowest]:
            head = f"    {way.ns:5.2f} ns, {way.levels:2} levels, {way.start} -> {way.end}"
            ways += "\n" + "  ".join((head, *way.sources))
    else:
        path = f"not placed: the device has {BLOCK_RAMS} block RAMs"
    return (
        f"{result.module:18} {result.median or '-':>5}  {clocks:18}"
        f" {area['lut4']:6} {area['ff']:6} {area['block_ram']:6} {area['distributed_ram']:7}"
        f"  {path}{ways}"
    )


def load() -> dict[str, Any]:
    """Results of earlier runs."""
    return dict(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}


def save(**sections: Any) -> dict[str, float]:
    """Writes these sections and those of earlier runs, with the metrics; returns those."""
    data = {**load(), **sections}
    rows = data.get("rows", {})
    metrics: dict[str, float] = {}
    for module, name in METRICS.items():
        if module in rows:
            if clock := rows[module]["median_mhz"]:
                metrics[f"{name}_mhz"] = clock
            metrics[f"{name}_lut4"] = rows[module]["area"]["lut4"]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**data, "metrics": metrics, "device": DEVICE}, indent=1))
    return metrics


def price_all() -> int:
    """Prints and writes the rows of `prices`."""
    sections: dict[str, dict[str, Any]] = {}
    for section, name, row in prices():
        if section not in sections:
            print(f"{section}: {', '.join(row)}", flush=True)
        sections.setdefault(section, {})[name] = row
        print(f"  {name:20} {' '.join(f'{value:7}' for value in row.values())}", flush=True)
        save(**{section: sections[section]})
    return 0


def settings(text: str) -> dict[str, int]:
    """Parameters of ``--set``, as NUM_QP=16,NUM_SRQ=4."""
    pairs = [pair.partition("=") for pair in text.replace(",", " ").split()]
    if bad := [name for name, _, value in pairs if not name or not value.isdecimal()]:
        raise RunnerError(f"SET={text}: {bad[0]} has no number, as NUM_QP=16,NUM_SRQ=4")
    return {name: int(value) for name, _, value in pairs}


def main(argv: list[str]) -> int:
    """Exit status 1: a bound of --quick is missed."""
    parser = argparse.ArgumentParser(prog="make synth")
    parser.add_argument("--module", default="")
    parser.add_argument("--seeds", default="")
    parser.add_argument("--set", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--prices", action="store_true")
    args = parser.parse_args(argv)
    if args.prices:
        return price_all()
    try:
        seeds = [int(seed) for seed in args.seeds.replace(",", " ").split()]
    except ValueError:
        raise RunnerError(f"SEEDS={args.seeds}: numbers with commas, as SEEDS=1,2,3") from None
    given = settings(args.set)
    rows: dict[str, Any] = load().get("rows", {})
    modules = args.module.replace(",", " ").split() or (*MODULES, *METRICS)
    if args.quick:
        modules = tuple(QUICK)
    if given and not args.module:
        raise RunnerError(f"SET={args.set} without MODULE=: which module has these parameters")
    for module in modules:
        check_parameters(module, given)
    missed = []
    print(f"{DEVICE}, between registers\n{HEAD}", flush=True)
    for module in modules:
        began = time.monotonic()
        usual = [1, 2, 3] if module in METRICS else [1]
        result = measure(module, seeds or ([1] if args.quick else usual), given)
        rows[result.module] = {**result.row(), "seconds": round(time.monotonic() - began)}
        print(line(result), flush=True)
        metrics = save(rows=rows)
        if args.quick and (result.median or 0) < QUICK[module]:
            missed.append(f"{module}: {result.median} MHz, bound {QUICK[module]}")
    for name, value in metrics.items():
        print(f"{name}: {value}")
    for text in missed:
        print(f"missed: {text}")
    print(f"results: {RESULTS.relative_to(Path.cwd())}")
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RunnerError as error:
        sys.exit(f"synth: {error}")
