"""`trace`: summaries and charts."""

import json
import os
import re
import xml.etree.ElementTree

from program import HPL_DAT, basalt, expect, expect_refused, in_folder, main, test


def write_trace(folder, events):
    """A trace with one core, one device and its copy engine; events are (row, begin us, length us, name, arguments)."""
    rows = [("worker 0", {"kind": "cpu"}), ("gpu 0", {"kind": "compute", "device": 0}),
            ("gpu 0 from host", {"kind": "copy", "device": 0})]
    lines = [{"ph": "M", "pid": 0, "tid": row, "name": "thread_name", "args": {"name": name, **kind}}
             for row, (name, kind) in enumerate(rows)]
    lines += [{"ph": "X", "pid": 0, "tid": row, "ts": begin, "dur": length, "name": name, "args": args}
              for row, begin, length, name, args in events]
    path = os.path.join(folder, "trace.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"traceEvents": lines}, out)
    return path


KNOWN_TRACE = [(0, 0, 40, "panel", {"id": 1, "step": 0, "tiles": "0"}),
               (2, 45, 20, "to gpu", {"kind": "copy", "bytes": 1000000, "id": 2, "after": [1], "step": 0}),
               (1, 60, 40, "update", {"id": 3, "step": 0}),
               (1, 104, 96, "update", {"id": 4, "after": [3], "step": 1, "tiles": "1,2"})]


@test
@in_folder
def trace_tells_busy_shares_gaps_copies_steps_and_waits(folder):
    path = write_trace(folder, KNOWN_TRACE)
    shown = basalt("trace", path)
    expect(shown.status == 0 and shown.err == "" and "3 tasks and 1 copies in 200 us" in shown.out, shown)
    for line in (r"cores \(1\) +20\.0 % +80\.0 %", r"gpu 0 +68\.0 % +32\.0 %", r"gpu 0 +1 +4 us +4 us +4 us +4 us",
                 r"gpu 0 +20 us copying, +25\.0 % hidden", r"from host +gpu 0 +1 +1 MB +20 us +50 GB/s",
                 r"update +GPUs +2 +136 us", r"1 +1 +104 us +200 us +96 us +0 ns +96 us +0 ns",
                 r"gpu 0 +60 us at +0 ns: update \(step 0\), no known predecessor",
                 r"gpu 0 +4 us at +100 us: update 1,2 \(step 1\), 4 us after update on gpu 0 ended"):
        expect(re.search(line, shown.out), shown)


@test
@in_folder
def trace_writes_the_same_numbers_as_json_and_a_chart(folder):
    chart = os.path.join(folder, "chart.svg")
    shown = basalt("trace", write_trace(folder, KNOWN_TRACE), "--json", "-", "--svg", chart)
    expect(shown.status == 0 and "hidden" in shown.err and shown.out.count("\n") == 1, shown)
    numbers = json.loads(shown.out)
    expect([numbers[key] for key in ("tasks", "copies", "cores_busy", "hidden")] == [3, 1, 0.2, 0.25], shown)
    device = numbers["devices"][0]
    expect(abs(device["busy"] - 0.68) < 1e-12 and device["gaps"]["median_us"] == 4, shown)
    expect(device["gaps"]["count"] == 1 and device["waits"][1]["ended_by"] == "update 1,2", shown)
    expect(numbers["directions"][0]["gb_s"] == 50 and numbers["steps"][1]["step"] == 1, shown)
    with open(chart, encoding="utf-8") as drawing:
        text = drawing.read()
    assert xml.etree.ElementTree.fromstring(text).tag.endswith("svg") and "update 1,2 (step 1): 96 us" in text


@test
@in_folder
def trace_tells_spans_and_counters_apart_from_tasks(folder):
    path = write_trace(folder, KNOWN_TRACE + [(0, 5, 20, "assembly", {"kind": "span"})])
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    trace["traceEvents"] += [{"ph": "C", "pid": 0, "ts": 1 + i, "name": "residual", "args": {"value": value}}
                             for i, value in enumerate((0.5, 4, 0.25))]
    with open(path, "w", encoding="utf-8") as out:
        json.dump(trace, out)
    shown = basalt("trace", path)
    expect(shown.status == 0 and "3 tasks and 1 copies in 200 us" in shown.out, shown)
    expect(re.search(r"assembly +1 +20 us +20 us +20 us", shown.out), shown)
    expect(re.search(r"residual +3 +0\.25 +4 +0\.25", shown.out), shown)
    numbers = json.loads(basalt("trace", path, "--json", "-").out)
    expect(numbers["spans"][0]["name"] == "assembly" and numbers["counters"][0]["max"] == 4, shown)


@test
@in_folder
def a_factorization_draws_its_graph(folder):
    path = os.path.join(folder, "graph.dot")
    shown = basalt("cholesky", "--n", "100", "--nb", "32", "--tile", "32x32", "--cpus", "2", "--dot", path)
    expect(shown.status == 0, shown)
    with open(path, encoding="utf-8") as drawing:
        text = drawing.read()
    expect(text.startswith("digraph basalt {") and text.endswith("}\n") and "RaW" in text, shown)
    expect_refused(basalt("lu", "--n", "10", "--dot", "-"), "--dot", "a file's name")


@test
@in_folder
def trace_reads_what_the_program_records(folder):
    path = os.path.join(folder, "trace.json")
    shown = basalt("lu", "--n", "200", "--nb", "32", "--cpus", "2", "--trace", path)
    expect(shown.status == 0, shown)
    shown = basalt("trace", path)
    expect(shown.status == 0 and re.search(r"panel +cores +7 ", shown.out), shown)


@test
@in_folder
def trace_refuses_what_is_no_trace(folder):
    path = write_trace(folder, KNOWN_TRACE)
    with open(path, encoding="utf-8") as trace:
        text = trace.read()
    with open(path, "w", encoding="utf-8") as trace:
        trace.write(text[:-40])
    expect_refused(basalt("trace", path), f"{path}:1: byte {len(text) - 40}: ")
    write_trace(folder, [(0, 0, -1, "backwards", {})])
    expect_refused(basalt("trace", path), f"{path}:1: byte ", "dur = -1", "0 and more")
    expect_refused(basalt("trace", HPL_DAT), f"{HPL_DAT}:1: byte ")
    expect_refused(basalt("trace", folder), folder, "is a folder")
    expect_refused(basalt("trace", os.path.join(folder, "none")), "none", "No such file", "--trace")
    expect_refused(basalt("trace"), "FILE")
    write_trace(folder, KNOWN_TRACE)
    expect_refused(basalt("trace", path, "--svg", "/nowhere/a.svg"), "--svg", "/nowhere/a.svg")


main()
