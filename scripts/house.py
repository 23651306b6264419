# SPDX-License-Identifier: Apache-2.0
"""The floor plan as a check: lines of each wing, circular imports, long files and lines, tests
outside a subject, imports from test files, deep inheritance of tests.

``make house`` prints a table and fails on everything but a wing that is over its
target. A wing over its ceiling is marked; one that is 5 % over it fails, so that own tests and
sequences have room.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tb.runner.common import RunnerError
from tb.runner.items import SUBJECTS

ROOT: Final = Path(__file__).resolve().parent.parent
#: Folders that hold what is counted and checked.
FOLDERS: Final = ("hdl", "models", "tb", "scripts", "formal", "sw", "docs", "examples")
SOURCES: Final = (".py", ".v", ".vh", ".c", ".h")
#: Most lines of a file, and the files without a limit: they are generated.
LIMITS: Final = {".py": 500, ".v": 400, ".vh": 400}
#: Most columns of a line of Verilog and Markdown.
WIDTH: Final = 120
#: Base of all tests, and how deep they may derive from it.
TEST: Final = "tb.env.base_test.CarillonTest"
DEEPEST: Final = 3
GENERATED: Final = ("hdl/cde_defs.vh", "tb/env/defs.py")
#: Made by `make docs`, and not kept.
REGISTERS: Final = ("docs/registers.md",)
#: Subjects that only tests have, and the others.
OF_TESTS: Final = ("interop", "campaigns")
OF_ALL: Final = tuple(subject for subject in SUBJECTS if subject not in OF_TESTS)
#: Folders that hold nothing but folders of subjects, and those of other names and files there.
BY_SUBJECT: Final = {
    "hdl": ("cde_top.v", "cde_cpl_top.v", "cde_defs.vh", "lint_configs.yaml"),
    "models": (
        *("tests", "verbs", "codes.py", "layouts.py", "nic.py", "params.py", "trace.py", "verb.py"),
        *("__init__.py",),
    ),
    "formal": (),
    "tb/tests": (*OF_TESTS, "common", "__init__.py"),
}
#: A wing may be so much longer than its ceiling.
SLACK: Final = 1.05


class Wing(NamedTuple):
    """A part of the tree. ``target``: lines that it should have; ``ceiling``: that it must not
    exceed by more than ``SLACK``, lowered whenever it has shrunk.
    """

    name: str
    target: int
    ceiling: int
    folders: tuple[str, ...]
    without: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = SOURCES


WINGS: Final = (
    Wing(
        *("tests and tours", 18_000, 18_000, ("tb/tests/", "tb/tours/")),
        without=("tb/tests/lib/", "tb/tests/campaigns/"),
    ),
    # The ceiling counts the pins of foreign designs (pins.py) to which the scoreboard is attached,
    # and leaves out what is generated.
    Wing(
        *("env and sequences", 16_000, 18_550, ("tb/env/", "tb/sequences/")),
        without=("tb/env/defs.py",),
    ),
    Wing("selftest", 8_000, 8_000, ("tb/selftest/",)),
    Wing("benches of leaves", 2_000, 1_230, ("tb/tests/lib/",)),
    Wing("runner and campaigns", 4_500, 8_220, ("tb/runner/", "tb/tests/campaigns/")),
    Wing(*("driver in C", 800, 800, ("sw/",)), without=("sw/carillon.h",), suffixes=(".c", ".h")),
    Wing("planted faults", 3_500, 3_500, ("tb/faults/",), suffixes=(".yaml",)),
)


def read_tree(root: Path = ROOT) -> dict[str, str]:
    """Text of each source and YAML file, by its path in the tree."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (*SOURCES, ".yaml", ".md") and path.is_file():
                name = path.relative_to(root).as_posix()
                try:
                    found[name] = path.read_bytes().decode()
                except UnicodeDecodeError as error:
                    raise RunnerError(f"{name}: not UTF-8: {error}") from None
    found |= {path.name: path.read_text() for path in root.glob("*.md")}
    return found


