# SPDX-License-Identifier: Apache-2.0
"""Finds the simulation tests by reading their source, without importing cocotb or the tests."""

from __future__ import annotations

import ast
import fnmatch
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, nearest, relative, whole_number

TESTS = ROOT / "tb" / "tests"
#: Test files that drive the models' graphs into the RTL (docs/tours.md).
TOURS = "test_tour_*"
#: Of one run, for each test.
MOST_SEEDS = 10_000


def short_name(test: str) -> str:
    """``test_x.TestX`` of ``tb.tests.cq.test_x.TestX``."""
    return ".".join(test.split(".")[-2:])


@dataclass(frozen=True)
class Module:
    """A test file: its tests and what it declares about them."""

    module: str
    """Name to import, as tb.tests.test_x."""
    short: str
    """Name for users, as test_x: the file's, whatever its folder."""
    tests: tuple[str, ...]
    builds: tuple[str, ...] = ("default",)
    seeds: tuple[int, ...] = (1,)
    test_seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    icarus: tuple[str, ...] = ()
    """Tests that the default regression runs on Icarus as well, on the first of their builds."""
    path: str = ""
    """The file, relative to the checkout."""

    @property
    def subject(self) -> str:
        """The folder under tb/tests, "" without one."""
        parts = self.module.split(".")
        return parts[2] if parts[:2] == ["tb", "tests"] and len(parts) > 3 else ""


@dataclass(frozen=True)
class Job:
    """One simulation: a test with a seed on a build."""

    module: str
    short: str
    test: str
    seed: int
    build: str
    sim: str

    @property
    def name(self) -> str:
        """The test, as users name it: test_x.TestX."""
        return f"{self.short}.{self.test}"

    @property
    def variant(self) -> str:
        """build-simulator-seed."""
        return f"{self.build}-{self.sim}-{self.seed}"

    @property
    def id(self) -> str:
        """As tiers and recorded costs name it: test_x.TestX[build-simulator-seed]."""
        return f"{self.name}[{self.variant}]"

    def reproduce(self, target: str = "sim") -> str:
        """The command that runs exactly this job again."""
        build = "" if self.build == "default" else f" BUILD={self.build}"
        sim = "" if self.sim == "verilator" else f" SIM={self.sim}"
        return f"make {target} TEST={self.name} SEED={self.seed}{build}{sim}"


def _aliases(tree: ast.Module) -> dict[str, str]:
    """What each imported name refers to: {"ct": "cocotb.test", "uvm": "pyuvm"}."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Call):
        return _dotted(node.func, names)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, names)}.{node.attr}"
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    return ""


def _test_name(node: ast.stmt, names: dict[str, str]) -> str | None:
    """The name under which cocotb registers this statement as a test, if it does."""
    if isinstance(node, ast.ClassDef):
        marks, skip_name = {"pyuvm.test"}, True
    elif isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef):
        marks, skip_name = {"cocotb.test", "cocotb.parametrize"}, False
    else:
        return None
    for decorator in node.decorator_list:
        if _dotted(decorator, names) in marks:
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
            for keyword in keywords:
                if keyword.arg == "name" and not skip_name:
                    return str(ast.literal_eval(keyword.value))
            return node.name
    return None


def _value(node: ast.expr) -> object:
    """A literal, or range(...) of literals."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("list", "tuple") and len(node.args) == 1:
            return _value(node.args[0])
        if node.func.id == "range":
            return list(range(*(ast.literal_eval(arg) for arg in node.args)))
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]
        return dict(zip(keys, map(_value, node.values), strict=True))
    return ast.literal_eval(node)


