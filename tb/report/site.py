# SPDX-License-Identifier: Apache-2.0
"""Makes the site: content of all pages first, so that they can link to each other, then HTML."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import crc32

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from tb.report.code import STATES, by_module, style
from tb.report.inputs import SHAPE_ERRORS, Inputs, Loaded, is_number, number, one_line
from tb.report.pages import PAGES, Content, Page

_HERE = Path(__file__).parent
#: What may go wrong with a file of another form, on the way to HTML, too.
_ERRORS = (*SHAPE_ERRORS, UndefinedError)


def slug(kind: str, name: str) -> str:
    """An identifier that is the same in every run, and differs for names that differ."""
    text = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)
    if text != name:
        text = f"{text[:60]}-{crc32(name.encode(errors='replace')):08x}"
    return f"{kind}-{text}"


def count(value: object, digits: int | None = None) -> str:
    """A number for people; what is none as it is."""
    if not is_number(value):
        return one_line(value)
    found = number(value)
    if digits is None:
        whole = found == int(found) or abs(found) >= 1000
        return f"{found:,.0f}" if whole else f"{found:.4g}"
    return f"{found:,.{digits}f}"


_TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"count": count, "one_line": one_line}
_TEMPLATES.globals |= {"slug": slug, "pages": PAGES, "states": STATES, "by_module": by_module}


class Site:
    """Inputs, content of the pages, and the places that links may lead to."""

    def __init__(self, inputs: Inputs, target: Path) -> None:
        self.inputs = inputs
        self.target = target
        self.files = dict(inputs.files)
        self.content: dict[str, Content] = {}
        self.problems: dict[str, Loaded] = {}
        self.places: dict[tuple[str, str], str] = {}
        for page in PAGES:
            self._fill(page)

    def _fill(self, page: Page) -> None:
        loaded = self.files.get(page.source)
        if loaded and not loaded.ok:
            self.problems[page.name] = loaded
            return
        try:
            self.content[page.name] = content = page.build(self.inputs)
            for kind, name in content.get("anchors", ()):
                self.places[kind, name] = f"{page.name}.html#{slug(kind, name)}"
        except _ERRORS as error:
            self.reject(page, error)

    def reject(self, page: Page, error: Exception) -> None:
        """The page says that its file has another form than expected."""
        loaded = self.files.get(page.source) or next(iter(self.files.values()))
        told = f"has another form than expected ({type(error).__name__}: {one_line(error, 120)})"
        self.problems[page.name] = replace(loaded, problem=told)
        self.files[loaded.source.name] = self.problems[page.name]
        self.content.pop(page.name, None)
        for key in [k for k, place in self.places.items() if place.startswith(f"{page.name}.")]:
            del self.places[key]

    # -- links ---------------------------------------------------------------------------------

    @pass_context
    def link(self, context: Context, kind: str, name: object, text: object = None) -> Markup:
        """A link to what the name stands for; the name alone where there is no such place."""
        place = self.places.get((kind, str(name)))
        shown = Markup.escape(name if text is None else text)
        up = context.get("up", "")
        return Markup('<a href="{}">{}</a>').format(up + place, shown) if place else shown

    @pass_context
    def source(self, context: Context, file: str, line: int) -> str:
        """Where a source line is shown; "" if it is not."""
        short = file.rpartition("/")[2]
        for found in self.content.get("code", {}).get("files", ()):
            if found.name.rpartition("/")[2] == short and 0 < line <= len(found.lines):
                return f"{context.get('up', '')}{found.page}#L{line}"
        return ""

    def file(self, path: object, up: str = "") -> str:
        """A link to a file of the checkout; "" if it is not there."""
        try:
            place = self.inputs.root / str(path)
            if not path or not place.is_file():
                return ""
            return up + quote(Path(os.path.relpath(place, self.target)).as_posix())
        except (OSError, ValueError):
            return ""

    # -- pages ---------------------------------------------------------------------------------

    def html(self) -> dict[str, str]:
        """Each page by its path. One that cannot be shown is replaced, and all are made again."""
        found: dict[str, str] = {}
        names = ("link", "source", "file", "files", "content", "problems")
        shared = {name: getattr(self, name) for name in names} | {"made": datetime.now(UTC)}
        page = None

        def render(template: str, path: str, **values: Any) -> None:
            values = shared | values | {"up": "../" * path.count("/"), "path": path}
            found[path] = _TEMPLATES.get_template(f"{template}.html").render(values)

        try:
            for page in PAGES:
                if page.name in self.problems:
                    render("problem", f"{page.name}.html", page=page)
                    continue
                own = self.content[page.name]
                render(page.template or page.name, f"{page.name}.html", page=page, **own)
                for source in own["files"] if page.name == "code" else ():
                    render("source", source.page, page=page, source_file=source)
        except _ERRORS as error:
            if page is None or page.name in self.problems:
                raise
            self.reject(page, error)
            return self.html()
        render("index", "index.html", page=None)
        return found

    def write(self) -> Path:
        """The whole site at once: what was there before stays until this one is complete."""
        pages = self.html()
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.target.parent, prefix=".report-") as name:
            new = Path(name) / "new"
            shutil.copytree(_HERE / "static", new)
            dark = "\n".join(f"  {line}" for line in style(dark=True).splitlines())
            with (new / "style.css").open("a", encoding="utf-8") as out:
                out.write(
                    f"{style(dark=False)}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
                )
            for path, text in pages.items():
                place = new / path
                place.parent.mkdir(parents=True, exist_ok=True)
                # Characters that UTF-8 cannot hold may come from JSON.
                place.write_text(text, encoding="utf-8", errors="backslashreplace")
            if self.target.exists():
                self.target.rename(Path(name) / "old")
            new.rename(self.target)
        return self.target / "index.html"
