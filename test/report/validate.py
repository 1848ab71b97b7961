#!/usr/bin/env python3
"""validate.py SOURCE_DIR MAKE_REPORTS: every sample's report against grammar/sol.schema.json, and
against itself: sums, bounds and names that must fit together."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

TARGETS = ["sm_80", "sm_90a:h200", "c"]


def check_sense(report):
    """What a schema cannot say."""
    check_part(report)
    for number, variant in enumerate(report.get("variants", []), 1):
        check_part(variant)
        assert variant["number"] == number
        assert all(k["name"].endswith(f"@{number}") for k in variant["kernels"])
        name, value = variant["when"].split(" == ")
        assert variant["dims"][name] == int(value) == variant["free_dims"][name]["lo"]


def check_part(report):
    totals = report["totals"]
    assert totals["kernels"] == len(report["kernels"]), "number of kernels"
    names = [k["name"] for k in report["kernels"]]
    assert len(names) == len(set(names)), "names of kernels"
    assert totals["floor_warm_us"] <= totals["floor_us"]
    assert totals["fused_graph_floor_us"] <= totals["floor_us"]
    assert totals["compulsory_bytes"] <= totals["fused_bytes"], "compulsory above fused"
    for edge in report["edges"]:
        assert edge["from"] in names and edge["to"] in names
    for kernel in report["kernels"]:
        floor = kernel["floor"]
        certified = [t["us"] for t in floor["terms"] if t["kind"] == "certified"]
        assert floor["us"] == max(certified), "a floor is the maximum of its terms"
        assert floor["warm_us"] <= floor["us"]
        for entry in kernel["traffic"]["per_tensor"]:
            assert entry["compulsory"] <= entry["whole"], f"{kernel['name']}: {entry}"
    symbols = {k["symbol"] for k in report["manifest"]["kernels"]}
    buffers = {b["buffer"] for b in report["manifest"]["bindings"]}
    stack = list(report["manifest"]["launches"])
    while stack:
        launch = stack.pop()
        stack += launch.get("body", [])
        for variant in launch.get("variants", []):
            assert variant["symbol"] in symbols
            assert all(b["buffer"] in buffers for b in variant["bindings"])


def check_schema_bites(validator, report):
    """A schema that accepts everything proves nothing."""
    def broken(change):
        other = copy.deepcopy(report)
        change(other)
        assert not validator.is_valid(other), "the schema accepts a broken report"

    broken(lambda r: r.pop("target"))
    broken(lambda r: r.update(schema="tangc.sol/2"))
    broken(lambda r: r.update(date="today"))
    broken(lambda r: r["input"].update(file="/home/me/x.tg"))
    broken(lambda r: r["kernels"][0]["floor"]["terms"][0].pop("source"))
    broken(lambda r: r["kernels"][0]["floor"]["terms"][0].update(kind="measured"))
    broken(lambda r: r["totals"].update(floor_us=-1))
    broken(lambda r: r["variants"][0].pop("when"))


def main():
    source, make_reports = pathlib.Path(sys.argv[1]), sys.argv[2]
    schema = json.loads((source / "grammar/sol.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    samples = sorted(str(p) for p in (source / "samples").glob("*.tg"))
    assert samples
    count, emitters = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            subprocess.run([make_reports, folder, target, *samples], check=True)
        for path in sorted(pathlib.Path(folder).glob("*.sol.json")):
            report = json.loads(path.read_text())
            errors = list(validator.iter_errors(report))
            for error in errors[:3]:
                print(f"{path.name}: {list(error.absolute_path)}: {error.message[:300]}")
            assert not errors, path.name
            try:
                check_sense(report)
            except AssertionError:
                print(path.name)
                raise
            count += 1
            emitters |= {kernel["schedule"]["emitter"] for kernel in report["kernels"] if kernel["schedule"]}
            if "variants" in report:
                special = report
        check_schema_bites(validator, special)
    assert count == len(samples) * len(TARGETS), count
    assert emitters >= {"point", "row", "tile", "stream"}, f"only {emitters} were seen"
    print(f"{count} reports are valid")


if __name__ == "__main__":
    main()
