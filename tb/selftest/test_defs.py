# SPDX-License-Identifier: Apache-2.0
"""The generated definitions are current, and a difference does not go unnoticed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts import gen_defs
from scripts.defdocs import DOCS, PAGES, POSTING, RECEIVE, WINDOWS, check_docs, unwrap
from scripts.gen_defs import C_HEADER, HEADER, MODULE, ROOT
from scripts.rdlmap import CODE_SPECS, RDL, Map, read_map
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
    for name in (HEADER, MODULE, C_HEADER):
        assert (copy / name).read_bytes() == (ROOT / name).read_bytes()
    # New files do not make the document right.
    change(copy / RDL, "CNT_IRQS @ 0x114", "CNT_IRQS @ 0x1A4")
    assert generate(monkeypatch) == 0 and generate(monkeypatch, "--check") == 1
    said = capsys.readouterr().err
    assert "out of date" not in said
    assert "CNT_IRQS is 0x114 r in docs/interfaces.md, 0x1a4 r in hdl/carillon.rdl" in said
    assert "cure: correct the page or hdl/carillon.rdl" in said


#: Of each page: text in it, another one, and what is said of it.
CHANGES = {
    DOCS: [
        ("| 0x008 | `CAP0`", "| 0x018 | `CAP0`", "CAP0 is 0x018"),
        ("| 0x188 | `LOG_POP` | w", "| 0x188 | `LOG_POP` | r", "LOG_POP is 0x188 r"),
        ("| 0x040 … 0x05C |", "| 0x040 … 0x058 |", "ARG7 is 0x058"),
        ("| 0x108 | `CB_RETURN`", "| 0x110 | `CB_RETURN`", "CB_RETURN is 0x110"),
        ("| 0x03 | `BAD_PAGE`", "| 0x13 | `BAD_PAGE`", "BAD_PAGE is 0x13"),
        ("| `STRAY_B` | port", "| `STRAY` | port", "STRAY 0x28 of docs/interfaces.md is not in"),
        ("| 0x12 | `RESIZE_CQ`", "| 0x15 | `RESIZE_CQ`", "RESIZE_CQ is 0x15"),
        ("| 0x4C | `CMD_IN_USE`", "| 0x4F | `CMD_IN_USE`", "CMD_IN_USE is 0x4f"),
        ("| 0x21 | 0 | `OVERFLOW`", "| 0x25 | 0 | `OVERFLOW`", "OVERFLOW is 0x25"),
        ("| 207:192 |", "| 206:192 |", "bits of CQE: 206:192"),
        ("`[7]` callback in progress, `[8]`", "`[7]` callback in progress, `[11]`", "STATE: 11"),
        ("| op | lane | name |", "| op | line | name |", "no table | op | lane | name |"),
    ],
    POSTING: [
        ("| 0x0F | `BAD_OPCODE`", "| 0x18 | `BAD_OPCODE`", "BAD_OPCODE is 0x18"),
        ("| 0x03 | `BAD_PAGE`", "| 0x07 | `BAD_PAGE`", "BAD_PAGE is 0x07"),
        ("0x32 `CONN_NO_QP`", "0x33 `CONN_NO_QP`", "CONN_NO_QP is 0x33"),
        ("| 4 | `DISCONNECTED`", "| 7 | `DISCONNECTED`", "QP state: DISCONNECTED is 0x07"),
        ("| 0x01 | `CANCELED`", "| 0x03 | `CANCELED`", "CANCELED is 0x03"),
        ("| 0x24 | `FLUSH_QP`", "| 0x27 | `FLUSH_QP`", "FLUSH_QP is 0x27"),
        ("| 0x51 | `CMD_BUSY`", "| 0x52 | `CMD_BUSY`", "CMD_BUSY is 0x52"),
        ("| 0x40 | 4 | `RETIRE`", "| 0x33 | 4 | `RETIRE`", "RETIRE is 0x33"),
        ("0x134 `CNT_INDICATED`", "0x12C `CNT_INDICATED`", "CNT_INDICATED is 0x12c"),
        ("0x1C0 … 0x1FC", "0x1C0 … 0x1F8", "CNT_CAUSE31 is 0x1f8"),
        ("(Receive 0x040", "(Receive 0x0C0", "RECV is 0x0c0"),
        ("| 0x06 | SendAndInvalidate", "| 0x08 | SendAndInvalidate", "SEND_AND_INVALIDATE is 0x08"),
        ("RDMA_READ_SINK 0x80", "RDMA_READ_SINK 0x800", "post flag: RDMA_READ_SINK is 0x800"),
        ("| 47:32 | QP", "| 46:32 | QP", "bits of POST: 46:32"),
        ("`[55:32]` peer", "`[54:32]` peer", "bits of WORK_USER: 54:32"),
        ("`[39:32]` status", "`[40:32]` status", "bits of DONE: 40:32"),
        ("`[23:16]` event", "`[24:16]` event", "bits of CONN: 24:16"),
        ("`[23:16]` state the", "`[24:16]` state the", "bits of TERM: 24:16"),
        ("`[127:96]` key; slot", "`[127:97]` key; slot", "bits of SEGMENT: 127:97"),
        ("`[47:32]` released", "`[46:32]` released", "bits of QSTATE: 46:32"),
        ("`[16]` a request", "`[17]` a request", "bits of RSTATE: 17"),
        ("`[23:16]` SQ_LOG2", "`[24:16]` SQ_LOG2", "bits of CAP3: 24:16"),
    ],
    RECEIVE: [
        ("| 0x1A | `BAD_REGION`", "| 0x1F | `BAD_REGION`", "BAD_REGION is 0x1f"),
        ("0x34 `RDONE_BAD`", "0x36 `RDONE_BAD`", "RDONE_BAD is 0x36"),
        ("| 0x34 | `DESTROY_SRQ`", "| 0x35 | `DESTROY_SRQ`", "DESTROY_SRQ is 0x35"),
        ("| 0x53 | `CMD_BAD_FLAG`", "| 0x51 | `CMD_BAD_FLAG`", "CMD_BAD_FLAG is 0x51"),
        ("| 0x60 | 7 | `RECEIVE`", "| 0x61 | 7 | `RECEIVE`", "RECEIVE is 0x61"),
        ("0x208 `CNT_NOT_READY`", "0x218 `CNT_NOT_READY`", "CNT_NOT_READY is 0x218"),
        ("0x01C `CAP5`", "0x020 `CAP5`", "CAP5 is 0x020"),
        ("shared receive portal 0x080", "shared receive portal 0x0C0", "SRQ_RECV is 0x0c0"),
        ("| 2 | `LENGTH_ERROR`", "| 4 | `LENGTH_ERROR`", "answer: LENGTH_ERROR is 0x04"),
        ("(0x03) for", "(0x04) for", "completion status: LENGTH_ERROR is 0x04"),
        ("SOLICITED_WAIT 0x02", "SOLICITED_WAIT 0x08", "flag: SOLICITED_WAIT is 0x08"),
        ("2 remote read", "3 remote read", "right: REMOTE_READ is 0x03"),
        ("| 15:8 | number of", "| 14:8 | number of", "bits of RPOST: 14:8"),
        ("`[17]` invalidate", "`[18]` invalidate", "bits of RREQ: 18"),
        ("`[31:16]` tag. `tdata`", "`[31:15]` tag. `tdata`", "bits of SCATTER_USER: 31:15"),
        ("`[39:32]` status", "`[40:32]` status", "bits of RDONE: 40:32"),
        ("`[15:0]` reaped index (", "`[14:0]` reaped index (", "bits of SRQ_DB: 14:0"),
        ("`[95:64]` bytes", "`[95:65]` bytes", "bits of SEGMENT: 95:65"),
        ("`[80]` armed", "`[81]` armed", "bits of TSTATE: 81"),
        ("`[47:32]` size, rest", "`[48:32]` size, rest", "bits of BSTATE: 48:32"),
        ("7: `[15:0]` reported", "7: `[14:0]` reported", "bits of CSTATE: 14:0"),
        ("`[31:12]` a number", "`[31:13]` a number", "bits of KEY: 31:13"),
    ],
    WINDOWS: [
        ("| 3 | `NO_RIGHT`", "| 6 | `NO_RIGHT`", "verdict: NO_RIGHT is 0x06"),
        ("kind: 1 read", "kind: 3 read", "kind of access: READ is 0x03"),
        ("| 0x06 | `BAD_MEMORY`", "| 0x08 | `BAD_MEMORY`", "BAD_MEMORY is 0x08"),
        ("| 4 | `BAD_TOKEN`", "| 5 | `BAD_TOKEN`", "answer: BAD_TOKEN is 0x05"),
        ("| 0x43 | `ALLOC_MR`", "| 0x44 | `ALLOC_MR`", "ALLOC_MR is 0x44"),
        ("| 0x56 | `CMD_DEVICE", "| 0x57 | `CMD_DEVICE", "CMD_DEVICE_REMOVED is 0x57"),
        ("0x36 `CHECK_REFUSED`", "0x38 `CHECK_REFUSED`", "CHECK_REFUSED is 0x38"),
        ("0x21C `CNT_INV", "0x220 `CNT_INV", "CNT_INVALIDATED is 0x220"),
        ("| 0x73 | 9 | `CHECK`", "| 0x76 | 9 | `CHECK`", "CHECK is 0x76"),
        ("bits: 1 local write", "bits: 2 local write", "right: LOCAL_WRITE is 0x02"),
        ("`[11]` kind", "`[12]` kind", "bits of KEY: 12"),
        ("`[159:128]` length", "`[158:128]` length", "bits of CHECK: 158:128"),
        ("`[19:16]` code", "`[18:16]` code", "bits of VERDICT: 18:16"),
        ("`[17]` allocated", "`[19]` allocated", "bits of MR_STATE: 19"),
        ("`[16]` valid; `OUT7`", "`[17]` valid; `OUT7`", "bits of MW_STATE: 17"),
        ("`CAP6` `[15:0]`", "`CAP6` `[14:0]`", "bits of CAP6: 14:0"),
        ("`[47:35]` number", "`[47:36]` number", "bits of KSTATE: 47:36"),
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


def test_header_and_module_agree() -> None:
    """Both come from one map, but through separate code."""
    macros = dict(
        line.split()[1:3]
        for line in (ROOT / HEADER).read_text(encoding="utf-8").splitlines()
        if line.startswith("`define CDE_") and len(line.split()) == 3
    )

    def value(text: str) -> int:
        _, quote, digits = text.partition("'")
        return int(digits[1:], {"d": 10, "h": 16}[digits[0]]) if quote else int(text)

    enums = {spec.macro: getattr(defs, spec.python) for spec in CODE_SPECS}
    for prefix, enum in {**enums, "REG": defs.Reg, "PAGE": defs.PageReg}.items():
        for member in enum:
            assert value(macros[f"CDE_{prefix}_{member.name}"]) == member
    for layout in LAYOUTS:
        for field in layout.fields.values():
            macro = f"CDE_{layout.name}_{field.name.upper()}"
            assert (int(macros[f"{macro}_LSB"]), int(macros[f"{macro}_W"])) == field[1:]


def test_numbers_of_the_contract() -> None:
    """A few numbers by hand, so that a common error of all generated files shows."""
    assert defs.ID_VALUE.to_bytes(4, "big") == b"CARI"
    assert defs.VERSION_VALUE == 0x00010000
    assert int(defs.Reg.CNT_CAUSE15) == 0x17C
    assert int(defs.Cause.NO_CALLBACK) == 0x0C
    assert int(defs.Result.CQ_ERROR) == 0x4E
    assert defs.CQE["type"] == ("type", 192, 16)
    assert defs.CQE.pack(flags=defs.CqeFlag.SOLICITED) == 1 << 240
    assert (defs.CQE.width, defs.EQE.width) == (256, 128)
    assert (int(defs.Reg.CNT_CAUSE16), int(defs.Reg.CNT_CAUSE31)) == (0x1C0, 0x1FC)
    assert (defs.POST.width, defs.WORK_USER.width, defs.TERM.width) == (512, 64, 32)
    assert defs.POST["slot2"] == ("slot2", 384, 128)
    assert defs.RPOST["slot2"] == ("slot2", 384, 128)
    assert (defs.RREQ.width, defs.SCATTER_USER.width, defs.RDONE.width) == (128, 32, 64)
    assert (int(defs.PageReg.SRQ_DB), int(defs.Cause.BAD_STATE)) == (0x110, 0x1E)
    assert defs.POST.pack(flags=defs.PostFlag.ALLOW_REMOTE_WRITE) == 0x30 << 16
    assert defs.KEY.pack(number=3, window=1, generation=2) == 0x2803
    assert defs.CHECK["length"] == ("length", 128, 32)
    assert defs.KSTATE["region"] == ("region", 67, 12)
    assert (int(defs.Cmd.REMOVE_DEVICE), int(defs.Result.DEVICE_REMOVED)) == (0x4F, 0x56)


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
