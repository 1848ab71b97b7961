"""The floors in kernels' comments: their formulas give the numbers beside them, and both are the report's."""
import json
import re
import unittest

from support import ROOT, CliTest, main

TARGETS = {"c": "c.c", "sm_80": "sm_80.cu", "sm_90a:h200": "sm_90a.cu"}
FUNCTIONS = {"min": min, "max": max, "floordiv": lambda a, b: a // b if b else 0, "mod": lambda a, b: a % b if b else 0}


def comments(source):
    """The comment above each kernel, its continued lines joined."""
    for block in re.findall(r"(?:^// .*\n)+(?=static (?:void|__global__))", source, re.M):
        lines = []
        for line in block.splitlines():
            if line.startswith("//    "):
                lines[-1] += " " + line[6:]
            else:
                lines.append(line[3:])
        yield lines


def split(text):
    """Parts between commas outside all brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


class Floors(CliTest):
    def look_at(self, lines):
        """(bytes, us) of one comment, its formula evaluated."""
        read, written = re.search(r"^read: (.*) bytes at least; written: (.*) bytes at least$", "\n".join(lines), re.M).groups()
        dims, us, bound_by = re.search(r"^floor (?:on \S+|at ([^:]*)): (\S+) us, bound by (\w+)$", "\n".join(lines), re.M).groups()
        values = dict(FUNCTIONS)
        for pair in dims.split(", ") if dims else []:
            name, value = pair.split(" = ")
            values[name] = int(value)
        values["read"], values["written"] = (eval(text, {}, values) for text in (read, written))
        if dims:
            formula = re.search(r"^floor on \S+ in us: max\((.*)\)$", "\n".join(lines), re.M).group(1)
            terms = {name: eval(text, {}, values) for name, text in (part.split(" ", 1) for part in split(formula))}
            self.assertAlmostEqual(max(terms.values()), float(us), delta=2e-6 * float(us) + 3e-6)
            # A resource that takes no time on a device is in no formula.
            self.assertAlmostEqual(terms.get(bound_by, 0), float(us), delta=2e-6 * float(us) + 3e-6)
        return values["read"] + values["written"], float(us)

    def check_sample(self, path, *words):
        name = path.stem
        self.tangc(path, "-t", ",".join(TARGETS), "-d", "out", "-w", *words)
        for ending in TARGETS.values():
            with self.subTest(f"{name} {ending} {words}"):
                source = (self.dir / "out" / f"{name}.{ending}").read_text()
                said = {self.look_at(lines) for lines in comments(source) if any(x.startswith("read: ") for x in lines)}
                report = json.loads((self.dir / "out" / f"{name}.{ending.split('.')[0]}.sol.json").read_text())
                known = {(sum(t["compulsory"] for t in k["traffic"]["per_tensor"]), k["floor"]["us"])
                         for k in report["kernels"]}
                self.assertEqual(said, known)

    def test_samples(self):
        for path in sorted((ROOT / "samples").glob("*.tg")):
            if path.stem != "transformer_36":
                self.check_sample(path)

    def test_bound_dims(self):
        self.check_sample(ROOT / "samples/linear_relu.tg", "-DM=300", "-DK=70", "-DN=5000")
        self.check_sample(ROOT / "samples/softmax.tg", "-O0")


if __name__ == "__main__":
    main()
