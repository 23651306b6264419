# SPDX-License-Identifier: Apache-2.0
"""Mutants of modules that have a bench of their own (tb/modules, Icarus) meet it, as it is in the
regression, with the parameters that the netlist's module has.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.runner.common import ROOT, RunnerError, relative
from tb.runner.mutate_ladder import Outcome
from tb.runner.mutate_wrap import SELECT

BENCHES = ROOT / "tb" / "modules"

_MODULE = re.compile(r"^module (\S+?)\s*\((.*?)^endmodule", re.M | re.S)
_INSTANCE = re.compile(r"^  (cde_\S+) \\?\S+ *\($", re.M)
_FUNCTION = re.compile(r"^  function (?:\[\d+:0\] )?\\(\$\S+) ?;", re.M)
_NAME = re.compile(r"\\(\$\S+)")
_COPIES = re.compile(r"^  assign (\\\S+ |\w+ ?)\[\d+:1\]  ?= \{ \1\[0\](?:, \1\[0\])* \};\n", re.M)
# As the design has them and as Yosys writes them; those of functions stand further right.
_INPUT = re.compile(r"^  (?:  input +wire|input) +(?:\[[^\]]*\] *)?(\w+)", re.M)
_TIMEOUT_S = 600.0
#: Of a bench: the first as it is in the regression, more for what is neither killed nor proved.
SEEDS = (1, 2, 3, 4, 5, 6)
#: Of a seed: so many times the usual cycles, in which indices of 12 bits count round.
_TIMES = {5: 4, 6: 4}

Values = dict[str, int]


def parts(text: str) -> dict[str, str]:
    """Name and text of each module of a netlist."""
    return dict(_MODULE.findall(text))


def for_icarus(text: str) -> str:
    """The netlist, in which no function has a name that Icarus takes for one of the system, and
    no vector's lowest bit is copied to all others if nobody looks at those: Icarus would look at
    all copies again for each of them.
    """
    functions = set(_FUNCTION.findall(text))
    text = "".join(
        _without_copies(part) for part in re.split(r"(?<=^endmodule\n)", text, flags=re.M)
    )
    return _NAME.sub(lambda m: rf"\function_{m[1]}" if m[1] in functions else m[0], text)


def _without_copies(module: str) -> str:
    """The text of a module without copies of a bit that nobody looks at."""

    def copies(match: re.Match[str]) -> str:
        name = match[1].strip()
        end = r"(?=\s)" if name.startswith("\\") else r"(?!\w)"
        rest = re.sub(r"^  wire .*\n", "", module.replace(match[0], ""), flags=re.M)
        used = re.search(rf"(?<![\w\\]){re.escape(name)}{end}(?! ?\[0\])", rest)
        return match[0] if used else ""

    return _COPIES.sub(copies, module)


def width(text: str, name: str, kind: str = "(?:in|out)put") -> int:
    """Bits of a port (or of what else is declared, ``kind``) in a module's text; 0 if absent."""
    found = re.search(rf"^  {kind} (?:\[(\d+):0\] )?{name}(?:;| \[)", text, re.M)
    return int(found.group(1) or 0) + 1 if found else 0


def wires(text: str, name: str) -> int:
    """Bits of a wire in a module's text, whole or, where a mutant stands for one of its bits, in
    pieces; 0 if absent.
    """
    whole = width(text, name, "wire")
    pieces = re.findall(rf"^  wire .*\\{name}\[(\d+)(?::\d+)?\] ;", text, re.M)
    return whole or max((int(piece) + 1 for piece in pieces), default=0)


def others(text: str) -> str:
    """Connects the inputs of a module that the bench of the maintenance bus has no use for."""
    known = {"rst": "rst", "init": "init"}
    rest = [name for name in _INPUT.findall(text) if name not in ("clk", "mem_i", SELECT)]
    return "".join(f", .{name}({known.get(name, '0')})" for name in rest)