# -- sizes -----------------------------------------------------------------------------------------


def lines_of(text: str) -> int:
    return len(text.splitlines())


def size(wing: Wing, tree: Mapping[str, str]) -> int:
    """Lines of a wing."""
    return sum(
        lines_of(text)
        for path, text in tree.items()
        if path.startswith(wing.folders)
        and not path.startswith(wing.without or ("\0",))
        and path.endswith(wing.suffixes)
    )


def table(tree: Mapping[str, str], wings: Iterable[Wing] = WINGS) -> Iterator[str]:
    """Lines of each wing against its target."""
    yield f"{'wing':<22}{'lines':>8}{'target':>8}{'ceiling':>9}"
    for wing in wings:
        lines = size(wing, tree)
        over = "  OVER" if lines > wing.target else ""
        over = "  GROWN" if lines > wing.ceiling else over
        yield f"{wing.name:<22}{lines:>8}{wing.target:>8}{wing.ceiling:>9}{over}"


def grown(tree: Mapping[str, str], wings: Iterable[Wing] = WINGS) -> Iterator[str]:
    """Wings over their ceilings by more than the slack."""
    for wing in wings:
        if (lines := size(wing, tree)) > SLACK * wing.ceiling:
            yield (
                f"{wing.name}: {lines} lines, ceiling {wing.ceiling} and 5 %: shorten what is in "
                f"{', '.join(wing.folders)}, or raise the ceiling in scripts/house.py (WINGS)"
            )


def long_files(tree: Mapping[str, str]) -> Iterator[str]:
    """Files over their limits."""
    for path, text in tree.items():
        limit = LIMITS.get(Path(path).suffix)
        if limit and path not in GENERATED and (lines := lines_of(text)) > limit:
            yield f"{path}: {lines} lines, limit {limit}"


def wide_lines(tree: Mapping[str, str]) -> Iterator[str]:
    """Lines of Verilog and Markdown that are too wide."""
    for path, text in tree.items():
        if path in REGISTERS or not path.endswith((".md", ".v", ".vh")):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > WIDTH:
                yield f"{path}:{number}: {len(line)} columns, limit {WIDTH}"


# -- places ----------------------------------------------------------------------------------------


def homeless(tree: Mapping[str, str]) -> Iterator[str]:
    """Files outside the folder of a subject; simulation tests elsewhere."""
    for path in tree:
        folder = next((folder for folder in BY_SUBJECT if path.startswith(f"{folder}/")), "")
        first, *below = path.removeprefix(f"{folder}/").split("/")
        is_test = folder == "tb/tests" and re.search(r"/test_[^/]*\.py$", path)
        if folder and first not in (*OF_ALL, *BY_SUBJECT[folder]):
            subjects = SUBJECTS if folder == "tb/tests" else OF_ALL
            yield f"{path}: not in the folder of a subject ({', '.join(subjects)})"
        elif is_test and (first not in SUBJECTS or len(below) != 1):
            yield f"{path}: not in the folder of a subject itself, as a test has to be"


# -- imports ---------------------------------------------------------------------------------------


