#!/usr/bin/env python3
"""Checks grammar/tg.tmLanguage.json: every regular expression compiles, every rule is reachable and used,
every token of every sample gets a scope of its own, and chosen tokens get the scope they should.

Usage: check_textmate.py SOURCE_DIR. Needs the standard library only: the grammar keeps to the regular
expressions that Oniguruma and Python share, and the small tokenizer below does what an editor does.
"""
import json
import pathlib
import re
import sys

ROOT = "source.tg"
TOKEN = re.compile(
    r'#.*|"(?:[^"\\]|\\.)*"|0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][+-]?\d+)?'
    r"|\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|\.\.<|\.\.|[=!<>]=|->|[^\s]"
)

# A line, a word of it (its n-th occurrence), and the beginning of the scope it must get.
EXPECTED = [
    ("tg 1", "tg", 0, "keyword.declaration"),
    ("input x : f16[M, K]  # c", "input", 0, "keyword.declaration"),
    ("input x : f16[M, K]  # c", "f16", 0, "support.type"),
    ("input x : f16[M, K]  # c", "# c", 0, "comment"),
    ("input[i] = x[i]", "input", 0, "variable.other.tensor"),
    ("let = 3", "let", 0, "variable"),
    ("in = let + output", "in", 0, "variable"),
    ("in = let + output", "output", 0, "variable"),
    ("def f[j](x) outside -inf { let m = max[j] x; x - m }", "f", 0, "entity.name.function"),
    ("def f[j](x) outside -inf { let m = max[j] x; x - m }", "outside", 0, "keyword.other"),
    ("def f[j](x) outside -inf { let m = max[j] x; x - m }", "let", 0, "keyword.declaration"),
    ("def f[j](x) outside -inf { let m = max[j] x; x - m }", "inf", 0, "constant.language"),
    ("dim S in 64..4096 step 64", "in", 0, "keyword.other"),
    ("dim S in 64..4096 step 64", "..", 0, "keyword.operator.range"),
    ("dim S in 64..4096 step 64", "64", 0, "constant.numeric"),
    ("dim S in 64..4096 step 64", "step", 0, "keyword.other"),
    ("y = scan sum[t exclusive] x[t]", "scan", 0, "keyword.other.scan"),
    ("y = scan sum[t exclusive] x[t]", "exclusive", 0, "keyword.other"),
    ("y = scan + desc", "scan", 0, "variable"),
    ("y = max(a, b) + max[k] x", "max", 0, "support.function"),
    ("y = max(a, b) + max[k] x", "max", 1, "keyword.operator.reduction"),
    ("y = softmax[j where j <= i] s", "where", 0, "keyword.control"),
    ('y = x loc("f.py":12:3)', "loc", 0, "keyword.other"),
    ('y = x loc("f.py":12:3)', '"f.py"', 0, "string"),
    ("include <nn>", "nn", 0, "string"),
    ("budget y : abs 1e-5", "abs", 0, "keyword.other"),
    ("budget y : abs 1e-5", "1e-5", 0, "constant.numeric"),
    ("y = abs(x)", "abs", 0, "support.function"),
    ("y = a.m + 0x1.8p3", "m", 0, "variable.other.member"),
    ("y = a.m + 0x1.8p3", "0x1.8p3", 0, "constant.numeric"),
    ("output kc2 : bf16[N] over kc", "over", 0, "keyword.other"),
    ("grad y with dy wrt w -> dw", "wrt", 0, "keyword.other"),
    ("grad y with dy wrt w -> dw", "->", 0, "keyword.operator.arrow"),
    ("} collect hs = h", "collect", 0, "keyword.other"),
    ("input id : i32[T] in 0..<E sorted", "sorted", 0, "keyword.other"),
]


class Grammar:
    def __init__(self, path):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.used = set()
        self.rules = self.flatten(self.data["patterns"])

    def flatten(self, patterns):
        """Includes replaced by what they include, regular expressions compiled, in order."""
        rules = []
        for p in patterns:
            if "include" in p:
                key = p["include"].lstrip("#")
                self.used.add(key)
                rules += self.flatten([self.data["repository"][key]])
            elif "begin" in p:
                inner = self.flatten(p.get("patterns", []))
                rules.append((re.compile(p["begin"]), p, re.compile(p["end"]), inner))
            elif "match" in p:
                rules.append((re.compile(p["match"]), p, None, None))
            else:
                rules += self.flatten(p["patterns"])
        return rules

    def scopes(self, line):
        """The innermost scope of every character of one line."""
        scopes = [ROOT] * len(line)
        at = 0
        while at < len(line):
            best = None
            for rule in self.rules:
                found = rule[0].search(line, at)
                if found and found.end() > found.start() and (best is None or found.start() < best[0].start()):
                    best = (found, rule)
            if best is None:
                break
            found, (_, p, end, inner) = best
            stop = found.end()
            if end is not None:
                stop = self.string_end(line, found.end(), end, inner)
            paint(scopes, found.start(), stop, p.get("name"))
            for group, capture in p.get("captures", {}).items():
                paint(scopes, found.start(int(group)), found.end(int(group)), capture["name"])
            at = max(stop, at + 1)
        return scopes

    @staticmethod
    def string_end(line, at, end, inner):
        while at < len(line):
            closing = end.search(line, at)
            nested = [m for m in (r[0].search(line, at) for r in inner) if m]
            first = min(nested, key=lambda m: m.start(), default=None)
            if first is None or closing.start() <= first.start():
                return closing.end()
            at = first.end()
        return at


def paint(scopes, begin, end, name):
    if name:
        scopes[begin:end] = [name] * (end - begin)


def check_expected(grammar):
    faults = []
    for line, word, nth, scope in EXPECTED:
        edge = r"\b" if word.isidentifier() else ""
        begin = list(re.finditer(edge + re.escape(word) + edge, line))[nth].start()
        seen = set(grammar.scopes(line)[begin : begin + len(word)])
        if not all(s.startswith(scope) for s in seen):
            faults.append(f"`{word}` in `{line}`: expected {scope}, got {', '.join(sorted(seen))}")
    return faults


def check_file(grammar, path):
    faults = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        scopes = grammar.scopes(line)
        for token in TOKEN.finditer(line):
            seen = set(scopes[token.start() : token.end()])
            if ROOT in seen or any(s.startswith("invalid") for s in seen):
                faults.append(f"{path.name}:{number}:{token.start() + 1}: `{token.group()}` is plain")
            elif len(seen) != 1 and not token.group().startswith('"'):
                faults.append(f"{path.name}:{number}:{token.start() + 1}: `{token.group()}` is cut in pieces")
    return faults


def main():
    source = pathlib.Path(sys.argv[1])
    grammar = Grammar(source / "grammar" / "tg.tmLanguage.json")
    faults = [f"rule #{key} is never used" for key in set(grammar.data["repository"]) - grammar.used]
    faults += check_expected(grammar)
    files = sorted([*source.glob("samples/*.tg"), *source.glob("specs/*.tg")])
    if not files:
        faults.append("no samples found")
    for path in files:
        faults += check_file(grammar, path)
    # The checker itself must be able to fail: a line that the grammar has no rule for.
    if ROOT not in grammar.scopes("y = $"):
        faults.append("a foreign character was given a scope")
    print("\n".join(faults) or f"{len(files)} files, every token has a scope")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