def _memory(module: str, text: str) -> list[Values]:
    two = module.startswith("cde_ram_2w")
    port = "0" if two else ""
    stored = width(text, "bank0" if two else "mem", "reg")
    values = {
        "W": width(text, f"wdata{port}"),
        "AW": width(text, f"waddr{port}"),
        "ECC": int(stored != width(text, f"wdata{port}")),
        "FORWARD": int(two or "fwd_q" in text),
    }
    return [values] if stored and values["W"] and values["AW"] else []


def _fifo(_: str, text: str) -> list[Values]:
    values = {"W": width(text, "push_data"), "LOG2": width(text, "level") - 1}
    return [{**values, "BYPASS": bypass} for bypass in (0, 1)] if all(values.values()) else []


def _of_widths(**ports: str) -> Callable[[str, str], list[Values]]:
    """Parameters that are widths of ports, by the names of both."""

    def values(_: str, text: str) -> list[Values]:
        found = {parameter: width(text, port) for parameter, port in ports.items()}
        return [found] if all(found.values()) else []

    return values


def _track(_: str, text: str) -> list[Values]:
    ports = {"ID_W": "push_id", "W": "push_data", "INIT_W": "init_addr"}
    values = {parameter: width(text, port) for parameter, port in ports.items()}
    spare = re.search(r"^  reg \[\d+:0\] spare \[(\d+):0\];", text, re.M)
    values["MAX_LOG2"] = int(spare.group(1)).bit_length() if spare else 0
    return [values] if all(values.values()) else []


#: A netlist does not tell it.
_BURSTS = (1, 2, 4, 8, 16, 32, 64, 128)


def _dispatch(module: str, text: str) -> list[Values]:
    known = _of_widths(QP_W="ind_qp", SQ_LOG2="ind_slot", IDX_W="ind_next")(module, text)
    return [{**values, "BURST": burst} for values in known for burst in _BURSTS]


def _take(module: str, text: str) -> list[Values]:
    ports = {"QP_W": "taken_qp", "SRQ_W": "ev_srq", "CQ_W": "rq_cq", "IDX_W": "taken_total"}
    found = []
    for values in _of_widths(**ports)(module, text):
        flights = width(text, "rec_slot") - values["QP_W"]
        # A netlist does not tell the depths of its queues.
        depths = ((2, 2), (3, 3), (4, 4), (4, 6))
        found += [{**values, "RX_LOG2": flights, "RQ_LOG2": a, "SRQ_LOG2": b} for a, b in depths]
    return found


def _eqs(_: str, text: str) -> list[Values]:
    page, cq = width(text, "eq_page"), width(text, "attached_of", "reg") - 1
    eqs = re.search(r"^  reg \[\d+:0\] attached_of \[(\d+):0\];", text, re.M)
    eq = int(eqs.group(1)).bit_length() if eqs else 0
    return [{"EQ_W": eq, "PAGE_W": page, "CQ_W": cq}] if min(eq, page, cq) > 0 else []


def _event(_: str, text: str) -> list[Values]:
    eq, idx = width(text, "eqc_eq"), width(text, "eqc_index")
    cq = width(text, "eq_record") - 65 - 2 * idx - eq
    return [{"CQ_W": cq, "EQ_W": eq, "IDX_W": idx}] if min(cq, eq, idx) > 0 else []


def _issue(module: str, text: str) -> list[Values]:
    ports = {"CQ_W": "cq_number", "EQ_W": "eq_number", "IDX_W": "cq_written"}
    ports |= {"M_ID_W": "m_axi_awid", "EQ_REC_W": "eq_record", "INIT_W": "init_addr"}
    # A netlist does not tell how many writes may be under way.
    known = _of_widths(**ports)(module, text)
    return [{**values, "MAX_LOG2": writes} for values in known for writes in range(8, 0, -1)]


