# SPDX-License-Identifier: Apache-2.0
"""The table of the RTL is that of models/verbs, and a difference does not go unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.codes import Status
from models.verb import Verb
from models.verbs import VERBS
from scripts import gen_verbs
from scripts.gen_verbs import COLUMNS, ROOT, TABLE, kind_of, literal, problems, row, table
from scripts.rdlmap import RDL, DefsError, read_map

MAP = read_map(ROOT / RDL)
FREE = next(opcode for opcode in range(1, 255) if opcode not in VERBS)
ADD = Verb("FetchAndAdd", FREE, 0x4000, min_segments=1, max_segments=2, exact_length=8)


def test_the_committed_table_is_current() -> None:
    assert (ROOT / TABLE).read_text() == table(MAP, VERBS.values())


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
    assert gen_verbs.main([]) == 0
    assert (tmp_path / TABLE).read_text() == (ROOT / TABLE).read_text()


def test_every_field_of_a_row() -> None:
    wanted = "1'b1, `CDE_KIND_REMOTE, 1'b0, 2'd1, 2'd2, 8'd0, 1'b1, 32'd8, 16'h0203, `TYPE"
    assert row(ADD, "TYPE") == f"{{{wanted}}}"
    inline = next(column for column in COLUMNS if column.name == "most_inline")
    with pytest.raises(DefsError, match="most_inline 256 does not fit 8 bits"):
        literal(inline, 256)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "REMOTE"),
        ({"is_read": True, "statuses": (Status.SUCCESS,)}, "READ"),
        ({"local": True, "statuses": (Status.SUCCESS,)}, "KEYS"),
        ({"local": True}, "LOCAL"),
    ],
)
def test_kinds(fields: dict[str, object], kind: str) -> None:
    assert kind_of(Verb("Odd", FREE, 1, **fields)) == f"CDE_KIND_{kind}"  # type: ignore[arg-type]


def test_codes_that_only_one_side_has() -> None:
    opcodes, kinds = {1: "CDE_OPC_ODD", 2: "CDE_OPC_GONE"}, {1: "CDE_CQETYPE_ODD"}
    assert not list(problems([Verb("Odd", 1, 1)], {1: "CDE_OPC_ODD"}, kinds))
    found = "\n".join(problems([Verb("Even", 1, 2)], opcodes, kinds))
    for text in (
        "opcode 0x01: CDE_OPC_ODD in hdl/carillon.rdl, CDE_OPC_EVEN by models/verbs",
        "opcode 0x02: CDE_OPC_GONE in hdl/carillon.rdl, None by models/verbs",
        "Even: hdl/carillon.rdl has no result type 0x0002",
    ):
        assert text in found
    with pytest.raises(DefsError, match="CDE_OPC_FETCH_AND_ADD"):
        table(MAP, [*VERBS.values(), ADD])
