# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG inside a page. Colours are the page's own (style.css), so they follow its theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pygal
from markupsafe import Markup
from pygal.style import Style

COLOURS = tuple(f"var(--plot{number})" for number in range(1, 7))
_STYLE: dict[str, Any] = {
    "background": "transparent",
    "plot_background": "transparent",
    "foreground": "var(--dim)",
    "foreground_strong": "var(--text)",
    "foreground_subtle": "var(--line)",
    "font_family": "inherit",
    "label_font_size": 14,
    "major_label_font_size": 14,
    "legend_font_size": 14,
    "value_font_size": 13,
    "guide_stroke_color": "var(--line)",
    "major_guide_stroke_color": "var(--line)",
    "opacity": ".9",
    "transition": "none",
}
#: Of a plot in a line of text: nothing but the line.
_SPARK: dict[str, Any] = {
    **dict.fromkeys(("show_dots", "show_x_labels", "show_y_labels", "show_y_guides"), False),
    **dict.fromkeys(("x_labels_major_count", "y_labels_major_count"), None),
    **dict.fromkeys(("margin", "margin_right"), 3),
    "spacing": 0,
    "width": 120,
    "height": 24,
    "show_legend": False,
    "stroke_style": {"width": 2},
}


def _static(root: Any) -> Any:
    """Without scripts; values in the tooltips that browsers show by themselves."""
    for node in list(root.iter()):
        for child in list(node):
            if not isinstance(child.tag, str):
                continue
            if child.tag.endswith("script") or child.get("class") == "plot tooltip-overlay":
                node.remove(child)
        told = {c.get("class"): c.text or "" for c in node if str(c.tag).endswith("desc")}
        if "value" in told:
            title = node.makeelement("title", {})
            title.text = ": ".join(filter(None, (told.get("x_label"), told["value"])))
            for child in list(node):
                if str(child.tag).endswith("desc"):
                    node.remove(child)
            node.append(title)
    return root


def plain(text: object, limit: int = 40) -> str:
    """A label: printable, not too long."""
    kept = "".join(c if c.isprintable() else "?" for c in str(text))
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _svg(chart: Any, label: str) -> Markup:
    chart.add_xml_filter(_static)
    text = chart.render(is_unicode=True)
    name = Markup.escape(plain(label, 120))
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1))


def _options(colours: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        "js": (),
        "disable_xml_declaration": True,
        "width": 620,
        "height": 280,
        "margin": 8,
        "margin_right": 36,
        "legend_at_bottom": True,
        "show_minor_x_labels": False,
        "x_labels_major_count": 5,
        "y_labels_major_count": 5,
        "truncate_label": -1,
        "style": Style(colors=tuple(colours), **_STYLE),
        **more,
    }


def lines(
    labels: Sequence[object],
    series: Mapping[str, Sequence[float | None]],
    label: str,
    colours: Sequence[str] = COLOURS,
) -> Markup:
    """One line for each series. A gap is None; lines go on over it."""
    options = _options(colours, allow_interruptions=False, dots_size=3, stroke_style={"width": 2})
    chart = pygal.Line(**options, include_x_axis=True, show_legend=len(series) > 1)
    chart.x_labels = [plain(text, 20) for text in labels]
    for name, values in series.items():
        chart.add(plain(name), list(values))
    return _svg(chart, label)


def bars(
    labels: Sequence[object],
    series: Mapping[str, Sequence[float]],
    label: str,
    colours: Sequence[str] = COLOURS,
    horizontal: bool = False,
) -> Markup:
    """Stacked bars, the first label at the top where they are horizontal."""
    options = _options(colours, show_legend=len(series) > 1)
    if horizontal:
        options |= {"height": 110 + 24 * len(labels), "show_minor_x_labels": True}
        options |= {"x_labels_major_count": None, "y_labels_major_count": None}
        chart = pygal.HorizontalStackedBar(**options)
        labels = list(reversed(labels))
        series = {name: list(reversed(values)) for name, values in series.items()}
    else:
        chart = pygal.StackedBar(**options)
    chart.x_labels = [plain(text) for text in labels]
    for name, values in series.items():
        chart.add(plain(name), list(values))
    return _svg(chart, label)


def sparkline(values: Sequence[float], label: str) -> Markup:
    """The course of one number, in a line of text; nothing for a lone number."""
    chart = pygal.Line(**_options(COLOURS, **_SPARK))
    chart.add("", list(values))
    return _svg(chart, label) if len(values) > 1 else Markup("")
