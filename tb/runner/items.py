# SPDX-License-Identifier: Apache-2.0
"""Simulations, proofs, lint and planted faults as items of pytest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tb.runner import faults, formal, lint, negatives
from tb.runner.builds import BuildConfig, get_build, load_builds
from tb.runner.common import ROOT, SIM_BUILD, RunnerError, relative
from tb.runner.discover import Job, Module, find_modules, matches, read_module
from tb.runner.fork_host import JobHosts
from tb.runner.proofs import Proof, load_proofs
from tb.runner.regress import run_job
from tb.runner.selection import Selection
from tb.runner.simulator import no_build
from tb.runner.tiers import read_tiers

SUBJECTS = ("cq", "arm", "post", "receive", "keys", "host", "lib", "interop", "campaigns")
#: Where an item keeps what its report tells beyond pass and fail (`tb/runner/store.py`: Item).
Facts = dict[str, Any]

#: Errors of Python that a test has made by itself: waves would not show them.
_IN_TEST = re.compile(r"(Key|Type|Name|Attribute|Import|ModuleNotFound|Syntax)Error\b")
_JOB_ID = re.compile(r"(.+)::(?:(\w+)\.)?(\w+)\[(\w+)-(verilator|icarus)-(\d+)\]$")


class CheckFailedError(Exception):
    """A check of the project has failed; its text is all there is to say."""


def subject_of(path: str) -> str:
    """The subject whose folder a file is in; "" if in none."""
    return next((part for part in Path(path).parts if part in SUBJECTS), "")


class Worker:
    """What the items of one process share: builds and the servers that run simulations."""

    def __init__(self, selection: Selection, name: str) -> None:
        self.selection = selection
        self.hosts = JobHosts(SIM_BUILD / "hosts" / name)
        self._builds = load_builds()
        self._ready: dict[tuple[str, str], str] = {}

    def config(self, job: Job) -> BuildConfig:
        """The job's build, as the command line asks for it; RunnerError if it was not made."""
        config = self.selection.config(get_build(self._builds, job.build, job.sim))
        if (key := (job.sim, job.build)) not in self._ready:
            self._ready[key] = no_build(config, job.sim)
        if problem := self._ready[key]:
            raise RunnerError(problem)
        return config


def only(config: pytest.Config) -> list[str]:
    """The names that --only gives."""
    return str(config.option.carillon_only).replace(",", " ").split()


WORKER: pytest.StashKey[Worker] = pytest.StashKey()


class CheckItem(pytest.Item):
    """One item that is no Python function. ``check`` raises what is wrong; ``facts``, of which it
    may add to those of the item, go into the report.
    """

    def __init__(
        self,
        kind: str,
        tiers: Sequence[str],
        check: Callable[[Facts], None],
        facts: Facts,
        **kw: Any,
    ) -> None:
        # As a text, which pytest splits as it does the ids of what failed last.
        super().__init__(nodeid=f"{kw['parent'].nodeid}::{kw['name']}", **kw)
        self.facts: Facts = {"kind": kind, "subject": subject_of(relative(self.path)), **facts}
        self.group = self.facts.get("group", self.nodeid)
        """Key of its recorded cost."""
        self._check = check
        for tier in tiers:
            self.add_marker(tier)

    def runtest(self) -> None:
        self._check(self.facts)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Our own failures are told in words, without Python's stack."""
        if isinstance(excinfo.value, CheckFailedError | RunnerError | OSError):
            text = str(excinfo.value)
            self.facts.setdefault("cause", text.partition("\n")[0])
            return text
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class CheckFile(pytest.File):
    """A file of such items, which ``make`` makes."""

    def __init__(self, make: Callable[[CheckFile], Iterator[CheckItem]], **kw: Any) -> None:
        super().__init__(**kw)
        self._make = make

    def collect(self) -> Iterator[CheckItem]:
        return self._make(self)

    def item(
        self,
        kind: str,
        name: str,
        tiers: Sequence[str],
        check: Callable[[Facts], None],
        **facts: Any,
    ) -> CheckItem:
        """One of its items."""
        item: CheckItem = CheckItem.from_parent(
            self, kind=kind, name=name, tiers=tiers, check=check, facts=facts
        )
        return item

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """What is wrong with the file is told in words, too."""
        known = isinstance(excinfo.value, RunnerError)
        return str(excinfo.value) if known else super().repr_failure(excinfo)


