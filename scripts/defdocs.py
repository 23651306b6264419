# SPDX-License-Identifier: Apache-2.0
"""Compare the numbers of the pages in docs/ with the register map hdl/carillon.rdl."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.rdlmap import RDL, Map, constant_name

DOCS = Path("docs/interfaces.md")
POSTING = Path("docs/posting.md")
RECEIVE = Path("docs/receive.md")
WINDOWS = Path("docs/windows.md")
PAGES = (DOCS, POSTING, RECEIVE, WINDOWS)

CONTROL = "Control, AXI4-Lite"
PAGE = "Doorbell page, offsets within 4 KiB"
CAUSES = {
    DOCS: ("Causes of refusal, in order of precedence", "Other error causes in the log"),
    POSTING: ("Causes of inline failure (DF-14), in order of precedence",),
    RECEIVE: ("Causes, in order of precedence",),
    WINDOWS: (),
}
#: Headings of the tables that give the bits of a layout.
BIT_TABLES = (
    (DOCS, "CQE", "CQE, 32 bytes"),
    (DOCS, "EQE", "EQE, 16 bytes"),
    (DOCS, "TRACE", "Trace port"),
    (POSTING, "POST", "Posts: 64-byte writes"),
    (RECEIVE, "RPOST", "Receive posts: 64-byte writes"),
)
#: Start and end of the prose that gives the bits of a layout.
BIT_PROSE = (
    (DOCS, "STATE", "State, lanes 1 and 2:", "State, lane 0:"),
    (DOCS, "PSTATE", "State, lane 0:", "\n\n"),
    (DOCS, "EQ_STATE", "| `QUERY_EQ` | `ARG0` EQ | `OUT0`", "; `OUT1`"),
    (DOCS, "CQ_STATE", "| `QUERY_CQ` | `ARG0` CQ | `OUT0`", "; `OUT1`"),
    (POSTING, "QP_STATE", "| `QUERY_QP` | | `OUT0`", "; `OUT1`"),
    (POSTING, "QP_POSTED", "peer; `OUT1`", "; `OUT2`"),
    (POSTING, "QP_LEFT", "released; `OUT2`", "; `OUT3`"),
    (POSTING, "WORK_USER", "`tuser`:", "\n\n"),
    (POSTING, "DONE", "**`s_axis_done`**:", "\n\n"),
    (POSTING, "CONN", "**`s_axis_conn`**:", "\n\n"),
    (POSTING, "TERM", "**`m_axis_term`**:", "\n\n"),
    (POSTING, "SEGMENT", "A slot is a segment,", ";"),
    (POSTING, "QSTATE", "State, lane 3:", "State, lane 4:"),
    (POSTING, "RSTATE", "State, lane 4:", "\n\n"),
    (POSTING, "CAP3", "`CAP3`", "("),
    (RECEIVE, "RREQ", "**`s_axis_rreq`**:", "\n\n"),
    (RECEIVE, "SCATTER_USER", "`tuser`:", "`tdata`:"),
    (RECEIVE, "SEGMENT", "the number of bytes to fill there:", "."),
    (RECEIVE, "SEGMENT", "A slot is a segment:", "."),
    (RECEIVE, "RDONE", "**`s_axis_rdone`**:", "\n\n"),
    (RECEIVE, "SRQ_DB", "write at page offset 0x110\n\n", "\n\n"),
    (RECEIVE, "SRQ_BUFFERS", "| `QUERY_SRQ` | `ARG0` | `OUT0`", "; `OUT1`"),
    (RECEIVE, "SRQ_ENDS", "outstanding; `OUT1`", "; `OUT2`"),
    (RECEIVE, "SRQ_DONE", "reaped; `OUT2`", "; `OUT3`"),
    (RECEIVE, "SRQ_STATE", "T; `OUT3`", "; `OUT4`"),
    (RECEIVE, "KEY", "A key is", "\n\n"),
    (RECEIVE, "CAP4", "`CAP4`", ";"),
    (RECEIVE, "CAP5", "`CAP5`", "("),
    (RECEIVE, "TSTATE", "State, lane 5:", "State, lane 6:"),
    (RECEIVE, "BSTATE", "State, lane 6:", "State, lane 7:"),
    (RECEIVE, "CSTATE", "State, lane 7:", "\n\n"),
    (WINDOWS, "KEY", "A *key*", "An object's"),
    (WINDOWS, "CHECK", "**`s_axis_check`**:", "\n\n"),
    (WINDOWS, "VERDICT", "**`m_axis_verdict`**:", "\n\n"),
    (WINDOWS, "MR_STATE", "| `QUERY_MR` | | `OUT6`", "\n"),
    (WINDOWS, "MW_STATE", "`[18:16]` rights; `OUT6`", "; `OUT7`"),
    (WINDOWS, "CAP6", "`CAP6`", "\n"),
    (WINDOWS, "KSTATE", "State, lanes 8 and 9:", "\n\n"),
)
#: How the pages call the portals and registers of a page that are not in a table.
PORTALS = {
    POSTING: {
        "Send portal: page offset": "SEND",
        "(Receive": "RECV",
        "shared receive": "SRQ_RECV",
    },
    WINDOWS: {},
    RECEIVE: {
        "Receive portal": "RECV",
        "shared receive portal": "SRQ_RECV",
        "`SRQ_DB`: 8-byte write at page offset": "SRQ_DB",
    },
}
#: Names, each with its number.
Pairs = Iterable[tuple[str, str]]


class Table(NamedTuple):
    heading: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]


def read_tables(text: str) -> list[Table]:
    tables: list[Table] = []
    heading = ""
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(cells_of(line))
            continue
        if block:
            columns = tuple(block[0])
            # The second row only separates the header from the body.
            rows = tuple(dict(zip(columns, row, strict=False)) for row in block[2:])
            tables.append(Table(heading, columns, rows))
            block = []
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
    return tables


def numbers_in(cell: str) -> list[int]:
    if re.fullmatch(r"\d+", cell):
        return [int(cell)]
    return [int(n, 16) for n in re.findall(r"0x([0-9A-Fa-f]+)", cell)]


def doc_registers(table: Table) -> Iterator[tuple[str, str]]:
    """(name, "offset access") of each row; a row with a range stands for all its registers."""
    for row in table.rows:
        offsets = numbers_in(row["offset"])
        names = re.findall(r"`(\w+)`", row["name"])
        access = row["access"].split(",")[0]
        access = {"read": "r", "write": "w"}.get(access, access)
        if len(names) == 1 and len(offsets) == 1:
            yield names[0], f"{offsets[0]:#05x} {access}"
            continue
        first = re.fullmatch(r"(\w*?)(\d+)", names[0]) if names else None
        last = re.search(r"(\d+)$", names[-1]) if names else None
        if first is None or last is None or len(names) != 2 or len(offsets) != 2:
            yield row["name"], f"unreadable row, offset {row['offset']}"
            continue
        count = int(last[1]) - int(first[2])
        for i in range(count + 1):
            # The ends are taken from the row, so that a wrong end does not pass.
            offset = offsets[1] if i == count else offsets[0] + 4 * i
            yield f"{first[1]}{int(first[2]) + i}", f"{offset:#05x} {access}"


def doc_codes(table: Table, number: str, name: str) -> Iterator[tuple[str, str]]:
    for row in table.rows:
        values = numbers_in(row[number])
        # A row without a name speaks of all other numbers.
        if row[name]:
            yield row[name].strip("`"), f"{values[0]:#04x}" if len(values) == 1 else row[number]


def cells_of(line: str) -> list[str]:
    """Cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def unwrap(text: str) -> str:
    """Each paragraph, list item and row on one line; a row whose first cell is empty goes on with
    the row above it.
    """
    lines: list[str] = []
    for line in text.splitlines():
        if re.match(r"\| *\|", line) and lines[-1].startswith("| "):
            pairs = zip(cells_of(lines[-1]), cells_of(line), strict=True)
            line = f"| {' | '.join(' '.join(pair).strip() for pair in pairs)} |"
            lines[-1] = re.sub(r"\|  +(?=\|)", "| ", line)
        else:
            lines.append(line)
    text = "\n".join(lines)
    return re.sub(r"(?<=[^\n])\n[ ]*(?=[^\s|#`*0-9-]|`[^`]|\d+(?![\d.]))", " ", text)


