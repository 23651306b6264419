# SPDX-License-Identifier: Apache-2.0
"""The list of proofs (formal/*/proofs.yaml) and what sby is told of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, hdl_files, relative
from tb.runner.listed import parse, read_all

FORMAL = ROOT / "formal"

#: mode -> (sby's mode, its engine); memories of few words are best taken as registers. No proof is
#: bounded: that is for the search for a planted fault.
MODES = {
    "prove": ("prove", "smtbmc --nomem yices"),  # k-induction
    "pdr": ("prove", "abc pdr"),
    "bmc": ("bmc", "smtbmc --nomem yices"),
    "cover": ("cover", "smtbmc --nomem yices"),
}


@dataclass(frozen=True)
class Plant:
    """A mistake that the proof must refute: ``text`` occurs once in ``file``."""

    file: str
    text: str
    replacement: str
    fails: str = ""
    """Part of the name of the assertion that must fail; "" is any."""
    depth: int = 14
    """Clock cycles in which it must be refuted, where the proof itself is unbounded."""
    defines: str = ""
    """A macro for this run: leaves out properties that would take long to hold until the fault."""


@dataclass(frozen=True)
class Proof:
    """One run of sby: every assertion of ``top`` and what it contains, or every cover."""

    id: str
    statement: str
    requirements: tuple[str, ...]
    module: str
    """The part of the design that the proof is about."""
    top: str
    files: tuple[str, ...]
    mode: str
    depth: int
    """prove: longest induction tried; bmc, cover: clock cycles looked at; pdr: not used."""
    parameters: dict[str, int] = field(default_factory=dict)
    defines: tuple[str, ...] = ()
    quick: bool = False
    early: bool = True
    """prove: assertions are looked at in their own cycle, which makes most inductions a step
    shorter; otherwise in the next one."""
    split: bool = False
    """prove: the solver is asked about one assertion after the other, not about all at once."""
    timeout: int = 600
    breaks_with: tuple[Plant, ...] = ()

    @property
    def goal(self) -> str:
        """What a pass means."""
        return "covered" if self.mode == "cover" else "proven unbounded"

    def script(self, places: dict[str, Path], base: bool = False) -> str:
        """The .sby file; ``places`` maps files to copies that are to be read instead; ``base``: of
        an induction the first cycles only.
        """
        mode, engine = MODES["bmc" if base else self.mode]
        headers = sorted([*hdl_files("*.vh"), *FORMAL.rglob("*.vh")])
        given = [places.get(name, ROOT / name) for name in self.files]
        given += [places.get(relative(path), path) for path in headers]
        defines = "".join(f" -D{name}" for name in self.defines)
        sources = " ".join(Path(name).name for name in self.files)
        values = "".join(f" -set {key} {value}" for key, value in self.parameters.items())
        chparam = [f"chparam{values} {self.top}"] if values else []
        lines = [
            *("[options]", f"mode {mode}", f"depth {self.depth}", f"timeout {self.timeout}"),
            *("", "[engines]", engine, "", "[script]"),
            f"read_verilog -formal{defines} {sources}",
            *chparam,
            f"prep -flatten -top {self.top}",
            *(["async2sync", "chformal -early"] if self.mode == "prove" and self.early else []),
            *("", "[files]", *map(str, given), ""),
        ]
        return "\n".join(lines)


def parse_proof(data: object, where: str) -> Proof:
    """One entry of the list; every mistake is told with its place."""
    proof = parse(Proof, data, where)
    where = f"{where}: {proof.id}"
    if proof.mode not in ("prove", "pdr", "cover"):
        raise RunnerError(f"{where}: `mode` must be prove, pdr or cover")
    if proof.depth < 1 or not proof.files or not proof.requirements:
        raise RunnerError(f"{where}: `depth` must be from 1, `files` and `requirements` not empty")
    for name in proof.files:
        if not (ROOT / name).is_file():
            raise RunnerError(f"{where}: no file {name}")
    for plant in proof.breaks_with:
        if plant.text == plant.replacement or not plant.text.strip():
            raise RunnerError(f"{where}: `text` is empty or the same as `replacement`")
    # A cover shows by itself that what it names can happen; everything else must be able to fail.
    if proof.mode != "cover" and not proof.breaks_with:
        raise RunnerError(f"{where}: no `breaks_with`: what shows that this proof can fail?")
    return proof


def load_proofs(folder: Path = FORMAL) -> list[Proof]:
    """The proofs of every .yaml file of the folder, in order of file and place; of one file, if it
    is one."""
    return read_all(folder, "proofs", parse_proof)