# -- simulations -----------------------------------------------------------------------------------


def job_facts(job: Job) -> Facts:
    """What a job's name tells."""
    return {
        "test": job.name,
        "build": job.build,
        "sim": job.sim,
        "seed": job.seed,
        "reproduce": job.reproduce(),
    }


def _simulate(worker: Worker, job: Job, facts: Facts) -> None:
    """A test with a seed on a build."""
    result = run_job(job, worker.config(job), hosts=worker.hosts.execute)
    verdict, log = result.verdict, relative(result.log)
    facts |= {"cpu_s": result.cpu_s, "sim_ns": verdict.sim_ns, "log": log, "bins": result.bins}
    if verdict.ok:
        return
    waves = job.reproduce("waves")
    facts |= {
        "cause": verdict.cause,
        "signature": verdict.signature,
        "waves": waves,
        "traceable": verdict.status == "FAILED" and not _IN_TEST.match(verdict.cause),
    }
    # The line that says it all, then what else the exception says.
    _, _, more = verdict.message.partition("\n")
    lines = [
        verdict.cause,
        f"  repeat: {job.reproduce()}",
        f"  waves:  {waves}",
        f"  log:    {log}",
    ]
    raise CheckFailedError("\n".join([*lines, *([more] if more else [])]))


def sim_file(file: CheckFile) -> Iterator[CheckItem]:
    """A file of simulation tests. It is read, never imported."""
    worker = file.config.stash[WORKER]
    module = read_module(file.path)
    jobs = worker.selection.jobs(module)
    # What failed last, or is named by its id, may have a seed that the file does not declare.
    jobs += [job for job in _named(file.config, module) if job not in jobs]
    for job in jobs:
        tiers = ["nightly" if job.id in read_tiers().nightly else "full"]
        tiers += ["quick"] * (job.id in read_tiers().quick)
        name, check = f"{job.test}[{job.variant}]", partial(_simulate, worker, job)
        item = file.item("sim", name, tiers, check, group=job.id, **job_facts(job))
        item.extra_keyword_matches.add(job.name)
        yield item


def _named(config: pytest.Config, module: Module) -> Iterator[Job]:
    names = [arg for arg in config.args if "::" in arg]
    if config.getoption("lf", False):
        assert config.cache is not None
        names += config.cache.get("cache/lastfailed", {})
    patterns = config.stash[WORKER].selection.patterns or ("*",)
    for name in names:
        job = job_of(name, module)
        if job and any(matches(pattern, module, job.test) for pattern in patterns):
            yield job


def job_of(nodeid: str, module: Module | None = None) -> Job | None:
    """The job of an item's id; None if it is no simulation, or not one of this module."""
    if not (match := _JOB_ID.fullmatch(nodeid)):
        return None
    path, other, test, build, sim, seed = match.groups()
    short = other or Path(path).stem
    name = ".".join(Path(path).with_suffix("").parts)
    if module:
        known = short == module.short and test in module.tests and build in module.builds
        if not known or sim not in ("verilator", "icarus"):
            return None
        name = module.module
    return Job(name, short, test, int(seed), build, sim)


def _fault(worker: Worker, job: Job, facts: Facts) -> None:
    """A run that rows of tb/tests/campaigns/faults.yaml ask for; it counts what it has observed."""
    result, counts = faults.run_of(job, worker.config(job), worker.hosts.execute)
    facts |= {"counts": counts, "cpu_s": result.cpu_s, "log": relative(result.log)}
    if not result.verdict.ok:
        facts["signature"] = result.verdict.signature
        raise CheckFailedError(f"{result.verdict.message}\n  repeat: {job.reproduce()}")


def fault_file(file: CheckFile) -> Iterator[CheckItem]:
    """tb/tests/campaigns/faults.yaml; --only chooses its rows."""
    modules, worker = find_modules(), file.config.stash[WORKER]
    rows = faults.choose(faults.load_rows(modules), only(file.config))
    for job in dict.fromkeys(job for row in rows for job in faults.jobs_of(row, modules)):
        check = partial(_fault, worker, job)
        yield file.item("fault", job.id, ["nightly"], check, **job_facts(job))


