#!/usr/bin/env python3
"""Plots records of `./run bench panel --json FILE`: rate over height, one picture a panel width.

usage: panel.py FILE... [--mode cpu|gpu] [--output panel.svg] [--precision d] [--machine TEXT]
"""

import argparse
import json
import pathlib
import sys


DESIGNS = ["cluster", "grid", "fused", "fused-greedy", "steps"]


def read_records(paths, mode, precision, machine):
    """The records of the panel bench by (nb, line, m), where lines are numbers of threads or, for GPUs, designs
    with their numbers of blocks; of several for one point the last one counts."""
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


def draw(axes, points, nb):
    threads = sorted({t for width, t, _ in points if width == nb})
    unblocked = []
    for number, count in enumerate(threads):
        line = sorted((m, r) for (width, t, m), r in points.items() if (width, t) == (nb, count))
        heights = [m for m, _ in line]
        color = f"C{number}"
        axes.plot(heights, [rate(r, "seconds") for _, r in line], "o-", color=color, label=f"Basalt, {counted(count)}")
        axes.plot(heights, [rate(r, "getrf_seconds") for _, r in line], "s--", color=color, mfc="none",
                  label=f"getrf, {counted(count)}")
        unblocked += [(m, rate(r, "getf2_seconds")) for m, r in line if "getf2_seconds" in r]
    if unblocked:
        axes.plot(*zip(*sorted(unblocked)), "x:", color="gray", label="getf2")
    finish(axes, points, nb)


def draw_gpu(axes, points, nb):
    lines = {line for width, line, _ in points if width == nb and line[0] in DESIGNS}
    for number, line in enumerate(sorted(lines, key=lambda line: (DESIGNS.index(line[0]), line[1]))):
        at = sorted((m, r) for (width, other, m), r in points.items() if (width, other) == (nb, line))
        design, blocks = line
        label = f"Basalt, {design}" + (f", {blocks} blocks" if blocks else "")
        axes.plot([m for m, _ in at], [rate(r, "seconds") for _, r in at], "o-", color=f"C{number}", label=label)
    vendor = sorted({m: rate(r, "getrf_seconds") for (width, _, m), r in points.items() if width == nb}.items())
    axes.plot(*zip(*vendor), "s--", color="gray", mfc="none", label="cuSOLVER getrf")
    finish(axes, points, nb)


def finish(axes, points, nb):
    axes.set(title=f"panel of width {nb}", xlabel="height", xscale="log", yscale="log")
    ticks = sorted({m for width, _, m in points if width == nb})
    axes.set_xticks(ticks, [f"{m // 1024}k" if m % 1024 == 0 else str(m) for m in ticks], minor=False)
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("records", nargs="+", help="files of JSON records, one a line")
    parser.add_argument("--mode", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--output", type=pathlib.Path, help="default: panel.svg, or panel-gpu.svg, beside this script")
    parser.add_argument("--precision", default="d", choices=["s", "d"])
    parser.add_argument("--machine", default="", help="only records whose machine or GPU contains this text")
    options = parser.parse_args()
    usual = "panel.svg" if options.mode == "cpu" else "panel-gpu.svg"
    output = options.output or pathlib.Path(__file__).parent / usual
    points = read_records(options.records, options.mode, options.precision, options.machine)
    if not points:
        sys.exit("panel.py: no record of the panel bench in " + ", ".join(options.records))

    import matplotlib  # late: the messages above need none
    matplotlib.use("svg")
    from matplotlib import pyplot

    widths = sorted({nb for nb, _, _ in points})
    figure, axes = pyplot.subplots(1, len(widths), figsize=(6 * len(widths), 5), sharey=True, squeeze=False)
    for place, nb in zip(axes[0], widths):
        (draw if options.mode == "cpu" else draw_gpu)(place, points, nb)
    axes[0][0].set_ylabel("Gflop/s")
    axes[0][-1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1.02, 0.5))
    first = next(iter(points.values()))
    figure.suptitle(first.get("gpu", first.get("machine", "")), fontsize="small")
    figure.savefig(output, bbox_inches="tight")
    print(output)


if __name__ == "__main__":
    main()