def _declarations(tree: ast.Module, where: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets: Sequence[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            name = target.id if isinstance(target, ast.Name) else ""
            if name in ("BUILD", "SEEDS", "TEST_SEEDS", "ICARUS_TESTS") and node.value:
                try:
                    found[name] = _value(node.value)
                except (ValueError, TypeError) as error:
                    raise RunnerError(
                        f"{where}:{node.lineno}: {name} must be a literal (or range(...)), because "
                        f"tests are found without being imported: {error}"
                    ) from None
    return found


def _seed_list(value: object, where: str) -> tuple[int, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(type(seed) is int and 0 < seed < 2**31 for seed in values):
        raise RunnerError(
            f"{where}: seeds must be a list of integers from 1 to 2^31-1, not {value!r}"
        )
    return tuple(values)


def _strings(value: object, where: str) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise RunnerError(f"{where} must be a name or a list of names, not {value!r}")
    return tuple(values)


def read_module(path: Path, root: Path = ROOT) -> Module:
    """Read one test file. A file without a test is an error: it would pass by doing nothing."""
    where = relative(path)
    try:
        tree = ast.parse(path.read_text(), filename=where)
    except SyntaxError as error:
        raise RunnerError(f"{where}:{error.lineno}: syntax error: {error.msg}") from None
    names = _aliases(tree)
    found = [name for node in tree.body if (name := _test_name(node, names))]
    if not found:
        raise RunnerError(
            f"{where}: contains no test; mark one with @cocotb.test() or @pyuvm.test(), or give "
            "the file a name that does not begin with test_"
        )
    double = sorted({name for name in found if found.count(name) > 1})
    if double:
        raise RunnerError(f"{where}: two tests are named {double[0]}; only one of them would run")
    declared = _declarations(tree, where)
    test_seeds = declared.get("TEST_SEEDS", {})
    if not isinstance(test_seeds, dict):
        raise RunnerError(f"{where}: TEST_SEEDS must map test names to lists of seeds")
    icarus = _strings(declared.get("ICARUS_TESTS", ()), f"{where}: ICARUS_TESTS")
    for name in [*test_seeds, *icarus]:
        if name not in found:
            raise RunnerError(f"{where}: TEST_SEEDS or ICARUS_TESTS names {name}, which is no test")
    return Module(
        module=".".join(path.relative_to(root).with_suffix("").parts),
        short=path.stem,
        tests=tuple(found),
        builds=_strings(declared.get("BUILD", "default"), f"{where}: BUILD"),
        seeds=_seed_list(declared.get("SEEDS", [1]), f"{where}: SEEDS"),
        test_seeds={k: _seed_list(v, f"{where}: TEST_SEEDS") for k, v in test_seeds.items()},
        icarus=icarus,
        path=path.relative_to(root).as_posix(),
    )


def find_modules(tests: Path = TESTS, root: Path = ROOT) -> list[Module]:
    """All test files, in any depth of folders, in order of their names."""
    paths = sorted(tests.rglob("test_*.py"), key=lambda path: path.stem)
    for one, two in itertools.pairwise(paths):
        if one.stem == two.stem:
            raise RunnerError(
                f"{relative(one)} and {relative(two)} have one name; TEST= could not tell them "
                "apart: rename one"
            )
    return [read_module(path, root) for path in paths]


def parse_seeds(text: str) -> tuple[int, ...]:
    """SEEDS=20 means 1 to 20; SEEDS=3,8,20-25 names them."""
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    if text.strip().isdecimal() and text.isascii():
        count = whole_number("SEEDS", text.strip()) or 0
        ranges = [(1, count)]
    else:
        parts = [part.strip().partition("-") for part in text.split("," if "," in text else None)]
        try:
            ranges = []
            for first, _, last in parts:
                low = whole_number("SEEDS", first) or 0
                ranges.append((low, whole_number("SEEDS", last) or low))
        except RunnerError:
            raise RunnerError(
                f"SEEDS={shown}: write a count (20) or a list (3,8,20-25) of seeds from 1 to 2^31-1"
            ) from None
    if not ranges or any(low < 1 or high < low for low, high in ranges):
        raise RunnerError(f"SEEDS={shown}: write a count (20) or a list (3,8,20-25)")
    if sum(high - low + 1 for low, high in ranges) > MOST_SEEDS:
        raise RunnerError(f"SEEDS={shown}: more than {MOST_SEEDS:,} seeds in one run")
    return tuple(seed for low, high in ranges for seed in range(low, high + 1))


def matches(pattern: str, module: Module, test: str) -> bool:
    names = (test, module.short, f"{module.short}.{test}", module.module, f"{module.module}.{test}")
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def check_patterns(modules: Sequence[Module], patterns: Iterable[str]) -> None:
    """Every pattern has to match a test: an error names those that may have been meant."""
    for pattern in patterns:
        if not any(matches(pattern, m, t) for m in modules for t in m.tests):
            tests = [f"{m.short}.{t}" for m in modules for t in m.tests]
            names = [*tests, *(m.short for m in modules), *(t for m in modules for t in m.tests)]
            raise RunnerError(
                f"TEST={pattern}: no such test{nearest(pattern, names)}; `make list` names all"
            )


def jobs_of_module(
    module: Module,
    patterns: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    sim: str | None = None,
    build: str | None = None,
) -> list[Job]:
    """The jobs of one file that fit."""
    jobs: list[Job] = []
    for test in module.tests:
        if patterns and not any(matches(pattern, module, test) for pattern in patterns):
            continue
        for name in module.builds:
            if build and name != build:
                continue
            chosen = seeds or module.test_seeds.get(test, module.seeds)
            jobs += [
                Job(module.module, module.short, test, seed, name, sim or "verilator")
                for seed in chosen
            ]
            if sim is None and test in module.icarus and name == (build or module.builds[0]):
                # One seed, one build: Icarus is there for what a two-state simulator hides.
                jobs.append(Job(module.module, module.short, test, chosen[0], name, "icarus"))
    return jobs


def select_jobs(
    modules: Iterable[Module],
    patterns: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
    sim: str | None = None,
    build: str | None = None,
) -> list[Job]:
    """The jobs that a command line asks for; asking for something that is not there is an error."""
    modules = list(modules)
    check_patterns(modules, patterns)
    jobs = [j for m in modules for j in jobs_of_module(m, patterns, seeds, sim, build)]
    if not jobs and build:
        builds = dict.fromkeys(
            name
            for m in modules
            if any(not patterns or matches(p, m, t) for t in m.tests for p in patterns or ["*"])
            for name in m.builds
        )
        what = " ".join(patterns) or "no test"
        raise RunnerError(
            f"BUILD={build}{nearest(build, builds)}: {what} has builds {', '.join(builds)}"
            if patterns
            else f"BUILD={build}{nearest(build, builds)}: no test is for it; tests are for "
            + ", ".join(builds)
        )
    if not jobs:
        raise RunnerError("no test selected: there are none in tb/tests")
    return jobs
