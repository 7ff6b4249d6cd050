"""Writes the figures of README, docs/figures.md, docs/figures-h100.md and the plot of rates from the newest records, or
checks them.

usage: figures.py --write    rewrites all of them
       figures.py --check    exit status 1 where they differ from the newest record of a row
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench" / "campaign"), str(ROOT / "bench" / "plots")]
import rows as table  # noqa: E402
import svg_chart  # noqa: E402

BEGIN, END = "<!-- figures: written by bench/figures/figures.py -->", "<!-- end of figures -->"

# The machines that README, docs/figures.md and the plot speak of: records of other ones do not count there.
GPU, CORES = "H200", ", 2 cores"
# The GPU of docs/figures-h100.md, which has the rows that were measured on it.
OTHER_GPU = "H100"

# The figure of README's first lines: the least and the largest ratio of the plotted rates.
PITCH = re.compile(r"\d+\.\d to \d+\.\d times as fast as cuSOLVER")

# No other figure in README outside of the table: it could not be compared with a record.
FIGURE = re.compile(r"\d[\d.,]* ?(?:[GT]flop/s|Tflops|ms\b|ns\b|times\b|x (?:cuSOLVER|OpenBLAS|oneTBB))")

PLOTTED = (("LU", "getrf"), ("Cholesky", "potrf"), ("QR", "geqrf"))


class Records:
    """The records of the machines that a page speaks of: those of rows for cores, and those of rows for GPUs. The cores
    of a machine with GPUs are those of its record."""

    def __init__(self, of_cores, of_gpus):
        self.of_cores, self.of_gpus = of_cores, of_gpus

    @classmethod
    def of_main_page(cls, records):
        def is_other(record):
            return not record.get("gpus") and OTHER_GPU not in machine_of(record)
        return cls([record for record in records if CORES in machine_of(record)],
                   [record for record in records if GPU in machine_of(record) or is_other(record)])

    @classmethod
    def of_other_page(cls, records):
        return cls([], [record for record in records if OTHER_GPU in machine_of(record)])


def newest(row, records, against=False):
    return table.newest(row, records.of_gpus if row.gpus else records.of_cores, against)


def machine_of(record):
    """What a record says of its machine; where that names no GPU, with those in it, measured or not."""
    named = record.get("machine", "") + record.get("gpu", "")
    if (record.get("gpu") or record.get("gpus")) and not named.endswith(" cores"):
        return named
    return " ".join([named, *(clock.get("gpu", "") for clock in record.get("clocks", []))])


def figure_text(row, record):
    if record is None:
        return "not measured yet"
    text = row.text(row.figure(record))
    return f"{text} times as fast" if row.unit == "x" else f"{text} {row.unit}"


def comparison(row, record, records):
    """The other library and its figure; empty where there is none."""
    if record is None:
        return ""
    if row.against:
        other = newest(row, records, against=True)
        name = next(iter(row.against.values()))
        names = {"onetbb": "oneTBB", "openmp": "OpenMP", "taskflow": "Taskflow", "nccl": "NCCL"}
        return f"{names.get(name, name)}: {row.text(row.figure(other))}" if other else ""
    if row.unit == "x":
        return f"{library(record)}: {ratio_text(record)}"
    vendor = row.vendor_figure(record)
    return "" if vendor is None else f"{library(record)}: {row.text(vendor)}"


def library(record):
    core = f", kernels for {record['vendor_core']}" if "vendor_core" in record else ""
    return record.get("vendor", "") + core


def ratio_text(record):
    """The two figures of which a record's ratio is made."""
    if "vendor_milliseconds" in record:
        return f"{record['milliseconds']:.0f} against {record['vendor_milliseconds']:.0f} ms"
    if "vendor_gflops" in record:
        return f"{record['gflops']:.1f} against {record['vendor_gflops']:.1f} Gflop/s"
    other = record["vendor_seconds"] if "vendor_seconds" in record else record["getrf_seconds"]
    digits = 2 if min(record["seconds"], other) >= 1e-4 else 4
    return f"{record['seconds'] * 1e3:.{digits}f} against {other * 1e3:.{digits}f} ms"


def day(record):
    return record["date"][:10] if record else ""


def markdown_table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(cells) + " |" for cells in lines)]


def readme_table(rows, records):
    lines = []
    for row in rows:
        if row.shown == "readme":
            record = newest(row, records)
            lines.append((row.name, figure_text(row, record), comparison(row, record, records), day(record)))
    return "\n".join([BEGIN, "", *markdown_table(("", "Basalt", "compared with", "measured"), lines), "", END])


HEAD = """# Figures

`python3 bench/figures/figures.py --write` writes this page from `bench/results/`. Each figure is the newest record of its
row, not the best one. `./run bench campaign` measures the rows and appends the records; `bench/campaign/rows.txt` names
the command of each row, what a record must reach (must) and what it should reach (aim).

On GPUs the matrix is column-major in the GPUs' memory before and after, and the conversion to tiles and back is timed.
With several GPUs its columns are dealt to all of them. On cores the matrix is column-major in the host's memory, and the
conversion is timed too. The column dgemm is the rate of a plain product of that precision with K = 1024 in the same
run, per GPU: the ceiling of a factorization.
"""


OTHER_HEAD = f"""# Figures on NVIDIA {OTHER_GPU}

The rows of [figures.md](figures.md) for GPUs that were measured on machines with {OTHER_GPU} GPUs, by the same code. The
targets are those for H200 GPUs. `python3 bench/figures/figures.py --write` writes this page.
"""