def _qp_ctrl(_: str, text: str) -> list[Values]:
    values = {"QP_W": width(text, "op_qp"), "IDX_W": width(text, "ind_next")}
    values |= {"CQ_W": width(text, "cqi_cq"), "PAGE_W": width(text, "cqi_page")}
    values["SQ_LOG2"] = width(text, "set_post") - 33 - values["PAGE_W"] - values["CQ_W"]
    values |= {"SRQ_W": wires(text, "srq"), "RQ_LOG2": wires(text, "recv_depth") - 1}
    return [values] if min(values.values()) > 0 else []


def _srq_ctrl(_: str, text: str) -> list[Values]:
    values = {"SRQ_W": width(text, "op_srq"), "PAGE_W": width(text, "srqi_page")}
    values |= {"IDX_W": width(text, "rp_size"), "QP_W": wires(text, "uses") - 1}
    # A netlist does not tell how long queues may be.
    slots = range(1, values["IDX_W"])
    return [{**values, "SRQ_LOG2": n} for n in slots] if min(values.values()) > 0 else []


def _arm(module: str, text: str) -> list[Values]:
    ports = {"CQ_W": "ct_cq", "PAGE_W": "db_page", "IDX_W": "ct_index", "RETRY_W": "pub_retry"}
    eq = width(text, "cfg_data") - 20 - width(text, "ct_index") - width(text, "db_page")
    known = _of_widths(**ports, EV_W="ev_db_data")(module, text)
    return [{**values, "EQ_W": eq} for values in known if eq > 0]


def _rdone(module: str, text: str) -> list[Values]:
    ports = {"QP_W": "done_qp", "SRQ_W": "completed_srq", "IDX_W": "done_total"}
    flights = width(text, "rec_slot") - width(text, "done_qp")
    cq = width(text, "set_data") - 66
    known = _of_widths(**ports)(module, text)
    return [{**values, "CQ_W": cq, "RX_LOG2": flights} for values in known if flights > 0 < cq]


def _post(module: str, text: str) -> list[Values]:
    ports = {"QP_W": "acc_qp", "CQ_W": "rq_cq", "PAGE_W": "post_page"}
    known = _of_widths(**ports, IDX_W="rel_index", SQ_LOG2="acc_slot")(module, text)
    # A netlist does not tell MOD_TICK.
    return [{**values, "TICK": tick} for values in known for tick in (4, 256)]


def _retire(module: str, text: str) -> list[Values]:
    cq = width(text, "set_data") - 65
    return [{**values, "CQ_W": cq} for values in _dispatch(module, text)] if cq > 0 else []


def _doorbell(_: str, text: str) -> list[Values]:
    ports = {"CQ_W": "db_cq", "IDX_W": "db_index", "PAGE_W": "db_page"}
    ports |= {"ID_W": "s_axi_bid", "ADDR_W": "s_axi_awaddr"}
    values = {parameter: width(text, port) for parameter, port in ports.items()}
    return [{**values, "FULL": full} for full in (0, 1)] if all(values.values()) else []


def _plain(port: str) -> Callable[[str, str], list[Values]]:
    """No parameters; a module that has the port."""

    def values(_: str, text: str) -> list[Values]:
        return [{}] if width(text, port) else []

    return values


def _key_ctrl(_: str, text: str) -> list[Values]:
    qp = width(text, "op_qp")
    mr = width(text, "opr_word") - 154 - qp
    # A netlist does not tell how many windows there are.
    return [{"QP_W": qp, "MR_W": mr, "MW_W": mw} for mw in range(1, 12) if min(qp, mr) > 0]


def _check(_: str, text: str) -> list[Values]:
    qp, n = width(text, "bad_qp"), width(text, "change_at") - 1
    mr = width(text, "change_word") - 154 - qp
    if min(qp, mr, n) < 1:
        return []
    values = {"QP_W": qp, "MR_W": mr, "N_W": n}
    return [{**values, "NUM_MW": 1 << windows} for windows in range(n, 0, -1)]


