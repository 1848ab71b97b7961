#!/usr/bin/env python3
"""specs/*.spec for two generations of GPU: nvcc without a warning, registers without a spill.

  specs_nvcc.py --tangc PATH DIR     exit 77 without nvcc
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

SPECS = sorted((pathlib.Path(__file__).resolve().parents[2] / "specs").glob("*.spec"))
FLAGS = ["-O3", "-std=c++17", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-Xptxas", "-v", "-c"]


def faults_of(tangc, nvcc, spec, target, folder):
    folder = folder / target
    subprocess.run([tangc, spec, "--target", target, "-d", folder], check=True)
    done = subprocess.run([nvcc, f"-arch={target}", *FLAGS, "-o", folder / f"{spec.stem}.o", folder / f"{spec.stem}.{target}.cu"],
                          capture_output=True, text=True)
    said = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    if done.returncode == 0 and spills and all(pair == ("0", "0") for pair in spills):
        return ""
    return f"{spec.name} for {target}: {said[:1500]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tangc", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        print("skipped: nvcc is not installed")
        return 77
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = [pool.submit(faults_of, options.tangc, nvcc, spec, target, options.folder)
                for spec in SPECS for target in ("sm_80", "sm_90a")]
        faults = [fault for fault in (one.result() for one in work) if fault]
    print("\n".join(faults + [f"{len(work)} sources compiled, {len(faults)} failed"]))
    return 1 if faults or not work else 0


if __name__ == "__main__":
    sys.exit(main())
