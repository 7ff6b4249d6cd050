"""`tune`: the search for kernels of batches, as far as it goes without a GPU."""

import json
import os
import re

from program import basalt, expect, expect_refused, in_folder, main, test

ONE = ("tune", "--routine", "cholesky", "--precision", "s", "--n", "33")


def finding(width, seconds, outcome="timed", bound=256):
    record = {"routine": "cholesky", "job": "factor", "precision": "s", "n": 100, "residence": "shared", "width": width,
              "threads": 128, "bound": bound, "resident_blocks": {8: 3, 16: 2}.get(width, 1), "relaxed": [],
              "outcome": outcome, "registers": 64, "spill_bytes": 0, "shared_bytes": 10000}
    return record | ({"ratio": 0.1, "seconds": seconds} if outcome == "timed" else {})


def write_journal(path, *findings):
    head = {"journal": "basalt tune", "device": "NVIDIA H200", "architecture": "sm_90", "matrices": 10000}
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(record) + "\n" for record in (head, *findings)))


def has_nvrtc():
    return basalt("tune", "--dry-run", "--compile", "--budget", "1", "--n", "4", "--routine", "qr").status == 0


@test
def a_dry_run_counts_kernels():
    shown = basalt(*ONE, "--dry-run", "--json", "-")
    expect(shown.status == 0 and shown.err.endswith("\n"), shown)
    records = [json.loads(line) for line in shown.out.splitlines()]
    expect([record["tune"] for record in records] == [f"cholesky {job} s 33" for job in ("factor", "solve", "both")], shown)
    expect(all(record["generated"] > record["pruned"] > 0 for record in records), shown)
    generated = sum(record["generated"] for record in records)
    expect(f"3 problems: generated {generated}, " in shown.err, shown)
    relaxed = basalt(*ONE, "--dry-run", "--relaxed")
    expect(f"generated {4 * generated}, " in relaxed.out, relaxed)
    other = basalt(*ONE, "--dry-run", "--architecture", "sm_86")
    expect(other.status == 0 and other.out != shown.err, other)


@test
def a_dry_run_compiles_kernels():
    shown = basalt("tune", "--routine", "lu", "--precision", "s", "--n", "4", "--dry-run", "--compile", "--budget", "2",
                   "--json", "-", "--cpus", "2")
    if not has_nvrtc():
        expect_refused(shown, "NVRTC", status=3)
        return
    expect(shown.status == 0, shown)
    records = [json.loads(line) for line in shown.out.splitlines()]
    expect(len(records) == 3 and records[0]["compiled"] > 0, shown)  # the first kernel, whatever the budget
    expect(all(record["compiled"] <= record["generated"] - record["pruned"] and record["not_compiled"] == 0
               for record in records), shown)


@test
@in_folder
def a_sweep_needs_a_gpu(folder):
    shown = basalt(*ONE, "--journal", os.path.join(folder, "journal"), cwd=folder, env={"CUDA_VISIBLE_DEVICES": ""})
    expect_refused(shown, "tune: ", "--dry-run" if has_nvrtc() else "NVRTC", status=3)
    expect(os.listdir(folder) == [], shown)


@test
@in_folder
def winners_of_a_journal_become_a_tuning_file(folder):
    journal, out = os.path.join(folder, "journal"), os.path.join(folder, "tuning.json")
    write_journal(journal, finding(8, 2e-3), finding(12, 1e-3, bound=128), finding(16, 1.5e-3), finding(20, 0, "spilled"),
                  finding(32, 1.01e-3, bound=128))
    shown = basalt("tune", "--winners", journal, "--out", out, "--json", "-")
    expect(shown.status == 0, shown)
    record = json.loads(shown.out)
    expect([record[key] for key in ("tune", "job", "precision", "n", "kernel", "close", "library_seconds")] ==
           ["cholesky", "factor", "s", 100, "shared w12 t128/128 b1", 2, 1.5e-3], shown)
    expect(abs(record["gflops"] - 10000 * 100 ** 3 / 3 / 1e-3 * 1e-9) < 1e-6, shown)
    expect(re.search(r"cholesky factor s 100 .* library shared w16 t128/256 b2 1\.50 x", shown.err), shown)
    with open(out, encoding="utf-8") as file:
        batch = json.load(file)["gpu"]["sm_90"]["batch"]
    expect(batch["single_precision"]["cholesky_factor"] == [{"up_to": "any", "width": 16}], shown)
    expect(basalt("info", env={"BASALT_TUNING": out}).status == 0, shown)


@test
@in_folder
def tune_refuses_what_it_does_not_know(folder):
    expect_refused(basalt("tune", "--routine", "svd"), "--routine", '"svd"', "cholesky, lu, qr")
    expect_refused(basalt("tune", "--precision", "x"), "--precision", '"x"', "s, d")
    expect_refused(basalt("tune", "--n", "8,,9"), "--n", '""', "1 to 512")
    expect_refused(basalt("tune", "--n", "513"), "--n", '"513"', "1 to 512")
    expect_refused(basalt("tune", "--budget", "0"), "--budget", '"0"')
    expect_refused(basalt("tune", "--compile"), "--compile", "--dry-run")
    expect_refused(basalt("tune", "--architecture", "sm_70"), "--architecture", "sm_90")
    expect_refused(basalt("tune", "--winners", os.path.join(folder, "none")), "none", "no such file")
    other = os.path.join(folder, "other")
    with open(other, "w", encoding="utf-8") as file:
        file.write("no journal\n")
    expect_refused(basalt("tune", "--winners", other), "other", "line 1")


main()