def other_page(rows, records):
    """The rows for GPUs with records of the other GPU; what is measured on the cores of such a machine counts."""
    return figures_page([row for row in rows if newest(row, records) is not None], records, OTHER_HEAD)


def figures_page(rows, records, head=HEAD):
    machines, lines = [], [head]
    for section in dict.fromkeys(row.section for row in rows):
        cells = [page_line(row, records, machines) for row in rows if row.section == section]
        lines += [f"## {section}", "", *markdown_table(
            ("", "Basalt", "compared with", "dgemm", "must", "aim", "date", "commit", "machine"), cells), ""]
    lines += ["## Machines", ""] + [f"{number}. {text}" for number, text in enumerate(machines, 1)]
    return "\n".join(lines) + "\n"


def page_line(row, records, machines):
    record = newest(row, records)
    if record is None:
        return row.name, "not measured yet", "", "", row.text(row.must), row.text(row.aim), "", "", ""
    gemm = record.get("gemm_gflops")
    machine = machine_text(record)
    if machine not in machines:
        machines.append(machine)
    return (row.name, figure_text(row, record), comparison(row, record, records),
            f"{gemm * table.UNITS[row.unit].scale:.1f}" if gemm and row.unit in ("Tflop/s", "Gflop/s") else
            f"{gemm:.1f} Gflop/s" if gemm and row.unit == "x" else "",
            row.text(row.must), row.text(row.aim), day(record), record["commit"], str(machines.index(machine) + 1))


def machine_text(record):
    text, clocks = record["machine"], record.get("clocks", [])
    gpu = record.get("gpu") or (clocks[0].get("gpu", "") if record.get("gpus") and clocks else "")
    if gpu not in text:
        text += f", {gpu}"
    return text + (f", driver {record['driver']}, {clocks[0]['power_limit_watts']:g} W a GPU"
                   if clocks and clocks[0]["power_limit_watts"] else "")


def plotted(rows, records):
    """The newest records of each routine by n in double precision on one GPU, and their rows."""
    found = {}
    for row in rows:
        conditions = row.conditions
        if (conditions.get("precision"), conditions.get("mode"), row.gpus, row.unit) != ("d", "gpu", 1, "Tflop/s"):
            continue
        if conditions.get("data") != "device":
            continue
        record = newest(row, records)
        if record is not None and record["m"] == record["n"]:
            found.setdefault(conditions["routine"], []).append((row, record))
    return found


def plot(rows, records):
    found = plotted(rows, records)
    panels = []
    for title, routine in PLOTTED:
        points = found.get(routine, [])
        lines = (("dgemm, K = 1024", 2, "4 3", lambda row, record: record["gemm_gflops"] * 1e-3),
                 ("Basalt", 0, "", lambda row, record: row.figure(record)),
                 ("cuSOLVER", 1, "", lambda row, record: row.vendor_figure(record)))
        panels.append(svg_chart.Panel(title, [
            svg_chart.Line(label, [(record["n"], rate(row, record)) for row, record in points], colour, dash, not dash)
            for label, colour, dash, rate in lines], "order n"))
    return svg_chart.chart(panels, "Tflop/s", "double precision, one NVIDIA H200; newest records of bench/results")


def pitch(rows, records):
    ratios = [row.figure(record) / row.vendor_figure(record) for _, routine in PLOTTED
              for row, record in plotted(rows, records).get(routine, [])]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times as fast as cuSOLVER"


def with_table(readme, block):
    """README with another table; ValueError where it has no place for one."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"README.md: one line '{BEGIN}' and one line '{END}' are needed")
    return readme[:readme.index(BEGIN)] + block + readme[readme.index(END) + len(END):]


def figures_outside(readme):
    """README's figures outside of the table, but for the one of its first lines."""
    outside = readme[:readme.index(BEGIN)] + readme[readme.index(END):]
    return FIGURE.findall(PITCH.sub("", outside))


def differences(name, is_text, should_text):
    """Lines that are not as the records say."""
    found = []
    is_lines, should_lines = is_text.splitlines(), should_text.splitlines()
    for number in range(max(len(is_lines), len(should_lines))):
        is_line = is_lines[number] if number < len(is_lines) else "(nothing)"
        should_line = should_lines[number] if number < len(should_lines) else "(nothing)"
        if is_line != should_line:
            found.append(f"{name}:{number + 1}: {is_line}\n    by the newest records: {should_line}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="of the tree")
    options = parser.parse_args()
    try:
        rows = table.read_rows(options.root / "bench/campaign/rows.txt")
        all_records = table.read_records(options.root / "bench/results")
        records, others = Records.of_main_page(all_records), Records.of_other_page(all_records)
        readme_path = options.root / "README.md"
        readme = readme_path.read_text()
        should = {readme_path: PITCH.sub(pitch(rows, records), with_table(readme, readme_table(rows, records))),
                  options.root / "docs/figures.md": figures_page(rows, records),
                  options.root / "docs/figures-h100.md": other_page(rows, others),
                  options.root / "bench/plots/rates.svg": plot(rows, records)}
    except (OSError, ValueError, table.RowsError) as error:
        sys.exit(f"figures.py: {error}")
    if options.write:
        for path, text in should.items():
            path.write_text(text)
        return
    found = []
    for path, text in should.items():
        found += differences(path.relative_to(options.root), path.read_text() if path.is_file() else "", text)
    found += [f"README.md: '{figure}' outside of the table cannot be compared with a record"
              for figure in figures_outside(readme)]
    if found:
        sys.exit("\n".join(found) + "\nAfter new records: python3 bench/figures/figures.py --write")


main()
