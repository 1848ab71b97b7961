#!/usr/bin/env python3
"""Every row of atomics/ is accepted by ptxas on each target it claims, and each matrix product that
threads wait for is an instruction there: one more issue in a kernel is at most five instructions
(a quarter of a warp takes four steps), where an emulated one is ten to two hundred.

    accepted.py ROWS_CU FOLDER [--jobs N]

Exit 77 where nvcc is not installed."""
import argparse
import concurrent.futures
import pathlib
import shutil
import struct
import subprocess
import sys

MOST_PER_ISSUE = 5
INSTRUCTION_BYTES = 16


def nvcc():
    found = shutil.which("nvcc")
    usual = pathlib.Path("/usr/local/cuda/bin/nvcc")
    return found or (str(usual) if usual.exists() else None)


def code_bytes(path):
    """The size of each kernel's code, by its name: sections `.text.<name>` of the ELF file."""
    data = path.read_bytes()
    start, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    strings = headers[names][4]
    sizes = {}
    for name, _, _, _, _, length in headers:
        begin = strings + name
        text = data[begin : data.index(b"\0", begin)].decode()
        if text.startswith(".text."):
            sizes[text[len(".text.") :]] = length
    return sizes


def check(rows_cu, compiler, target, folder):
    """The faults of one target, and a line about it."""
    source, binary = folder / f"{target}.cu", folder / f"{target}.cubin"
    source.write_text(subprocess.run([rows_cu, target], check=True, capture_output=True, text=True).stdout)
    done = subprocess.run([compiler, f"-arch={target}", "-cubin", "-o", binary, source], capture_output=True, text=True)
    if done.returncode:
        return [f"{target}: nvcc refuses the rows\n{done.stdout}{done.stderr}"], ""
    sizes = code_bytes(binary)
    listed = subprocess.run([rows_cu, "--products", target], check=True, capture_output=True, text=True)
    products = listed.stdout.split()
    faults = []
    for name in products:
        each = (sizes[f"often_{name}"] - sizes[f"once_{name}"]) / 16 / INSTRUCTION_BYTES
        if not 0 < each <= MOST_PER_ISSUE:
            faults.append(f"{target}: {name} is {each} instructions an issue")
    return faults, f"{target}: {sum(name.startswith('once_') for name in sizes)} rows, {len(products)} of them counted"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows_cu")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    compiler = nvcc()
    if not compiler:
        print("skipped: nvcc is not installed")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    targets = subprocess.run([options.rows_cu], check=True, capture_output=True, text=True).stdout.split()
    known = subprocess.run([compiler, "--list-gpu-code"], check=True, capture_output=True, text=True).stdout.split()
    # Variants with instructions of their own are not listed; their architectures are.
    tried = [t for t in targets if t in known or t.rstrip("a") in known]
    for target in sorted(set(targets) - set(tried)):
        print(f"{target}: skipped, this nvcc does not have it")
    faults = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for some, line in pool.map(lambda t: check(options.rows_cu, compiler, t, options.folder), tried):
            faults += some
            if line:
                print(line)
    print("\n".join(faults))
    return 1 if faults or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
