# SPDX-License-Identifier: Apache-2.0
"""Build configurations (tb/builds.yaml): which sources, top level, parameters and options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tb.runner.common import INCLUDES, ROOT, SIM_BUILD, RunnerError, nearest, relative
from tb.runner.listed import read_yaml

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
    public: str = ""
    """File (.vlt) with the signals that Python may touch; "all" opens everything (and is slower).
    Without it: tb/hdl/public.vlt, or public_TOPLEVEL.vlt for other top levels, if present."""
    simulators: tuple[str, ...] = ("verilator", "icarus")
    clock_ns: float = 4.0
    """Clock period, for the cycles/s of the report."""
    timeout_s: float = 300.0
    """Limit of one job, in seconds of processor time."""
    fast: bool = False
    """For speed measurements: no assertions, no random initial values."""
    coverage: bool = False
    """Counts code coverage of hdl/ (Verilator only)."""

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

    def public_file(self) -> Path | None:
        if self.public == "all":
            return None
        if self.public:
            path = ROOT / self.public
            if not path.is_file():
                raise RunnerError(f"build {self.name}: `public` names {self.public}: no such file")
            return path
        suffix = "" if self.toplevel == BuildConfig.toplevel else f"_{self.toplevel}"
        path = ROOT / "tb" / "hdl" / f"public{suffix}.vlt"
        return path if path.is_file() else None

    def folder(self, sim: str, waves: bool) -> Path:
        marks = {"fast": self.fast, "coverage": self.coverage, "waves": waves}
        variant = "".join(f"-{mark}" for mark, present in marks.items() if present)
        return SIM_BUILD / "build" / f"{sim}-{self.name}{variant}"


_KEYS = {item.name: item for item in fields(BuildConfig) if item.name != "name"}


def _entry(name: str, data: object, base: BuildConfig) -> BuildConfig:
    if data is None:
        data = {}
    where = f"{relative(BUILDS_YAML)}: {name}"
    if not isinstance(data, dict):
        raise RunnerError(f"{where}: must be a mapping, not {data!r}")
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _KEYS:
            raise RunnerError(f"{where}: unknown key {key}; known: {', '.join(_KEYS)}")
        default = getattr(BuildConfig(), key)
        if isinstance(default, tuple):
            value = tuple(str(v) for v in ([value] if isinstance(value, str) else value))
        elif isinstance(default, float) and type(value) is int:
            value = float(value)
        if not isinstance(value, type(default)):
            raise RunnerError(f"{where}: {key} must be a {type(default).__name__}, not {value!r}")
        values[key] = value
    return replace(base, name=name, **values)


def load_builds(path: Path = BUILDS_YAML) -> dict[str, BuildConfig]:
    data = (read_yaml(path) if path.is_file() else None) or {}
    if not isinstance(data, dict):
        raise RunnerError(f"{relative(path)}: must map build names to settings")
    default = _entry("default", data.get("default"), BuildConfig())
    builds = {"default": default}
    for name, entry in data.items():
        if name != "default":
            builds[str(name)] = _entry(str(name), entry, default)
    return builds


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