def _keys(_: str, text: str) -> list[Values]:
    qp, n = width(text, "look_qp"), width(text, "change_at") - 1
    # As many regions as windows.
    alike = width(text, "change_word") == 154 + qp + n
    return [{"QP_W": qp, "N_W": n}] if alike and min(qp, n) > 0 else []


_control_widths = _of_widths(CQ_W="ct_cq", EQ_W="eqc_eq", PAGE_W="cqi_page", IDX_W="ct_index")


def _control(module: str, text: str) -> list[Values]:
    # A netlist does not tell whether there is a posting side.
    return [{**values, "POSTS": n} for values in _control_widths(module, text) for n in (0, 1)]


def _errlog(_: str, text: str) -> list[Values]:
    level = wires(text, "unused_level")
    return [{"DEPTH_LOG2": level - 1}] if level else []


@dataclass(frozen=True)
class ModuleBench:
    """A bench, the modules that it is of, and its parameters for one of them: all that may be
    meant, since a netlist does not tell each; the bench passes with those that are.
    """

    name: str
    module: str
    values: Callable[[str, str], Sequence[Values]]
    parts: str = ""
    """Modules inside such a one, whose mutants meet it too."""

    def has(self, module: str) -> bool:
        return re.fullmatch(rf"({self.module})__\d+", module) is not None

    def has_part(self, module: str) -> bool:
        return re.fullmatch(rf"({self.parts})__\d+", module) is not None

    @property
    def path(self) -> Path:
        return BENCHES / f"{self.name}.v"

    def settings(self, module: str, text: str) -> list[list[str]]:
        """Options of iverilog, those of each choice of the parameters."""
        choices = self.values(module, text)
        if not choices:
            raise RunnerError(
                f"{module}: the netlist has no module of the form that {self.name} knows"
            )
        defines = [f"-DDUT={module}", "-DEDGE=posedge"]
        defines += ["-DTWO"] if module.startswith("cde_ram_2w") else []
        defines += [f"-DOTHERS={others(text)}"] if self is BUS else []
        select = width(text, SELECT)
        defines += [f"-DMUTANTS={select}"] if select else []
        return [[*defines, *(f"-P{self.name}.{k}={v}" for k, v in c.items())] for c in choices]


