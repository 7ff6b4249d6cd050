#!/usr/bin/env python3
"""Draws a journal of `basalt tune`: a heat map of each problem, and for each routine over the order how many kernels were
generated, compiled and timed, and the panel widths of the fastest kernel and of those within 2 % of it.

usage: tune.py JOURNAL OUT.svg [--problem "cholesky factor s"]    only problems whose names contain the text
"""

import argparse
import collections
import html
import json
import pathlib
import sys

import svg_chart

CELL, LABEL, TITLE, GAP = 16, 150, 40, 24
CLOSE = 1.02
CHART_WIDTH, CHART_HEIGHT = 300, 150


def read_journal(path):
    """The head, the counts by problem, and the last finding of each candidate by problem. A last line that a kill has
    cut is left out."""
    lines = pathlib.Path(path).read_text().split("\n")[:-1]
    records = [json.loads(line) for line in lines]
    if not records or records[0].get("journal") != "basalt tune":
        sys.exit(f"tune.py: {path} is no journal of basalt tune")
    spaces, findings = {}, collections.defaultdict(dict)
    for record in records[1:]:
        problem = tuple(record[key] for key in ("routine", "job", "precision", "n"))
        if "generated" in record:
            spaces[problem] = record
        else:
            findings[problem][row_of(record), record["width"], tuple(record["relaxed"])] = record
    return records[0], spaces, findings


def name_of(problem):
    return " ".join(str(part) for part in problem)


def row_of(record):
    """What tells kernels of one width apart: sorted by where the matrix lies, threads, and blocks."""
    return record["residence"], record["threads"], record["bound"], record["resident_blocks"]


def row_text(row):
    residence, threads, bound, blocks = row
    return f"{residence} {threads}" + (f" of {bound}" if bound != threads else "") + f", {blocks} a MP"


def timed(findings):
    return [r for r in findings.values() if r["outcome"] == "timed" and not r["relaxed"]]


def text_svg(x, y, text, anchor="start", kind=""):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{kind}>{html.escape(str(text))}</text>'


def heat_map(problem, findings, top):
    """Rows of the SVG file from `top` on, and where they end: dark is fast, crosses are kernels that failed."""
    shown = [r for r in findings.values() if not r["relaxed"]]
    rows, columns = sorted({row_of(r) for r in shown}), sorted({r["width"] for r in shown})
    best = min((r["seconds"] for r in timed(findings)), default=None)
    parts = [text_svg(10, top + 14, name_of(problem), kind=' class="title"')]
    for number, width in enumerate(columns):
        parts.append(text_svg(LABEL + CELL * (number + 0.5), top + TITLE - 6, width, "middle"))
    for r in shown:
        x, y = LABEL + CELL * columns.index(r["width"]), top + TITLE + CELL * rows.index(row_of(r))
        if r["outcome"] == "timed":
            speed = best / r["seconds"]
            colour = svg_chart.COLOURS[0]
            edge = "#d00000" if r["seconds"] == best else colour if r["seconds"] <= CLOSE * best else "none"
            parts.append(f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" fill="{colour}" '
                         f'fill-opacity="{speed * speed:.2f}" stroke="{edge}" stroke-width="1.5">'
                         f"<title>{r['seconds'] * 1e3:.4f} ms, {r['registers']} registers</title></rect>")
        else:
            parts.append(f'<path class="axis" d="M{x + 5} {y + 5}l6 6m0 -6l-6 6"><title>{r["outcome"]}</title></path>')
    for number, row in enumerate(rows):
        parts.append(text_svg(LABEL - 6, top + TITLE + CELL * number + 12, row_text(row), "end"))
    return parts, top + TITLE + CELL * len(rows) + GAP, LABEL + CELL * len(columns)


def points_svg(left, top, title, series, sizes):
    """A chart over the order: `series` is a list of (label, [(n, value)], radius)."""
    points = [point for _, values, _ in series for point in values]
    if not points:
        return []
    high = max(value for _, value in points) or 1
    order = sorted(sizes)

    def place(n, value):
        return left + (order.index(n) + 0.5) * CHART_WIDTH / len(order), top + CHART_HEIGHT * (1 - value / high)

    parts = [text_svg(left, top - 10, title, kind=' class="title"'), text_svg(left - 5, top + 4, f"{high:g}", "end"),
             f'<path class="axis" d="M{left} {top}v{CHART_HEIGHT}h{CHART_WIDTH}"/>']
    parts += [text_svg(place(n, 0)[0], top + CHART_HEIGHT + 14, n, "middle") for n in order]
    for number, (label, values, radius) in enumerate(series):
        colour = svg_chart.COLOURS[number]
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'
                  for x, y in (place(*value) for value in sorted(values))]
        parts.append(f'<circle cx="{left + CHART_WIDTH + 12}" cy="{top + 10 + 16 * number}" r="{radius}" fill="{colour}"/>')
        parts.append(text_svg(left + CHART_WIDTH + 20, top + 14 + 16 * number, label))
    return parts


def charts(kind, problems, spaces, findings, top):
    """Counts and winners of the problems that differ in their order only."""
    counts = collections.defaultdict(list)
    widths, close = [], []
    for problem in problems:
        n, found = problem[3], findings[problem]
        if problem in spaces:
            counts["generated"].append((n, spaces[problem]["generated"]))
        counts["compiled"].append((n, sum(r["outcome"] != "not compiled" for r in found.values())))
        counts["timed"].append((n, sum(r["outcome"] == "timed" for r in found.values())))
        good = sorted(timed(found), key=lambda r: r["seconds"])
        widths += [(n, good[0]["width"])] if good else []
        close += [(n, r["width"]) for r in good if r["seconds"] <= CLOSE * good[0]["seconds"]]
    sizes = {problem[3] for problem in problems}
    title = " ".join(kind)
    return (points_svg(50, top + 30, f"{title}: kernels", [(k, v, 3) for k, v in counts.items()], sizes)
            + points_svg(530, top + 30, f"{title}: width", [("within 2 %", close, 5), ("fastest", widths, 2.5)], sizes),
            top + CHART_HEIGHT + 80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("journal")
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--problem", default="", help="only problems whose names contain the text")
    options = parser.parse_args()
    head, spaces, findings = read_journal(options.journal)
    problems = sorted(problem for problem in findings if options.problem in name_of(problem))
    if not problems:
        sys.exit(f"tune.py: {options.journal} has no problem with \"{options.problem}\" in its name")
    parts, top, width = [text_svg(10, 20, f"{head['device']}, {head['matrices']} matrices")], 30, 960
    for kind in sorted({problem[:3] for problem in problems}):
        drawn, top = charts(kind, [p for p in problems if p[:3] == kind], spaces, findings, top)
        parts += drawn
    for problem in problems:
        drawn, top, right = heat_map(problem, findings[problem], top)
        parts, width = parts + drawn, max(width, right)
    options.output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}">\n'
        f"<style>{svg_chart.STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n")
    print(options.output)


if __name__ == "__main__":
    main()
