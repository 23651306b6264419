# SPDX-License-Identifier: Apache-2.0
"""The model and the checks as machine code: mypyc translates the very Python files of
:func:`sources` (`make compiled`). Processes that run for long import that instead.

A process does so if the environment variable ``CARILLON_COMPILED`` is set and what was translated
is what is in the files now; otherwise it imports the files.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

VARIABLE = "CARILLON_COMPILED"
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "sim_build" / "compiled"
#: In FOLDER: what was translated, as stamp() writes it.
KEY = "key"
PLACES = (
    "models",
    "tb/env/scoreboard",
    "tb/env/coverage",
    "tb/env/harness/decode.py",
    "tb/env/harness/facts.py",
    "tb/env/harness/records.py",
    "tb/replay/file.py",
    "tb/replay/judge.py",
)
#: Tests of the model; names and texts, which take no time; classes of str and of pyuvm, which mypyc
#: has not.
_NOT = (
    *("__init__.py", "/tests/", "coverage/bins.py"),
    *("scoreboard/explain.py", "scoreboard/checking.py"),
)


_READ = ("models", "tb/env", "tb/replay")


def sources(root: Path = ROOT) -> list[Path]:
    """The files, relative to ``root``."""
    found = []
    for place in PLACES:
        path = root / place
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        found += [file.relative_to(root) for file in files]
    return [file for file in found if not any(part in file.as_posix() for part in _NOT)]


def key_of(root: Path = ROOT) -> str:
    """Changes with the interpreter, with the files and with all that mypyc reads for them:
    constants of other modules are in the machine code.
    """
    found = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.version} {sources(root)}".encode())
    for place in _READ:
        for file in sorted((root / place).rglob("*.py")):
            found.update(f"\n{file.relative_to(root)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def stamp(folder: Path, key: str) -> str:
    """What the key file holds: the key, and each compiled file with its size."""
    lines = [f"{path.relative_to(folder)} {path.stat().st_size}" for path in folder.rglob("*.so")]
    return "\n".join([key, *sorted(lines)])


def module_of(file: Path) -> str:
    """Its name for import."""
    return ".".join(file.with_suffix("").parts)


class Finder:
    """Finds compiled modules in a folder, ahead of their files."""

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        end = EXTENSION_SUFFIXES[0]
        self._paths = {module_of(file): folder / file.with_suffix(end) for file in files}

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As import wants it; None: not one of these."""
        path = self._paths.get(name)
        if path is None:
            return None
        return spec_from_file_location(name, path, loader=ExtensionFileLoader(name, str(path)))


def current(folder: Path = FOLDER, root: Path = ROOT) -> bool:
    """What is in the folder was translated from the files as they are."""
    try:
        return (folder / KEY).read_text() == stamp(folder, key_of(root))
    except (OSError, ValueError):
        return False


def install(folder: Path = FOLDER, root: Path = ROOT) -> bool:
    """Imports the compiled modules, if there are any of these files."""
    if not current(folder, root):
        return False
    files = sources(root)
    sys.path.append(str(folder))  # what the modules share
    sys.meta_path.insert(0, Finder(folder, files))
    # Now: cocotb's finder, which rewrites assertions, would come first from its start on.
    for file in files:
        importlib.import_module(module_of(file))
    return True