#: Of modules with memories in them.
BUS = ModuleBench(
    "bus_exact",
    r"cde_(arm|arm_age|check|cq|credit|credit_port|dispatch|done|keys|mbox|page_port|pages|post"
    r"|posting|producer|qp_ctrl|rdone|receive|retire|rpost|take|windows)",
    _plain("mem_o"),
)
MEMORY = ModuleBench("memory_exact", "cde_ram(_2w)?", _memory, parts=r"cde_\w+")
ALL = (
    MEMORY,
    BUS,
    ModuleBench("node_exact", "cde_mem_node", _of_widths(AW="clear_addr")),
    ModuleBench("fifo_exact", "cde_fifo", _fifo),
    ModuleBench("turn_exact", "cde_turn", _of_widths(QP_W="turn_qp")),
    ModuleBench("look_exact", "cde_arm_look", _of_widths(CQ_W="look_cq")),
    ModuleBench("counters_exact", "cde_counters", _plain("recv_step")),
    ModuleBench(
        "credit_exact",
        "cde_credit",
        _of_widths(CQ_W="rq_cq", IDX_W="granted_total"),
        parts="cde_credit_port",
    ),
    ModuleBench("count_exact", "cde_arm_count", _of_widths(IDX_W="d_index")),
    ModuleBench("arm_order_exact", "cde_arm", _arm, parts=r"cde_arm_\w+"),
    ModuleBench("arm_setting_exact", "cde_arm", _arm, parts=r"cde_arm_\w+"),
    ModuleBench("flags_exact", "cde_arm_flags", _plain("p_becomes_due")),
    ModuleBench("age_exact", "cde_arm_age", _of_widths(CQ_W="p_cq", IDX_W="d_index")),
    ModuleBench("track_exact", "cde_track", _track),
    ModuleBench(
        "answer_exact",
        "cde_answer",
        _of_widths(CQ_W="pub_cq", EQ_W="irq_eq", RETRY_W="pub_retry"),
    ),
    ModuleBench("issue_exact", "cde_issue", _issue),
    ModuleBench("eqs_exact", "cde_eqs", _eqs),
    ModuleBench(
        "done_exact",
        "cde_done",
        _of_widths(QP_W="rep_qp", IDX_W="rep_ripe", SQ_LOG2="tags_newest"),
    ),
    ModuleBench("pack_exact", "cde_pack", _of_widths(CQ_W="cq_number", IDX_W="cq_written")),
    ModuleBench("rsv_exact", "cde_rsv", _of_widths(CQ_W="rq_cq")),
    ModuleBench("event_exact", "cde_event", _event),
    ModuleBench("irq_exact", "cde_irq", _of_widths(EQ_W="set_eq")),
    ModuleBench("errlog_exact", "cde_errlog", _errlog),
    ModuleBench("cq_exact", "cde_cq", _of_widths(CQ_W="op_cq", IDX_W="res_index")),
    ModuleBench(
        "slot_exact", "cde_slot", _of_widths(CQ_W="cq", IDX_W="alloc", LEVEL_W="ent_level")
    ),
    ModuleBench("doorbell_exact", "cde_doorbell", _doorbell),
    ModuleBench(
        "pages_exact",
        "cde_pages",
        _of_widths(PAGE_W="st_page", ID_W="s_axi_arid", ADDR_W="s_axi_araddr"),
    ),
    ModuleBench("ctrl_exact", "cde_ctrl", _plain("counter_select")),
    ModuleBench("mbox_exact", "cde_mbox", _control_widths),
    ModuleBench("control_exact", "cde_control", _control),
    ModuleBench("report_exact", "cde_control", _control_widths),
    ModuleBench("verb_exact", "cde_verb", _plain("result_type")),
    ModuleBench("key_ctrl_exact", "cde_key_ctrl", _key_ctrl),
    ModuleBench("keys_exact", "cde_keys", _keys),
    ModuleBench("check_exact", "cde_check", _check),
    ModuleBench(
        "rpost_exact",
        "cde_rpost",
        _of_widths(
            QP_W="done_qp", SRQ_W="completed_srq", CQ_W="rq_cq", PAGE_W="post_page", IDX_W="tail"
        ),
    ),
    ModuleBench("take_exact", "cde_take", _take),
    ModuleBench("rdone_exact", "cde_rdone", _rdone),
    ModuleBench("qp_ctrl_exact", "cde_qp_ctrl", _qp_ctrl),
    ModuleBench("srq_ctrl_exact", "cde_srq_ctrl", _srq_ctrl),
    ModuleBench("post_exact", "cde_post", _post),
    ModuleBench("dispatch_exact", "cde_dispatch", _dispatch),
    ModuleBench("retire_exact", "cde_retire", _retire),
    ModuleBench("removal_exact", "cde_windows", _of_widths(QP_W="bad_qp")),
)


def contained(modules: Mapping[str, str], bench: ModuleBench) -> dict[str, str]:
    """For each module that a bench is of, or that is a part of one, the smallest one that has it
    (it itself if the bench is of it).
    """
    found: dict[str, str] = {}

    def visit(module: str, outer: str) -> None:
        found.setdefault(module, outer)
        for inner in _INSTANCE.findall(modules[module]):
            if inner in modules and bench.has_part(inner):
                visit(inner, outer)

    own = [name for name in modules if bench.has(name)]
    for module in sorted(own, key=lambda name: (len(modules[name]), name)):
        visit(module, module)
    return {**found, **{module: module for module in own}}


