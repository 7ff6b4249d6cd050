"""What the GPU kernels are compiled for: prints sm_XY (machine code) and compute_XY (PTX, which the driver translates
for newer GPUs), separated by spaces.

usage: gpu_architectures.py NVCC auto|all|sm_XY...

auto: machine code for the GPUs of this machine, and PTX of the newest of these. Without a GPU: sm_80, whose code runs
on all GPUs of capability 8, sm_90, and PTX for newer ones (docs/decisions/0001-build-and-run.md has the times).
all: machine code for each kind of GPU that nvcc knows, from capability 8.0 on.
"""

import re
import subprocess
import sys

OLDEST = 80  # bf16 in tensor cores, cp.async
EVERY_KIND = (80, 86, 89, 90, 100, 120)


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def known_to(nvcc):
    return sorted(int(number) for number in re.findall(r"compute_(\d+)", output_of(nvcc, "--list-gpu-arch")))


def gpus_here():
    """Capabilities of the GPUs that the driver sees."""
    text = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    return sorted({int(major) * 10 + int(minor) for major, minor in re.findall(r"^(\d+)\.(\d)\s*$", text, re.M)})


def names(real, known):
    """Machine code for these capabilities, or what nvcc knows of them, and PTX of the newest."""
    code = [each for each in real if each in known]
    # a GPU newer than nvcc gets PTX of the newest architecture that nvcc knows
    older = [each for each in known if each <= max(real)]
    if not older:
        sys.exit(f"nvcc knows no architecture up to sm_{max(real)}; it knows {known}")
    return [f"sm_{each}" for each in code] + [f"compute_{max(code + older[-1:])}"]


def chosen(nvcc, wanted, here):
    known = [each for each in known_to(nvcc) if each >= OLDEST]
    if wanted == ["auto"]:
        usable = [each for each in here if each >= OLDEST]
        return names(usable or [80, 90], known)
    if wanted == ["all"]:
        return names([each for each in EVERY_KIND if each in known], known)
    for each in wanted:
        if not re.fullmatch(r"sm_\d+", each):
            sys.exit(f"gpu_architectures: '{each}': allowed are auto, all, and names such as sm_90")
        if int(each[3:]) not in known:
            sys.exit(f"gpu_architectures: {each}: nvcc knows {', '.join(f'sm_{number}' for number in known)}")
    return names(sorted({int(each[3:]) for each in wanted}), known)


if __name__ == "__main__":
    print(" ".join(chosen(sys.argv[1], sys.argv[2:], gpus_here())))
