# SPDX-License-Identifier: Apache-2.0
"""Static checks: four Verilog readers over the design and over each of its modules, ruff and mypy
over the Python code, and generated files.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tb.runner.common import INCLUDES, ROOT, RunnerError, hdl_files, relative
from tb.runner.listed import read_yaml

TOPS = ("cde_top", "cde_cpl_top")
CONFIGS = "hdl/lint_configs.yaml"
#: Parameter sets of the quick tier: the largest takes Yosys a minute.
QUICK_SETS = ("defaults", "smallest")
FILE_LIST = "hdl/carillon.f"
# As builds with waves do: what is traced, such as the locals of functions, is checked as well.
VERILATOR = (
    *("verilator", "--lint-only", "--trace-fst", "-Wall", "--default-language", "1364-2005"),
    "hdl/lint.vlt",
)
INCLUDE_ARGS = tuple(f"-I{folder}" for folder in INCLUDES)


@dataclass(frozen=True)
class Check:
    """A command, and how to tell from its output that it found something."""

    name: str
    command: tuple[str, ...]
    bad_line: Callable[[str], bool] = lambda line: False  # noqa: ARG005
    told_line: Callable[[str], bool] = lambda line: True  # noqa: ARG005
    """Which lines tell what is wrong, where a tool prints much else."""
    quick: bool = True
    """Whether `make test` runs it."""

    def run(self) -> tuple[bool, str]:
        done = subprocess.run(
            self.command, cwd=ROOT, capture_output=True, text=True, check=False, errors="replace"
        )
        text = (done.stdout + done.stderr).strip()
        bad = [line for line in text.splitlines() if self.bad_line(line)]
        if done.returncode == 0 and not bad:
            return True, ""
        told = "\n".join(line for line in text.splitlines() if self.told_line(line))
        return False, told or text or f"exit status {done.returncode}, no message"


def icarus_warning(line: str) -> bool:
    """Any warning but those on timescales, which the design leaves to the test bench."""
    return "warning:" in line and "timescale" not in line


def yosys_finding(line: str) -> bool:
    return "Warning:" in line or "ERROR:" in line or line.startswith("    ")


def parameter_sets() -> dict[str, dict[str, object]]:
    """Default parameters, then those of hdl/lint_configs.yaml (name -> {PARAM: value})."""
    data: dict[str, dict[str, object]] = read_yaml(ROOT / CONFIGS)
    return {"defaults": {}, **data}


def declared_parameters(text: str) -> set[str]:
    """Names of the parameters in a top level's source."""
    return set(re.findall(r"^\s*parameter\s+(?:\[[^\]]*\]\s*)?(\w+)", text, re.M))


def hdl_checks() -> list[Check]:
    sources = tuple(relative(path) for path in hdl_files())
    known = {top: declared_parameters((ROOT / "hdl" / f"{top}.v").read_text()) for top in TOPS}
    sets = parameter_sets()
    for name, values in sets.items():
        if odd := values.keys() - set().union(*known.values()):
            raise RunnerError(f"{CONFIGS}: {name}: no top level has {', '.join(sorted(odd))}")
    checks = []
    for top in TOPS:
        for name, every in sets.items():
            # A set gives a top level the parameters that it has.
            values = {key: value for key, value in every.items() if key in known[top]}
            label, quick = f"({top}, {name})", name in QUICK_SETS
            generics = tuple(f"-G{key}={value}" for key, value in values.items())
            command = (*VERILATOR, "--top-module", top, *generics, "-F", FILE_LIST)
            checks.append(Check(f"verilator -Wall {label}", command, quick=quick))
            generics = tuple(f"-P{top}.{key}={value}" for key, value in values.items())
            icarus = ("iverilog", "-g2005", "-Wall", *INCLUDE_ARGS, "-t", "null", "-s", top)
            command = (*icarus, *generics, *sources)
            checks.append(Check(f"iverilog -Wall {label}", command, icarus_warning, quick=quick))
            chparam = "".join(f" -set {key} {value}" for key, value in values.items())
            steps = (
                f"read_verilog {' '.join(INCLUDE_ARGS)} {' '.join(sources)}",
                *((f"chparam{chparam} {top}",) if chparam else ()),
                f"hierarchy -check -top {top}",
                *("proc", "check -assert"),
            )
            command = ("yosys", "-p", "; ".join(steps))
            yosys = Check(f"yosys check {label}", command, told_line=yosys_finding, quick=quick)
            checks.append(yosys)
    return checks


def strict_checks() -> list[Check]:
    """A SystemVerilog front end at its default settings, with the file list as users have it: the
    tops, and each module with the default values of its parameters.
    """
    alone = [word for path in hdl_files() for word in ("--top", path.stem)]
    checks = [Check(f"slang ({top})", ("slang", "-F", FILE_LIST, "--top", top)) for top in TOPS]
    return [*checks, Check("slang (each module)", ("slang", "-F", FILE_LIST, *alone))]


def module_checks() -> list[Check]:
    """Each module alone, with the default values of its parameters."""
    folders = sorted({relative(path.parent) for path in hdl_files()})
    search = tuple(word for folder in folders for word in ("-y", folder))
    return [
        Check(
            f"verilator -Wall {path.stem} alone",
            (*VERILATOR, *INCLUDE_ARGS, *search, relative(path)),
            quick=False,
        )
        for path in hdl_files()
        if path.stem not in TOPS
    ]


def python_checks() -> list[Check]:
    python, folders = sys.executable, ("models", "tb", "scripts", "sw")
    checks = [
        Check("floor plan", (python, "-m", "scripts.house")),
        Check("ruff check", (python, "-m", "ruff", "check", "--no-cache", ".")),
        Check("ruff format", (python, "-m", "ruff", "format", "--no-cache", "--check", ".")),
    ]
    # One run: strictness per folder is in pyproject.toml, and shared imports are read once.
    checks.append(Check(f"mypy ({', '.join(folders)})", (python, "-m", "mypy", *folders)))
    return checks


def generated_checks() -> list[Check]:
    """Generated files and the documented tables agree with what they are made from."""
    return [
        Check(f"{name} up to date", (sys.executable, "-m", f"scripts.{name}", "--check"))
        for name in ("gen_defs", "gen_verbs", "gen_filters", "gen_file_list")
    ]