@dataclass(frozen=True)
class _Place:
    bench: ModuleBench
    module: str

    def __str__(self) -> str:
        return f"{self.bench.name} of {self.module}"


def _fails(place: _Place, how: str) -> str:
    return f"{place} fails without a mutant: {how}"


class ModuleBenches:
    """The benches of a netlist's modules. Safe among threads."""

    def __init__(self, netlist: Path, folder: Path) -> None:
        self._netlist, self._folder = folder / "netlist.v", folder
        folder.mkdir(parents=True, exist_ok=True)
        text = netlist.read_text()
        self._netlist.write_text(for_icarus(text))
        self._modules = parts(text)
        self._places: dict[str, list[_Place]] = {}
        for bench in ALL:
            for module, outer in contained(self._modules, bench).items():
                self._places.setdefault(module, []).append(_Place(bench, outer))
        places = {place for found in self._places.values() for place in found}
        self._locks: dict[_Place, threading.Lock] = {place: threading.Lock() for place in places}
        self._passed: dict[_Place, set[int]] = {place: set() for place in places}
        """Seeds with which a bench was seen to pass without a mutant."""
        self.left_out: dict[str, str] = {}
        """Benches that cannot be built, or fail without a mutant: they tell nothing. With why."""

    def has(self, module: str) -> bool:
        return module in self._places

    def run(self, number: int, module: str, seed: int = SEEDS[0]) -> tuple[str, Outcome]:
        """Which bench tells the mutant with this seed, "" if none, and what it says. Times are
        those on the clock: Icarus waits for nothing.
        """
        seconds = 0.0
        for place in self._places[module]:
            program = self._folder / f"{place.bench.name}-{place.module}"
            with self._locks[place]:
                if not self._usable(place, program, seed):
                    continue
            start = time.monotonic()
            problem = self._simulate(program, number, seed)
            seconds += time.monotonic() - start
            if problem:
                name = place.bench.name + (f" seed {seed}" if seed != SEEDS[0] else "")
                return name, Outcome(problem, seconds)
        return "", Outcome("", seconds)

    def _usable(self, place: _Place, program: Path, seed: int) -> bool:
        """The bench is built, and passes without a mutant."""
        if str(place) in self.left_out:
            return False
        passed = self._passed[place]
        try:
            if not passed:
                self._build(place, program)
                passed.add(SEEDS[0])
            if seed not in passed:
                if problem := self._simulate(program, 0, seed):
                    raise RunnerError(_fails(place, f"seed {seed}: {problem}"))
                passed.add(seed)
        except RunnerError as error:
            self.left_out[str(place)] = str(error)
            return False
        return True

    def _build(self, place: _Place, program: Path) -> None:
        bench, module = place.bench, place.module
        include = ["-I", str(ROOT / "hdl"), "-I", str(BENCHES)]
        command = ["iverilog", "-g2005", *include, "-s", bench.name]
        problems = []
        for settings in bench.settings(module, self._modules[module]):
            done = subprocess.run(
                [*command, "-o", str(program), *settings, str(bench.path), str(self._netlist)],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                text = done.stderr.strip()[:500]
                raise RunnerError(f"{relative(bench.path)} for {module}: {text}")
            problem = self._simulate(program, 0)
            if not problem:
                return
            problems.append(problem)
        raise RunnerError(_fails(place, "; ".join(problems)))

    def _simulate(self, program: Path, number: int, seed: int = SEEDS[0]) -> str:
        """What is wrong; nothing if the bench passes."""
        command = ["vvp", "-n", str(program), f"+mutant={number}", f"+seed={seed}"]
        command.append(f"+times={_TIMES.get(seed, 1)}")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.stdout.rstrip().endswith("passed"):
            return ""
        return (done.stdout + done.stderr).strip()[:200] or f"status {done.returncode}"
