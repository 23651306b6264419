# SPDX-License-Identifier: Apache-2.0
"""The generated definitions and the table of verbs are current, and a difference does not go
unnoticed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from models.verb import Verb
from models.verbs import VERBS
from scripts import gen_defs, gen_verbs
from scripts.defdocs import DOCS, PAGES, POSTING, RECEIVE, WINDOWS, check_docs, unwrap
from scripts.gen_defs import C_HEADER, HEADER, MODULE, ROOT
from scripts.gen_verbs import TABLE, problems, table
from scripts.rdlmap import RDL, DefsError, Map, read_map
from tb.env import defs

LAYOUTS = [value for value in vars(defs).values() if isinstance(value, defs.Layout)]


@pytest.fixture(scope="module")
def rmap() -> Map:
    return read_map(ROOT / RDL)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the generator reads and writes; it takes this for the checkout."""
    for name in (RDL, HEADER, MODULE, C_HEADER, *PAGES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(gen_defs, "ROOT", tmp_path)
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} must stand once in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def generate(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["gen_defs", *arguments])
    return gen_defs.main()


def test_committed_files_are_current(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(monkeypatch, "--check") == 0, capsys.readouterr().err


def test_what_is_out_of_date_is_found(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change(copy / HEADER, "8'h4B", "8'h5B")
    change(copy / C_HEADER, "0x4Bu", "0x5Bu")
    (copy / MODULE).unlink()
    assert generate(monkeypatch, "--check") == 1
    said = capsys.readouterr().err
    for name in (HEADER, MODULE, C_HEADER):
        assert f"{name} is out of date" in said
    assert "cure: make defs" in said
    assert generate(monkeypatch) == 0
    assert capsys.readouterr().out == f"written: {HEADER}, {MODULE}, {C_HEADER}\n"
    for name in (HEADER, MODULE, C_HEADER):
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes()
    # New files do not make the document right.
    change(copy / RDL, "CNT_IRQS @ 0x114", "CNT_IRQS @ 0x1A4")
    assert generate(monkeypatch) == 0 and generate(monkeypatch, "--check") == 1
    said = capsys.readouterr().err
    assert "out of date" not in said
    assert "CNT_IRQS is 0x114 r in docs/interfaces.md, 0x1a4 r in hdl/carillon.rdl" in said
    assert "cure: correct the page or hdl/carillon.rdl" in said


#: Of each page: text in it, another one, and what is said of it: of each way in which a number is
#: read, and where a name stands on another page, too. A name that is not read is told as missing.
CHANGES = {
    DOCS: [
        ("| 0x008 | `CAP0`", "| 0x018 | `CAP0`", "CAP0 is 0x018"),
        ("| 0x188 | `LOG_POP` | w", "| 0x188 | `LOG_POP` | r", "LOG_POP is 0x188 r"),
        ("| 0x040 … 0x05C |", "| 0x040 … 0x058 |", "ARG7 is 0x058"),
        ("| 0x108 | `CB_RETURN`", "| 0x110 | `CB_RETURN`", "CB_RETURN is 0x110"),
        ("| `STRAY_B` | port", "| `STRAY` | port", "STRAY 0x28 of docs/interfaces.md is not in"),
        ("| `STRAY_B` | port", "| `STRAY` | port", "STRAY_B 0x28 of hdl/carillon.rdl is not in"),
        ("| 0x12 | `RESIZE_CQ`", "| 0x15 | `RESIZE_CQ`", "RESIZE_CQ is 0x15"),
        ("| 207:192 |", "| 206:192 |", "bits of CQE: 206:192"),
        ("`[7]` callback in progress, `[8]`", "`[7]` callback in progress, `[11]`", "STATE: 11"),
        ("| op | lane | name |", "| op | line | name |", "no table | op | lane | name |"),
        ("`[16]` arm, `[18:17]`", "`[16]` arm, `[19:17]`", "bits of TRC_DOORBELL: 19:17"),
        ("| 2 | `DOORBELL` |", "| 2 | `BELL` |", "TRC_DOORBELL of hdl/carillon.rdl: no table"),
    ],
    POSTING: [
        ("| 0x03 | `BAD_PAGE`", "| 0x07 | `BAD_PAGE`", "BAD_PAGE is 0x07"),
        ("0x32 `CONN_NO_QP`", "0x33 `CONN_NO_QP`", "CONN_NO_QP is 0x33"),
        ("0x134 `CNT_INDICATED`", "0x12C `CNT_INDICATED`", "CNT_INDICATED is 0x12c"),
        ("0x1C0 … 0x1FC", "0x1C0 … 0x1F8", "CNT_CAUSE31 is 0x1f8"),
        ("(Receive 0x040", "(Receive 0x0C0", "RECV is 0x0c0"),
        ("| 0x06 | SendAndInvalidate", "| 0x08 | SendAndInvalidate", "SEND_AND_INVALIDATE is 0x08"),
        ("RDMA_READ_SINK 0x80", "RDMA_READ_SINK 0x800", "post flag: RDMA_READ_SINK is 0x800"),
    ],
    RECEIVE: [
        ("0x208 `CNT_NOT_READY`", "0x218 `CNT_NOT_READY`", "CNT_NOT_READY is 0x218"),
        ("shared receive portal 0x080", "shared receive portal 0x0C0", "SRQ_RECV is 0x0c0"),
        ("(0x03) for", "(0x04) for", "completion status: LENGTH_ERROR is 0x04"),
        ("2 remote read", "3 remote read", "right: REMOTE_READ is 0x03"),
    ],
    WINDOWS: [
        ("kind: 1 read", "kind: 3 read", "kind of access: READ is 0x03"),
        ("| 4 | `BAD_TOKEN`", "| 5 | `BAD_TOKEN`", "answer: BAD_TOKEN is 0x05"),
        ("0x21C `CNT_INV", "0x220 `CNT_INV", "CNT_INVALIDATED is 0x220"),
        ("bits: 1 local write", "bits: 2 local write", "right: LOCAL_WRITE is 0x02"),
    ],
}


@pytest.mark.parametrize("page", CHANGES, ids=lambda page: page.stem)
def test_a_changed_page_is_found(rmap: Map, page: Path) -> None:
    texts = {name: unwrap((ROOT / name).read_text(encoding="utf-8")) for name in PAGES}
    assert check_docs(texts, rmap) == []
    for old, new, message in CHANGES[page]:
        assert texts[page].count(old) == 1, f"{old!r} must stand once in {page}"
        wrong = {**texts, page: texts[page].replace(old, new)}
        assert message in "\n".join(check_docs(wrong, rmap)), old


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_pack_and_unpack(layout: defs.Layout) -> None:
    full = {name: (1 << field.width) - 1 for name, field in layout.fields.items()}
    # Every field gets a value of its own, so that exchanged fields show.
    mixed = {
        name: (0x9E3779B97F4A7C15F39CC0605CEDC835 >> i) % (1 << field.width)
        for i, (name, field) in enumerate(layout.fields.items())
    }
    for values in (full, mixed):
        assert layout.unpack(layout.pack(**values)) == values
    assert layout.pack(**full) ^ layout.reserved == (1 << layout.width) - 1
    assert layout.pack() == 0
    for name, value in full.items():
        word = layout.pack(**{name: value})
        assert word == layout[name].mask
        assert layout.unpack(word) == dict.fromkeys(full, 0) | {name: value}
    assert layout.unpack(layout.reserved) == dict.fromkeys(full, 0)


def test_pack_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"CQE\.qp: 0x1000000 does not fit 24 bits"):
        defs.CQE.pack(qp=1 << 24)
    with pytest.raises(ValueError, match="does not fit"):
        defs.CQE.pack(qp=-1)
    with pytest.raises(ValueError, match="CQE has no field colour"):
        defs.CQE.pack(colour=1)
    with pytest.raises(ValueError, match="does not fit 256 bits"):
        defs.CQE.unpack(1 << 256)


def test_a_changed_table_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (TABLE, RDL):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text((ROOT / path).read_text())
    monkeypatch.setattr(gen_verbs, "ROOT", tmp_path)
    assert gen_verbs.main(["--check"]) == 0
    (tmp_path / TABLE).write_text((ROOT / TABLE).read_text().replace("8'd48", "8'd47"))
    assert gen_verbs.main(["--check"]) == 1
    assert "cure: make defs" in capsys.readouterr().err
    assert gen_verbs.main([]) == 0 and capsys.readouterr().out == f"written: {TABLE}\n"
    assert (tmp_path / TABLE).read_text() == (ROOT / TABLE).read_text()


def test_codes_that_only_one_side_has(rmap: Map) -> None:
    opcodes, kinds = {1: "CDE_OPC_ODD", 2: "CDE_OPC_GONE"}, {1: "CDE_CQETYPE_ODD"}
    assert not list(problems([Verb("Odd", 1, 1)], {1: "CDE_OPC_ODD"}, kinds))
    found = "\n".join(problems([Verb("Even", 1, 2)], opcodes, kinds))
    for text in (
        "opcode 0x01: CDE_OPC_ODD in hdl/carillon.rdl, CDE_OPC_EVEN by models/verbs",
        "opcode 0x02: CDE_OPC_GONE in hdl/carillon.rdl, None by models/verbs",
        "Even: hdl/carillon.rdl has no result type 0x0002",
    ):
        assert text in found
    with pytest.raises(DefsError, match="CDE_OPC_ODD"):
        table(rmap, [*VERBS.values(), Verb("Odd", 99, 0x4000)])