def prose(text: str, start: str, end: str = "\n\n") -> str:
    return text.partition(start)[2].partition(end)[0]


def doc_prose_registers(text: str) -> Iterator[tuple[str, str]]:
    """As doc_registers, of a sentence with offsets before the names."""
    register = r"(0x\w+(?: … 0x\w+)?) (`\w+`(?: … `\d+`)?)"
    rows = tuple(
        {"offset": offset, "name": name, "access": "r"}
        for offset, name in re.findall(register, text)
    )
    yield from doc_registers(Table("", ("offset", "name", "access"), rows))


def doc_portals(text: str, portals: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for words, name in portals.items():
        for offset in re.findall(rf"{re.escape(words)} (0x\w+)", text):
            yield name, f"{int(offset, 16):#05x} w"


def doc_prose_codes(text: str) -> Iterator[tuple[str, str]]:
    """Codes of a sentence, each before its name."""
    for number, name in re.findall(r"0x([0-9A-F]+) `(\w+)`", text):
        yield name, f"{int(number, 16):#04x}"


def doc_flags(text: str) -> Iterator[tuple[str, str]]:
    for name, mask in re.findall(r"([A-Z_]+) 0x([0-9A-F]+)", text):
        yield name, f"{int(mask, 16):#04x}"


def doc_status(text: str) -> Iterator[tuple[str, str]]:
    """A code that stands behind its name in brackets, and those between brackets."""
    for name, number in re.findall(r"`(\w+)` \((0x[0-9A-F]+)\)", text):
        yield name, f"{int(number, 16):#04x}"
    for number, name in re.findall(r"[ (](\d+) `(\w+)`", text):
        yield name, f"{int(number):#04x}"


def doc_rights(text: str) -> Iterator[tuple[str, str]]:
    """Masks before their names, which are words."""
    for mask, words in re.findall(r"(\d) ([a-z]+ [a-z]+)", text):
        yield constant_name(words), f"{int(mask):#04x}"


def doc_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Codes before their names, which are words."""
    for number, word in re.findall(r"(\d) ([a-z]+)", text):
        yield constant_name(word), f"{int(number):#04x}"


def doc_bits(table: Table) -> Iterator[tuple[str, str]]:
    for row in table.rows:
        if row["field"] != "0":
            yield row["bits"], ""


def doc_state_bits(text: str) -> Iterator[tuple[str, str]]:
    """The bits that the prose gives a meaning."""
    for bits in re.findall(r"`\[(\d+(?::\d+)?)\]` (?!0[,.])", text):
        yield bits, ""


def rdl_bits(rmap: Map, register: str) -> Iterator[tuple[str, str]]:
    for f in next(r.fields for r in rmap.layouts + rmap.page + rmap.control if r.name == register):
        yield str(f.lsb) if f.width == 1 else f"{f.lsb + f.width - 1}:{f.lsb}", ""


def compare(what: str, in_docs: Mapping[Path, Pairs], in_rdl: Pairs) -> Iterator[str]:
    """What a page says must be so; what the map says must stand on one of the pages."""
    defined = dict(in_rdl)
    named: set[str] = set()
    for page, pairs in in_docs.items():
        documented: dict[str, str] = {}
        for name, value in pairs:
            if name in documented:
                yield f"{what}: {name} stands twice in {page}"
            documented[name] = value
        for name, value in documented.items():
            if name not in defined:
                yield f"{what}: {name} {value} of {page} is not in {RDL}"
            elif value != defined[name]:
                yield f"{what}: {name} is {value} in {page}, {defined[name]} in {RDL}"
        named |= documented.keys()
    pages = " or ".join(map(str, in_docs))
    for name in defined.keys() - named:
        yield f"{what}: {name} {defined[name]} of {RDL} is not in {pages}"


def check_docs(texts: dict[Path, str], rmap: Map) -> list[str]:
    texts = {page: unwrap(text) for page, text in texts.items()}
    tables = {page: read_tables(text) for page, text in texts.items()}
    problems: list[str] = []
    posting, receive, windows = texts[POSTING], texts[RECEIVE], texts[WINDOWS]
    codes = {
        code.spec.rdl: {m.rdl_name: f"{m.value:#04x}" for m in code.members} for code in rmap.codes
    }
    # 0 is the absence of a cause and has no row.
    del codes["cause_e"]["NONE"]

    def find(page: Path, columns: tuple[str, ...], heading: str | None = None) -> list[Table]:
        found = [
            t
            for t in tables[page]
            if t.columns[: len(columns)] == columns and heading in (None, t.heading)
        ]
        if not found:
            where = f" under '{heading}'" if heading else ""
            problems.append(f"{page} has no table | {' | '.join(columns)} |{where}")
        return found

    def report(what: str, in_docs: Mapping[Path, Pairs], in_rdl: Pairs) -> None:
        problems.extend(sorted(compare(what, in_docs, in_rdl)))

    def codes_in(
        page: Path, columns: tuple[str, ...], heading: str | None = None
    ) -> list[tuple[str, str]]:
        """Codes of the tables with these columns: number first, name last."""
        return [
            p for t in find(page, columns, heading) for p in doc_codes(t, columns[0], columns[-1])
        ]

    for what, heading, registers, elsewhere in (
        (
            "control register",
            CONTROL,
            rmap.control,
            {page: doc_prose_registers(prose(texts[page], "\nCounters:")) for page in PORTALS},
        ),
        (
            "doorbell page register",
            PAGE,
            rmap.page,
            {page: doc_portals(texts[page], portals) for page, portals in PORTALS.items()},
        ),
    ):
        rows = [
            p for t in find(DOCS, ("offset", "name", "access"), heading) for p in doc_registers(t)
        ]
        defined = [(r.name, f"{r.offset:#05x} {r.access}") for r in registers]
        report(what, {DOCS: rows, **elsewhere}, defined)

    causes = {
        page: [p for h in headings for p in codes_in(page, ("code", "name"), h)]
        for page, headings in CAUSES.items()
    }
    for page in (POSTING, RECEIVE, WINDOWS):
        causes[page] += doc_prose_codes(prose(texts[page], "Log, added:"))
    report("cause", causes, codes["cause_e"].items())
    for what, rdl, columns in (
        ("command", "command_e", ("code", "command")),
        ("result", "result_e", ("result", "name")),
        ("trace operation", "trace_op_e", ("op", "lane", "name")),
    ):
        report(what, {page: codes_in(page, columns) for page in texts}, codes[rdl].items())
    states = codes_in(POSTING, ("code", "name"), "States of a QP")
    report("QP state", {POSTING: states}, codes["qp_state_e"].items())
    status = doc_status(prose(receive, "Status:"))
    report(
        "completion status",
        {
            POSTING: codes_in(POSTING, ("code", "name"), "Completion"),
            RECEIVE: status,
            WINDOWS: codes_in(WINDOWS, ("status", "name")),
        },
        codes["cqe_status_e"].items(),
    )
    answers = {
        RECEIVE: codes_in(RECEIVE, ("code", "name"), "Ports, added"),
        WINDOWS: codes_in(WINDOWS, ("code", "name"), "Invalidation by the peer"),
    }
    report("answer", answers, codes["scatter_e"].items())
    verdicts = codes_in(WINDOWS, ("code", "name"), "Ports, added")
    report("verdict", {WINDOWS: verdicts}, codes["verdict_e"].items())
    kinds = doc_kinds(prose(windows, "`[17:16]` kind:", ";"))
    report("kind of access", {WINDOWS: kinds}, codes["check_kind_e"].items())
    flags = doc_flags(prose(receive, "| receive completion flag of the QP"))
    report("receive completion flag", {RECEIVE: flags}, codes["recv_flag_e"].items())
    rights = doc_rights(prose(receive, " rights:", "("))
    again = doc_rights(prose(windows, "Rights bits:", "."))
    report("right", {RECEIVE: rights, WINDOWS: again}, codes["region_flags_e"].items())
    flags = doc_flags(prose(posting, "\nFlags:"))
    report("post flag", {POSTING: flags}, codes["post_flags_e"].items())

    opcodes = [
        (constant_name(row["request"]), row["opcode"].lower())
        for t in find(POSTING, ("opcode", "request"))
        for row in t.rows
    ]
    report("opcode", {POSTING: opcodes}, codes["opcode_e"].items())

    for page, register, heading in BIT_TABLES:
        rows = [p for t in find(page, ("bits", "field"), heading) for p in doc_bits(t)]
        report(f"bits of {register}", {page: rows}, rdl_bits(rmap, register))
    layouts = {register.name for register in rmap.layouts}
    without_row = {name for name in layouts if name.startswith("TRC_")}
    for page in texts:
        for row in (r for t in find(page, ("op", "lane", "name")) for r in t.rows):
            register = f"TRC_{row['name'].strip('`')}"
            without_row.discard(register)
            # What comes after the operand in its row is the state.
            bits = doc_state_bits(row["operand"].partition("State:")[0])
            fields = rdl_bits(rmap, register) if register in layouts else ()
            report(f"bits of {register}", {page: bits}, fields)
    problems += [
        f"{name} of hdl/carillon.rdl: no table has its operation" for name in sorted(without_row)
    ]
    for page, register, start, end in BIT_PROSE:
        bits = doc_state_bits(prose(texts[page], start, end))
        report(f"bits of {register}", {page: bits}, rdl_bits(rmap, register))
    return problems
