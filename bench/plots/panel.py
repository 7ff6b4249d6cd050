#!/usr/bin/env python3
"""Plots records of `./run bench panel --json FILE`: rate over height, a panel width next to the other.

usage: panel.py FILE... [--mode cpu|gpu] [--output panel.svg] [--precision d] [--machine TEXT]
"""

import argparse
import json
import pathlib
import sys

import svg_chart

DESIGNS = ["cluster", "grid", "fused", "fused-greedy", "steps"]


def read_records(paths, mode, precision, machine):
    """The records of the panel bench by (nb, line, m), where lines are numbers of threads or, for GPUs, designs
    with their numbers of blocks; of several records for one point the last one counts."""
    points = {}
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            record = json.loads(line)
            if record.get("bench") != "panel" or record.get("precision") != precision:
                continue
            if record.get("mode", "cpu") != mode or machine not in record.get("machine", "") + record.get("gpu", ""):
                continue
            line = record["threads"] if mode == "cpu" else (record["design"], record["blocks"])
            points[record["nb"], line, record["m"]] = record
    return points


def rate(record, key):
    """Gflop/s of the time under that key, by LAPACK's operation count; NaN where there is none."""
    few, many = sorted((record["m"], record["nb"]))
    return few * few * (many - few / 3) / record[key] * 1e-9 if key in record else float("nan")


def counted(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def lines_on_cores(points, nb):
    lines, unblocked = [], []
    for number, count in enumerate(sorted({t for width, t, _ in points if width == nb})):
        at = [(m, r) for (width, t, m), r in points.items() if (width, t) == (nb, count)]
        lines.append(svg_chart.Line(f"Basalt, {counted(count)}", [(m, rate(r, "seconds")) for m, r in at], number))
        lines.append(svg_chart.Line(f"getrf, {counted(count)}", [(m, rate(r, "getrf_seconds")) for m, r in at], number,
                                    "4 3", False))
        unblocked += [(m, rate(r, "getf2_seconds")) for m, r in at if "getf2_seconds" in r]
    return lines + [svg_chart.Line("getf2, 1 thread", unblocked, 7, "1 3", False)]


def lines_on_gpu(points, nb):
    lines = []
    found = {line for width, line, _ in points if width == nb and line[0] in DESIGNS}
    for number, line in enumerate(sorted(found, key=lambda line: (DESIGNS.index(line[0]), line[1]))):
        at = [(m, rate(r, "seconds")) for (width, other, m), r in points.items() if (width, other) == (nb, line)]
        design, blocks = line
        lines.append(svg_chart.Line(f"Basalt, {design}" + (f", {blocks} blocks" if blocks else ""), at, number))
    vendor = {m: rate(r, "getrf_seconds") for (width, _, m), r in points.items()
              if width == nb and "getrf_seconds" in r}
    return lines + [svg_chart.Line("cuSOLVER getrf", list(vendor.items()), 7, "4 3", False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("records", nargs="+", help="files of JSON records, one a line")
    parser.add_argument("--mode", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--output", type=pathlib.Path, help="default: panel.svg, or panel-gpu.svg, next to this script")
    parser.add_argument("--precision", default="d", choices=["s", "d"])
    parser.add_argument("--machine", default="", help="only records whose machine or GPU contains this text")
    options = parser.parse_args()
    usual = "panel.svg" if options.mode == "cpu" else "panel-gpu.svg"
    output = options.output or pathlib.Path(__file__).parent / usual
    points = read_records(options.records, options.mode, options.precision, options.machine)
    if not points:
        sys.exit("panel.py: no record of the panel bench in " + ", ".join(options.records))
    lines_of = lines_on_cores if options.mode == "cpu" else lines_on_gpu
    panels = [svg_chart.Panel(f"panel of width {nb}", lines_of(points, nb), "height m", log_y=True)
              for nb in sorted({nb for nb, _, _ in points})]
    newest = max(points.values(), key=lambda record: record.get("date", ""))
    note = f"{newest.get('gpu', newest.get('machine', ''))}, precision {options.precision}"
    output.write_text(svg_chart.chart(panels, "Gflop/s", note))
    print(output)


if __name__ == "__main__":
    main()
