# SPDX-License-Identifier: Apache-2.0
"""The reference driver for Python: compiled with gcc, loaded by ctypes. Signatures and structures
are read from its headers.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
SOURCES = ("carillon_driver.c", "carillon_loop.c")
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror")
_TYPES: dict[str, Any] = {"uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"struct carillon_(\w+) \{(.*?)\n\};", re.DOTALL)
_FIELD = re.compile(r"(?:const )?(?:struct )?(\w+) (\*?)(\w+);")
_FUNCTION = re.compile(r"^(uint32_t) (carillon_\w+)\(([^;]*)\);", re.MULTILINE)

_U32, _U64, _VOID = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
#: Functions of carillon_ops.
OPS = {
    "read32": ctypes.CFUNCTYPE(_U32, _VOID, _U32),
    "write32": ctypes.CFUNCTYPE(None, _VOID, _U32, _U32),
    "doorbell": ctypes.CFUNCTYPE(_U32, _VOID, _U32, _U32, ctypes.POINTER(_U64), _U32),
    "read_memory": ctypes.CFUNCTYPE(None, _VOID, _U64, _VOID, _U32),
    "write_memory": ctypes.CFUNCTYPE(None, _VOID, _U64, _VOID, _U32),
}
#: Waits for an interrupt, for the driver loop.
WAIT = ctypes.CFUNCTYPE(None, _VOID)


class Ops(ctypes.Structure):
    """struct carillon_ops."""

    _fields_ = list(OPS.items())


def _headers() -> str:
    headers = (FOLDER / name.replace(".c", ".h") for name in SOURCES)
    return _COMMENT.sub("", "".join(header.read_text() for header in headers))


def structures() -> dict[str, Any]:
    """A ctypes structure for each structure of the headers, by its name without ``carillon_``."""
    found: dict[str, Any] = {}
    for name, body in _STRUCT.findall(_headers()):
        if name == "ops":
            continue
        fields = []
        for kind, pointer, field in _FIELD.findall(body):
            plain = _TYPES.get(kind) or found.get(kind.removeprefix("carillon_"))
            fields.append((field, _VOID if pointer else plain))
        found[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return found


def load() -> ctypes.CDLL:
    """Compiles the driver; its functions have the types of the headers."""
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder) / "carillon.so"
        sources = [str(FOLDER / name) for name in SOURCES]
        subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", *sources, "-o", str(shared)], check=True)
        library = ctypes.CDLL(str(shared))
    for result, name, arguments in _FUNCTION.findall(_headers()):
        function = getattr(library, name)
        function.restype = _TYPES[result]
        function.argtypes = [
            _VOID if "*" in one or "(" in one else _TYPES[one.split()[0]]
            for one in re.sub(r"\([^,]*\*\w+\)\([^)]*\)", "*wait", arguments).split(",")
        ]
    return library