def module_of(path: str) -> str:
    """``a.b`` of ``a/b.py`` and of ``a/b/__init__.py``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def source_of(path: str, node: ast.ImportFrom) -> str:
    """What a file imports from."""
    package = module_of(path).split(".")
    package = package if path.endswith("/__init__.py") else package[:-1]
    above = package[: len(package) + 1 - node.level] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def imports(path: str, text: str, modules: Iterable[str]) -> set[str]:
    """Modules of the tree that a file imports, at its top or anywhere else in it."""
    known = set(modules)
    found: set[str] = set()
    for node in ast.walk(ast.parse(text, path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = source_of(path, node)
            inner = {f"{base}.{alias.name}" for alias in node.names} & known
            names = [*inner] if len(inner) == len(node.names) else [base, *inner]
        found.update(name for name in names if name in known)
    return found


def graph_of(tree: Mapping[str, str]) -> dict[str, set[str]]:
    """Who imports whom, in ``models``, ``tb`` and ``scripts``; imports for type checkers count."""
    files = {module_of(path): path for path in tree if path.endswith(".py")}
    return {name: imports(path, tree[path], files) - {name} for name, path in files.items()}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules that import each other in a circle: the strongly connected components (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def circles(tree: Mapping[str, str]) -> Iterator[str]:
    """Circular imports."""
    for part in cycles(graph_of(tree)):
        yield f"circular imports: {', '.join(part)}"


def from_tests(tree: Mapping[str, str]) -> list[str]:
    """Imports from test files."""
    return [
        f"{name} imports {other}: move what they share to tb/tests/common"
        for name, others in graph_of(tree).items()
        for other in sorted(others)
        if other.rpartition(".")[2].startswith("test_")
    ]


# -- inheritance -----------------------------------------------------------------------------------


def bases_of(tree: Mapping[str, str]) -> dict[str, list[str]]:
    """Bases of each class of the tree, as ``a.b.C``, wherever they are imported from."""
    files = {module_of(path): path for path in tree if path.endswith(".py")}
    classes: dict[str, list[str]] = {}
    aliases: dict[str, str] = {}
    for module, path in files.items():
        parsed = ast.parse(tree[path], path)
        for node in ast.walk(parsed):
            if isinstance(node, ast.Import | ast.ImportFrom):
                source = f"{source_of(path, node)}." if isinstance(node, ast.ImportFrom) else ""
                for alias in node.names:
                    aliases[f"{module}.{alias.asname or alias.name}"] = f"{source}{alias.name}"
        for node in parsed.body:
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
                classes[f"{module}.{node.name}"] = [f"{module}.{base}" for base in bases]

    def resolve(name: str) -> str:
        """Follows imports of a name, or of the module in front of it."""
        for _ in files:
            module, _, last = name.rpartition(".")
            if name in classes or not module:
                break
            name = aliases.get(name, f"{aliases.get(module, module)}.{last}")
        return name

    found = {}
    for name, bases in classes.items():
        # A class may have the name of the imported one that it derives from.
        paths = [aliases.get(base, base) if base == name else base for base in bases]
        found[name] = [base for path in paths if (base := resolve(path)) != name]
    return found


def deep_tests(tree: Mapping[str, str]) -> Iterator[str]:
    """Tests that are more than three classes away from the base of all tests. Mix-ins count like
    tests: a test with one that is derived from another stands as deep as if both were tests. Their
    common root, which tells types, does not count.
    """
    bases = bases_of(tree)

    def chain(name: str) -> list[str]:
        """The longest way to the base of all tests, or to a class in place of it."""
        ways = [chain(base) for base in bases[name] if base in bases and name != TEST]
        return [name, *max(ways, key=len)] if ways else [name][: name == TEST]

    def is_test(name: str) -> bool:
        return name == TEST or any(map(is_test, bases.get(name, [])))

    for name in filter(is_test, bases):
        way = [base.rpartition(".")[2] for base in chain(name)]
        if (depth := len(way) - 1) > DEEPEST:
            yield f"{name}: {depth} classes deep, limit {DEEPEST}: {' < '.join(way)}"


def problems(tree: Mapping[str, str], wings: Iterable[Wing] = WINGS) -> list[str]:
    """Everything that must not be, one line each."""
    return [
        *grown(tree, wings),
        *long_files(tree),
        *wide_lines(tree),
        *homeless(tree),
        *circles(tree),
        *from_tests(tree),
        *deep_tests(tree),
    ]


def main(root: Path = ROOT) -> int:
    """Prints table and problems; 1 if there are problems."""
    try:
        tree = read_tree(root)
        print("\n".join(table(tree)))
        found = problems(tree)
    except SyntaxError as error:
        found = [f"{error.filename}:{error.lineno}: {error.msg}"]
    except RunnerError as error:
        found = [str(error)]
    print(
        "\n".join(found)
        or "the floor plan is kept; OVER: longer than it should be; GROWN: than it was"
    )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