# -- lint, proofs, planted faults ------------------------------------------------------------------


def _lint(check: lint.Check, _: Facts) -> None:
    """One command that must find nothing."""
    ok, text = check.run()
    if not ok:
        raise CheckFailedError("\n".join(text.splitlines()[:80]))


def lint_file(file: CheckFile) -> Iterator[CheckItem]:
    """pyproject.toml (Python and generated files) or hdl/lint_configs.yaml (the design)."""
    if file.path.suffix == ".toml":
        checks = lint.python_checks() + lint.generated_checks()
    else:
        checks = lint.hdl_checks() + lint.strict_checks() + lint.module_checks()
    for check in checks:
        tiers = ["quick" if check.quick else "full"]
        yield file.item("lint", check.name, tiers, partial(_lint, check), reproduce="make lint")


def _prove(proof: Proof, planted: bool, facts: Facts) -> None:
    """A proof, or all planted faults that it must refute."""
    outcome = formal.attempt(proof, not planted, planted)
    formal.note(outcome)
    facts["cpu_s"] = sum(run.cpu_s for run in formal.runs(outcome))
    facts |= {"log": relative(outcome.run.log)} if outcome.run else {}
    if not outcome.ok:
        facts["signature"] = f"proof: {proof.id}"
        raise CheckFailedError(formal.explain(outcome))


def proof_file(file: CheckFile) -> Iterator[CheckItem]:
    """A file of formal/."""
    for proof in load_proofs(file.path):
        command = f"make formal PROOF={proof.id}"
        tiers, check = ["full", *["quick"] * proof.quick], partial(_prove, proof, False)
        yield file.item("proof", proof.id, tiers, check, reproduce=command)
        if proof.breaks_with:
            name, check = f"{proof.id}[planted]", partial(_prove, proof, True)
            command += " PLANTED=1"
            yield file.item("proof", name, ["nightly"], check, reproduce=command)


def _plant(fault: negatives.Fault, facts: Facts) -> None:
    """A fault planted in a copy of the design, which tests must find."""
    outcome = negatives.attempt(fault, negatives.jobs_of(fault, find_modules()), load_builds())
    facts["planted"] = negatives.as_json(outcome)
    if outcome.problem:
        lines = [outcome.problem, f"  {fault.stands_for}", f"  repeat: {facts['reproduce']}"]
        lines += [f"  log: {relative(result.log)}" for result in outcome.results]
        raise CheckFailedError("\n".join(lines))


def planted_file(file: CheckFile) -> Iterator[CheckItem]:
    """A file of planted faults."""
    for number, fault in enumerate(negatives.load_faults(file.path)):
        # A build takes ten times as long as its test: one for each subject.
        tiers, check = ["nightly", *["quick"] * (not number)], partial(_plant, fault)
        command = f"make negatives FAULT={fault.id}"
        yield file.item("planted", fault.id, tiers, check, reproduce=command)


def tier_of_marks(config: pytest.Config) -> str:
    """nightly, if that was asked for by name or by leaving out nothing of everything."""
    everything = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    marks = config.option.markexpr
    return "nightly" if "nightly" in marks or (everything and not marks) else ""


def file_of(path: Path, parent: pytest.Collector) -> pytest.File | None:
    """The collector of a file that holds items of the project, None for other files."""
    if not path.is_relative_to(ROOT):
        return None
    place = path.relative_to(ROOT).as_posix()
    make = None
    if place in ("pyproject.toml", "hdl/lint_configs.yaml"):
        make = lint_file
    elif place.startswith("formal/") and path.suffix == ".yaml":
        make = proof_file
    elif path == faults.FAULTS_YAML:
        # A campaign: it lies among the tests, but runs only where it is named, or at night.
        config = parent.config
        named = any((config.rootpath / arg).resolve() == path for arg in config.args)
        if named or (tier_of_marks(config) == "nightly" and not only(config)):
            make = fault_file
    elif path.parent == negatives.FAULTS and path.suffix == ".yaml":
        make = planted_file
    return CheckFile.from_parent(parent, path=path, make=make) if make else None


def is_sim_file(path: Path) -> bool:
    """Whether a file holds simulation tests."""
    tests = ROOT / "tb" / "tests"
    return path.is_relative_to(tests) and path.match("test_*.py")
