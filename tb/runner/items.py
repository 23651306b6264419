# SPDX-License-Identifier: Apache-2.0
"""Simulations, proofs, lint and planted faults as items of pytest."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from tb.runner.simulator import is_built
from tb.runner.tiers import nightly_jobs, quick_jobs

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
        """The job's build, with what the command line asks of it; raises RunnerError if it was not
        built.
        """
        config = self.selection.config(get_build(self._builds, job.build, job.sim))
        key = job.sim, job.build
        if key not in self._ready:
            log = config.folder(job.sim, False) / "build.log"
            self._ready[key] = "" if is_built(config, job.sim) else relative(log)
        if self._ready[key]:
            raise RunnerError(
                f"build {job.build} for {job.sim} has failed; log: {self._ready[key]}"
            )
        return config


def only(config: pytest.Config) -> list[str]:
    """The names that --only gives."""
    return str(config.option.carillon_only).replace(",", " ").split()


WORKER: pytest.StashKey[Worker] = pytest.StashKey()


class CheckItem(pytest.Item):
    """One item that is no Python function. ``facts`` go into its report."""

    kind = ""
    group = ""
    """Key of its recorded cost."""

    def __init__(self, **kwargs: Any) -> None:
        # As a text, which pytest splits as it does the ids of what failed last.
        nodeid = f"{kwargs['parent'].nodeid}::{kwargs['name']}"
        super().__init__(nodeid=nodeid, **kwargs)
        path = relative(self.path)
        self.facts: Facts = {"kind": self.kind, "subject": subject_of(path)}
        self.group = self.nodeid

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
    """A file of such items."""

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


class SimItem(CheckItem):
    """A test with a seed on a build."""

    kind = "sim"

    def __init__(self, job: Job, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.group = job.id
        self.facts |= job_facts(job)
        self.extra_keyword_matches.add(job.name)
        self.add_marker("nightly" if job.id in nightly_jobs() else "full")
        if job.id in quick_jobs():
            self.add_marker("quick")

    def runtest(self) -> None:
        worker = self.config.stash[WORKER]
        result = run_job(self.job, worker.config(self.job), hosts=worker.hosts.execute)
        verdict = result.verdict
        self.facts |= {
            "cpu_s": result.cpu_s,
            "sim_ns": verdict.sim_ns,
            "log": relative(result.log),
            "bins": result.bins,
        }
        if not verdict.ok:
            waves = self.job.reproduce("waves")
            self.facts |= {
                "cause": verdict.cause,
                "signature": verdict.signature,
                "waves": waves,
                "traceable": verdict.status == "FAILED" and not _IN_TEST.match(verdict.cause),
            }
            # The line that says it all, then what else the exception says.
            _, _, more = verdict.message.partition("\n")
            raise CheckFailedError(
                f"{verdict.cause}\n"
                f"  repeat: {self.job.reproduce()}\n  waves:  {waves}\n"
                f"  log:    {relative(result.log)}" + (f"\n{more}" if more else "")
            )


class SimFile(CheckFile):
    """A file of simulation tests. It is read, never imported."""

    def collect(self) -> Iterator[SimItem]:
        selection = self.config.stash[WORKER].selection
        module = read_module(self.path)
        jobs = selection.jobs(module)
        # What failed last, or is named by its id, may have a seed that the file does not declare.
        jobs += [job for job in self._named(module) if job not in jobs]
        for job in jobs:
            yield SimItem.from_parent(self, name=f"{job.test}[{job.variant}]", job=job)

    def _named(self, module: Module) -> Iterator[Job]:
        names = [arg for arg in self.config.args if "::" in arg]
        if self.config.getoption("lf", False):
            assert self.config.cache is not None
            names += self.config.cache.get("cache/lastfailed", {})
        patterns = self.config.stash[WORKER].selection.patterns or ("*",)
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


class FaultItem(CheckItem):
    """A run that rows of tb/tests/campaigns/faults.yaml ask for; it counts what it has observed."""

    kind = "fault"

    def __init__(self, job: Job, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.facts |= job_facts(job)
        self.add_marker("nightly")

    def runtest(self) -> None:
        worker = self.config.stash[WORKER]
        result, counts = faults.run_of(self.job, worker.config(self.job), worker.hosts.execute)
        self.facts |= {"counts": counts, "cpu_s": result.cpu_s, "log": relative(result.log)}
        if not result.verdict.ok:
            self.facts["signature"] = result.verdict.signature
            raise CheckFailedError(f"{result.verdict.message}\n  repeat: {self.job.reproduce()}")


class FaultFile(CheckFile):
    """tb/tests/campaigns/faults.yaml; --only chooses its rows."""

    def collect(self) -> Iterator[FaultItem]:
        modules = find_modules()
        rows = faults.choose(faults.load_rows(modules), only(self.config))
        for job in dict.fromkeys(job for row in rows for job in faults.jobs_of(row, modules)):
            yield FaultItem.from_parent(self, name=job.id, job=job)


# -- lint, proofs, planted faults ------------------------------------------------------------------


class LintItem(CheckItem):
    """One command that must find nothing."""

    kind = "lint"

    def __init__(self, check: lint.Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check
        self.facts["reproduce"] = "make lint"
        self.add_marker("quick" if check.quick else "full")

    def runtest(self) -> None:
        ok, text = self.check.run()
        if not ok:
            raise CheckFailedError("\n".join(text.splitlines()[:80]))


class LintFile(CheckFile):
    """pyproject.toml (Python and generated files) or hdl/lint_configs.yaml (the design)."""

    def collect(self) -> Iterator[LintItem]:
        if self.path.suffix == ".toml":
            checks = lint.python_checks() + lint.generated_checks()
        else:
            checks = lint.hdl_checks() + lint.strict_checks() + lint.module_checks()
        for check in checks:
            yield LintItem.from_parent(self, name=check.name, check=check)


class ProofItem(CheckItem):
    """A proof, or all planted faults that it must refute."""

    kind = "proof"

    def __init__(self, proof: Proof, planted: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.proof, self.planted = proof, planted
        self.facts["reproduce"] = f"make formal PROOF={proof.id}{' PLANTED=1' * planted}"
        tiers = ["nightly"] if planted else ["full", *(["quick"] if proof.quick else [])]
        for tier in tiers:
            self.add_marker(tier)

    def runtest(self) -> None:
        outcome = formal.attempt(self.proof, not self.planted, self.planted)
        formal.note(outcome)
        self.facts["cpu_s"] = sum(run.cpu_s for run in formal.runs(outcome))
        if outcome.run:
            self.facts["log"] = relative(outcome.run.log)
        if not outcome.ok:
            text = formal.explain(outcome)
            self.facts["signature"] = f"proof: {self.proof.id}"
            raise CheckFailedError(text)


class ProofFile(CheckFile):
    """A file of formal/."""

    def collect(self) -> Iterator[ProofItem]:
        proofs = load_proofs(self.path)
        for proof in proofs:
            yield ProofItem.from_parent(self, name=proof.id, proof=proof, planted=False)
            if proof.breaks_with:
                name = f"{proof.id}[planted]"
                yield ProofItem.from_parent(self, name=name, proof=proof, planted=True)


class PlantedItem(CheckItem):
    """A fault planted in a copy of the design, which tests must find."""

    kind = "planted"

    def __init__(self, fault: negatives.Fault, quick: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fault = fault
        self.facts["reproduce"] = f"make negatives FAULT={fault.id}"
        for tier in ["nightly", *(["quick"] if quick else [])]:
            self.add_marker(tier)

    def runtest(self) -> None:
        modules = find_modules()
        outcome = negatives.attempt(
            self.fault, negatives.jobs_of(self.fault, modules), load_builds()
        )
        self.facts["planted"] = negatives.as_json(outcome)
        if outcome.problem:
            logs = "".join(f"\n  log: {relative(r.log)}" for r in outcome.results)
            raise CheckFailedError(
                f"{outcome.problem}\n  {self.fault.stands_for}\n"
                f"  repeat: {self.facts['reproduce']}{logs}"
            )


class PlantedFile(CheckFile):
    """A file of planted faults."""

    def collect(self) -> Iterator[PlantedItem]:
        faults = negatives.load_faults(self.path)
        sample = negatives.representatives(negatives.load_faults())
        # A build takes ten times as long as its test: one for each subject.
        quick = next((fault for fault in faults if fault in sample), None)
        for fault in faults:
            yield PlantedItem.from_parent(self, name=fault.id, fault=fault, quick=fault == quick)


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
    if place in ("pyproject.toml", "hdl/lint_configs.yaml"):
        return LintFile.from_parent(parent, path=path)
    if place.startswith("formal/") and path.suffix == ".yaml":
        return ProofFile.from_parent(parent, path=path)
    if path == faults.FAULTS_YAML:
        # A campaign: it lies among the tests, but runs only where it is named, or at night.
        config = parent.config
        named = any((config.rootpath / arg).resolve() == path for arg in config.args)
        if not named and (tier_of_marks(config) != "nightly" or only(config)):
            return None
        return FaultFile.from_parent(parent, path=path)
    if path.parent == negatives.FAULTS and path.suffix == ".yaml":
        return PlantedFile.from_parent(parent, path=path)
    return None


def is_sim_file(path: Path) -> bool:
    """Whether a file holds simulation tests."""
    tests = ROOT / "tb" / "tests"
    return path.is_relative_to(tests) and path.match("test_*.py")
