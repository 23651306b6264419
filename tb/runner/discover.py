# SPDX-License-Identifier: Apache-2.0
"""Finds the simulation tests by reading their source, without importing cocotb or the tests."""

from __future__ import annotations

import ast
import fnmatch
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, nearest, relative
from tb.runner.listed import parse

TESTS = ROOT / "tb" / "tests"
#: Test files that drive the models' graphs into the RTL (docs/tours.md).
TOURS = "test_tour_*"
#: Of one run, for each test.
MOST_SEEDS = 10_000


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


@dataclass(frozen=True)
class _Declared:
    """What a test file declares about its tests, as literals."""

    BUILD: tuple[str, ...] = ("default",)
    SEEDS: tuple[int, ...] = (1,)
    TEST_SEEDS: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ICARUS_TESTS: tuple[str, ...] = ()


_NAMES = {item.name for item in fields(_Declared)}


def _is_test(node: ast.stmt, where: str) -> bool:
    """Whether cocotb registers this statement as a test."""
    for decorator in getattr(node, "decorator_list", ()):
        named = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if named in ("pyuvm.test", "cocotb.test", "cocotb.parametrize"):
            return True
        if named.endswith("test"):
            text = "tests are marked with @cocotb.test() or @pyuvm.test(), without another name"
            raise RunnerError(f"{where}:{decorator.lineno}: {text}")
    return False


def _declarations(tree: ast.Module, where: str) -> _Declared:
    found: dict[str, object] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not node.value:
            continue
        name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        if name in _NAMES:
            try:
                value = ast.literal_eval(node.value)
            except ValueError as error:
                raise RunnerError(
                    f"{where}:{node.lineno}: {name} must be a literal, because tests are found "
                    f"without being imported: {error}"
                ) from None
            found[name] = [value] if isinstance(value, str) else value
    declared = parse(_Declared, found, where)
    for seeds in (declared.SEEDS, *declared.TEST_SEEDS.values()):
        if not seeds or not all(0 < seed < 2**31 for seed in seeds):
            raise RunnerError(f"{where}: seeds must be a list of integers from 1 to 2^31-1")
    return declared


def read_module(path: Path, root: Path = ROOT) -> Module:
    """Read one test file. A file without a test is an error: it would pass by doing nothing."""
    where = relative(path)
    try:
        tree = ast.parse(path.read_text(), filename=where)
    except SyntaxError as error:
        raise RunnerError(f"{where}:{error.lineno}: syntax error: {error.msg}") from None
    found = [str(getattr(node, "name", "")) for node in tree.body if _is_test(node, where)]
    if not found:
        raise RunnerError(
            f"{where}: contains no test; mark one with @cocotb.test() or @pyuvm.test(), or give "
            "the file a name that does not begin with test_"
        )
    if double := sorted({name for name in found if found.count(name) > 1}):
        raise RunnerError(f"{where}: two tests are named {double[0]}; only one of them would run")
    declared = _declarations(tree, where)
    for name in [*declared.TEST_SEEDS, *declared.ICARUS_TESTS]:
        if name not in found:
            raise RunnerError(f"{where}: TEST_SEEDS or ICARUS_TESTS names {name}, which is no test")
    return Module(
        module=".".join(path.relative_to(root).with_suffix("").parts),
        short=path.stem,
        tests=tuple(found),
        builds=declared.BUILD,
        seeds=declared.SEEDS,
        test_seeds=declared.TEST_SEEDS,
        icarus=declared.ICARUS_TESTS,
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
    ranges: list[range] = []
    if re.fullmatch(r"[0-9]{1,10}(-[0-9]{1,10})?( *, *[0-9]{1,10}(-[0-9]{1,10})?)*", text):
        parts = f"1-{text}" if text.isdecimal() else text
        pairs = [part.partition("-") for part in parts.split(",")]
        ranges = [range(int(first), int(last or first) + 1) for first, _, last in pairs]
    count = sum(map(len, ranges))
    if not all(0 < found.start < found.stop <= 2**31 for found in ranges) or not count:
        raise RunnerError(
            f"SEEDS={text[:40]}: write a count (20) or a list (3,8,20-25) of seeds from 1 to 2^31-1"
        )
    if count > MOST_SEEDS:
        raise RunnerError(f"SEEDS={text[:40]}: more than {MOST_SEEDS:,} seeds in one run")
    return tuple(seed for found in ranges for seed in found)


def matches(pattern: str, module: Module, test: str) -> bool:
    names = (test, module.short, f"{module.short}.{test}", module.module, f"{module.module}.{test}")
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)


def all_tests(modules: Iterable[Module]) -> dict[str, Module]:
    """The module of every test, which is named as users do: test_x.TestX."""
    return {f"{module.short}.{test}": module for module in modules for test in module.tests}


def check_patterns(modules: Sequence[Module], patterns: Iterable[str]) -> None:
    """Every pattern has to match a test: an error names those that may have been meant."""
    for pattern in patterns:
        if not any(matches(pattern, m, t) for m in modules for t in m.tests):
            names = [*all_tests(modules), *(m.short for m in modules)]
            names += [test for module in modules for test in module.tests]
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
        chosen = [m for m in modules if jobs_of_module(m, patterns)]
        builds = dict.fromkeys(name for m in chosen for name in m.builds)
        what = f"BUILD={build}: no such test is for it{nearest(build, builds)}"
        has = f"; {', '.join(patterns)} has builds {', '.join(builds)}" if patterns else ""
        raise RunnerError(f"{what}{has}; `make list` has them")
    if not jobs:
        raise RunnerError("no test selected: there are none in tb/tests")
    return jobs
