# SPDX-License-Identifier: Apache-2.0
"""Build configurations (tb/builds.yaml): which sources, top level, parameters and options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tb.runner.common import INCLUDES, ROOT, SIM_BUILD, RunnerError, nearest, relative
from tb.runner.listed import parse, read_yaml

BUILDS_YAML = ROOT / "tb" / "builds.yaml"


@dataclass(frozen=True)
class BuildConfig:
    """One entry of tb/builds.yaml. What an entry leaves out it takes from the entry `default`."""

    name: str = "default"
    toplevel: str = "tb_top"
    sources: tuple[str, ...] = ("hdl/**/*.v", "tb/hdl/*.v")
    includes: tuple[str, ...] = INCLUDES
    parameters: dict[str, Any] = field(default_factory=dict)
    defines: dict[str, Any] = field(default_factory=dict)
    build_args: tuple[str, ...] = ()
    """Further Verilator options."""
    sim_args: tuple[str, ...] = ()
    """Further arguments of the simulation itself, plusargs too."""
    simulators: tuple[str, ...] = ("verilator", "icarus")
    timeout_s: float = 300.0
    """Limit of one job, in seconds of processor time."""
    fast: bool = False
    """For speed measurements: no assertions, no random initial values."""
    coverage: bool = False
    """Counts code coverage of hdl/ (Verilator only)."""
    place: Path | None = None
    """Of a build with another design: its folder. Not a key of tb/builds.yaml."""

    def source_files(self) -> list[Path]:
        found: list[Path] = []
        for pattern in self.sources:
            matches = sorted(ROOT.glob(pattern))
            if not matches:
                raise RunnerError(
                    f"build {self.name}: no file matches {pattern}; correct `sources` in "
                    f"{relative(BUILDS_YAML)} or add the file"
                )
            found += [path for path in matches if path not in found]
        return found

    def public_file(self) -> Path:
        """Names the signals that Python may touch."""
        suffix = "" if self.toplevel == BuildConfig.toplevel else f"_{self.toplevel}"
        return ROOT / "tb" / "hdl" / f"public{suffix}.vlt"

    def folder(self, sim: str, waves: bool) -> Path:
        if self.place:
            return self.place
        marks = {"fast": self.fast, "coverage": self.coverage, "waves": waves}
        variant = "".join(f"-{mark}" for mark, present in marks.items() if present)
        return SIM_BUILD / "build" / f"{sim}-{self.name}{variant}"


_LISTS = {item.name for item in fields(BuildConfig) if str(item.type).startswith("tuple")}


def _entry(name: str, data: Any, base: BuildConfig) -> BuildConfig:
    where = f"{relative(BUILDS_YAML)}: {name}"
    if not isinstance(data, dict):
        raise RunnerError(f"{where}: must be a mapping, not {data!r}")
    # A list of one may be written as it.
    lists = {key: [data[key]] for key in data.keys() & _LISTS if isinstance(data[key], str)}
    found = parse(BuildConfig, data | lists, where)
    return replace(base, **{key: getattr(found, key) for key in data}, name=name)


def load_builds(path: Path = BUILDS_YAML) -> dict[str, BuildConfig]:
    data = (read_yaml(path) if path.is_file() else None) or {}
    if not isinstance(data, dict):
        raise RunnerError(f"{relative(path)}: must map build names to settings")
    default = _entry("default", data.get("default") or {}, BuildConfig())
    return {"default": default} | {
        str(name): _entry(str(name), entry or {}, default)
        for name, entry in data.items()
        if name != "default"
    }


def get_build(builds: dict[str, BuildConfig], name: str, sim: str) -> BuildConfig:
    if name not in builds:
        raise RunnerError(
            f"BUILD={name}: no such build{nearest(name, builds)}; {relative(BUILDS_YAML)} has "
            + ", ".join(builds)
        )
    if sim not in builds[name].simulators:
        raise RunnerError(
            f"build {name} is not for {sim}; `simulators` in {relative(BUILDS_YAML)} allows "
            + ", ".join(builds[name].simulators)
        )
    return builds[name]
