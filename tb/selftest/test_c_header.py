# SPDX-License-Identifier: Apache-2.0
"""sw/ compiles as C11 and as C++17 without a warning; carillon.h says what the Python layouts say,
and the driver sends no command that is not the caller's.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.gen_defs import C_HEADER, ROOT, STRUCTS
from scripts.rdlmap import CODE_SPECS
from sw.binding import OPS, SOURCES, Ops, load, structures
from tb.env import defs

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", f"-I{ROOT / C_HEADER.parent}"]
LAYOUTS = [value for value in vars(defs).values() if isinstance(value, defs.Layout)]
HEAD = "#include <assert.h>\n#include <stdio.h>\n#include <carillon.h>\n"


Language = tuple[str, str, str]


@pytest.fixture(params=[("gcc", "c11", "c"), ("g++", "c++17", "cpp")], ids=("c11", "c++17"))
def language(request: pytest.FixtureRequest) -> Language:
    """Compiler, standard, suffix."""
    return request.param


def compile_and_run(tmp_path: Path, language: Language, text: str) -> str:
    """What the program prints; fails on a warning."""
    compiler, standard, suffix = language
    source = tmp_path / f"program.{suffix}"
    source.write_text(text)
    program = tmp_path / "program"
    subprocess.run([compiler, f"-std={standard}", *STRICT, source, "-o", program], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def equal(left: str, right: int) -> str:
    return f'static_assert({left} == {int(right)}, "{left}");'


def test_numbers_are_those_of_python(tmp_path: Path, language: Language) -> None:
    """Every code, offset and field, and the sizes of what lies in memory."""
    claims = [
        equal(f"CARILLON_{spec.macro}_{member.name}", member.value)
        for spec in CODE_SPECS
        for member in getattr(defs, spec.python)
    ]
    for prefix, registers in (("REG", defs.Reg), ("PAGE", defs.PageReg)):
        claims += [equal(f"CARILLON_{prefix}_{one.name}", one.value) for one in registers]
    for layout in LAYOUTS:
        for field in layout.fields.values():
            name = f"CARILLON_{layout.name}_{field.name.upper()}"
            claims += [equal(f"{name}_LSB", field.lsb), equal(f"{name}_W", field.width)]
    for name in STRUCTS:
        nbytes = getattr(defs, name).width // 8
        claims.append(equal(f"sizeof(struct carillon_{name.lower()})", nbytes))
    claims.append(equal("CARILLON_ID_VALUE", defs.ID_VALUE))
    compile_and_run(tmp_path, language, "\n".join([HEAD, *claims, "int main(void) { return 0; }"]))


def test_fields_are_put_and_got(tmp_path: Path, language: Language) -> None:
    """A word that C packs is the one that Python packs, and each field is read back; bits that do
    not fit stay out of their neighbours.
    """
    body, wanted = [], []
    for place, layout in enumerate(LAYOUTS):
        fields = [field for field in layout.fields.values() if field.width <= 64]
        if any(field.lsb // 64 != (field.lsb + field.width - 1) // 64 for field in fields):
            assert layout.name not in STRUCTS
            continue
        values = {
            field.name: 0x9E3779B97F4A7C15 >> number % 8 & (1 << field.width) - 1
            for number, field in enumerate(fields)
        }
        words = -(-layout.width // 64)
        body.append(f"uint64_t w{place}[{words}] = {{0}};")
        for field in fields:
            name = f"{layout.name}_{field.name.upper()}"
            over = values[field.name] | (~0 << field.width) & (1 << 64) - 1
            body.append(f"CARILLON_PUT(w{place}, {name}, 0x{over:X}u);")
        for field in fields:
            name = f"{layout.name}_{field.name.upper()}"
            body.append(f"assert(CARILLON_GET(w{place}, {name}) == 0x{values[field.name]:X}u);")
        body += [f'printf("%llx\\n", (unsigned long long)w{place}[{i}]);' for i in range(words)]
        packed = layout.pack(**values)
        wanted += [f"{packed >> 64 * i & (1 << 64) - 1:x}" for i in range(words)]
    text = "\n".join([HEAD, "int main(void) {", *body, "return 0; }"])
    assert compile_and_run(tmp_path, language, text).split() == wanted


def test_the_driver_compiles(tmp_path: Path, language: Language) -> None:
    sources = "".join(f'#include "{name}"\n' for name in SOURCES)
    compile_and_run(tmp_path, language, sources + "int main(void) { return 0; }")


def test_a_command_that_was_given_up_and_arguments_that_do_not_fit() -> None:
    """While one runs nothing is written; a field that is too wide is refused, not cut."""
    busy, written = True, {}
    reads = {
        defs.Reg.ID: defs.ID_VALUE,
        defs.Reg.VERSION: defs.VERSION_VALUE,
        defs.Reg.CAP1: defs.CAP1.pack(idx_w=16, max_log2=15),
    }
    mocks: dict[str, Any] = {
        "read32": lambda _, offset: reads.get(offset, 1 if busy else 2),
        "write32": lambda _, offset, value: written.update({offset: value}),
    }
    ops = Ops(*(kind(mocks.get(name, lambda *_: 0)) for name, kind in OPS.items()))
    driver, structs = load(), structures()
    device, eq, cq, qp = (structs[name]() for name in ("device", "eq", "cq", "qp"))
    at, key = ctypes.byref(device), ctypes.byref(ctypes.c_uint32())
    assert driver.carillon_bring_up(at, ctypes.byref(ops), None) == 0
    assert driver.carillon_deregister(at, 1) == 0xFF and not written
    busy = False
    assert driver.carillon_deregister(at, 1) == 0 and written[defs.Reg.ARG0] == 1
    written.clear()
    wide, configs = 1 << 16, (structs["cq_config"](), structs["qp_config"](zone=1 << 16))
    assert driver.carillon_register(at, 1, 0, 64, wide, 0, key) == 0xFD
    assert driver.carillon_create_eq(ctypes.byref(eq), at, 1, 0, wide, 0, 2) == 0xFD
    for page, log2 in ((wide, 2), (0, 0x100)):
        given = at, 1, page, 0, log2, ctypes.byref(configs[0])
        assert driver.carillon_create_cq(ctypes.byref(cq), *given) == 0xFD
    assert driver.carillon_create_qp(ctypes.byref(qp), at, 1, 0, ctypes.byref(configs[1])) == 0xFD
    assert not written
