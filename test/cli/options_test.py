"""Every option does what it says, and what does not fit is refused with exit 2."""
import json
import re
import unittest

from support import RELU, ROOT, CliTest, main


class Usage(CliTest):
    def test_nothing_asked(self):
        result = self.tangc(code=2)
        self.assertEqual(result.out, "")
        self.assertTrue(result.err.startswith("usage: tangc"))

    def test_help_and_version(self):
        self.assertIn("--target", self.tangc("--help").out)
        self.assertRegex(self.tangc("--version").out, r"^tangc \d+\.\d+\.\d+\n$")
        for verb in "check", "fmt", "run", "verify", "targets", "explain", "report", "layout":
            text = self.tangc(verb, "--help").out
            self.assertTrue(text.startswith(f"usage: tangc {verb}"), verb)
        self.assertNotIn("--emulate", self.tangc("check", "--help").out)
        self.assertIn("example: tangc ", self.tangc("run", "--help").out)

    def test_no_line_of_help_is_long(self):
        for verb in [], ["run"]:
            for line in self.tangc(*verb, "--help").out.splitlines():
                self.assertLessEqual(len(line), 118, line)

    def test_examples_are_calls_of_the_verb(self):
        """Every example of a verb's help names that verb, and parses: what fails is the file that is not there."""
        for verb in "check", "fmt", "run", "verify", "targets", "explain", "report":
            examples = re.findall(r"example: tangc ((?:.*\n {6}(?! *example|  -))*.*)", self.tangc(verb, "--help").out)
            self.assertGreater(len(examples), 5)
            for example in examples:
                self.assertRegex(example, rf"^{verb} ", example)
                err = self.tangc(*example.split(), "--diagnostics-format=json", code=None).err
                self.assertNotIn("option", err, example)
                self.assertNotIn("operand", err, example)

    def test_help_lists_names(self):
        text = re.sub(r"\s+", " ", self.tangc("--help").out)
        for names in "Names: source, header, report, tg, graph", "unused-input, unused-index", "parse, ":
            self.assertIn(names, text)
        self.assertIn("the warnings are `unused-input`", self.tangc("check", "relu.tg", "-Wall", code=2).err)
        self.assertEqual(text.count("not in this version"), 1)

    def test_unknown_option_names_the_near_one(self):
        result = self.tangc("relu.tg", "-t", "c", "--emti=source", code=2)
        self.assertIn("unknown option `--emti`", result.err)
        self.assertIn("did you mean `--emit`", result.err)

    def test_option_of_another_verb(self):
        self.assertIn("not an option of `tangc check`", self.tangc("check", "relu.tg", "--emulate", code=2).err)

    def test_operands(self):
        self.tangc("-t", "c", code=2)
        self.tangc("relu.tg", "relu.tg", "-t", "c", code=2)
        self.tangc("check", code=2)
        for words, text in ((["--random"], "`--random` needs its argument, `SEED`"),
                            (["--emit=", "-d", "d"], "nothing stands behind `--emit=`")):
            self.assertIn(text, self.tangc(*(["run"] if "random" in words[0] else []), "relu.tg", *words, code=2).err)

    def test_words_that_are_no_verbs(self):
        for word, hint in (("chek", "did you mean `check`?"), ("compile", "needs no verb"),
                           ("version", "`tangc --version`"), ("frobnicate", "the verbs are `help`, `check`")):
            for rest in [], ["relu.tg"], ["relu.tg", "-t", "c"]:
                err = self.tangc(word, *rest, code=2).err
                self.assertIn(f"no verb or file is called `{word}`", err)
                self.assertIn(hint, err)
        self.file("chek", RELU)  # a file is a file
        self.tangc("chek", "-t", "c")

    def test_help_as_a_verb(self):
        self.assertEqual(self.tangc("help").out, self.tangc("--help").out)
        self.assertEqual(self.tangc("help", "run").out, self.tangc("run", "--help").out)

    def test_later_verbs(self):
        for verb in "tune", "import":
            self.assertIn("not part of this version", self.tangc(verb, "x", code=2).err)

    def test_later_options(self):
        self.assertIn("not part of this version", self.tangc("relu.tg", "-t", "c", "--tune=f", code=2).err)

    def test_bad_values(self):
        for word in "-O7", "--color=red", "--precision=low", "-j0", "-jx", "--max-errors=-1", "--emit=nothing", \
                    "--split=file", "--index-bits=16", "--checks=some", "--prefix=", "-Wno-such", "-Werror=no-such", \
                    "--dump=nowhere", "--diagnostics-format=xml", "--time-report=xml", \
                    "--error-budget=", "--error-budget=0", "--error-budget=-1", "--error-budget=nan", \
                    "--error-budget=inf", "--error-budget=1e-3,", "--error-budget=1,2,3", "--error-budget=1x":
            self.tangc("relu.tg", "-t", "c", word, code=2)
        self.assertEqual(self.names(), ["relu.tg"])


class Targets(CliTest):
    def test_none(self):
        self.assertIn("no target is given", self.tangc("relu.tg", code=2).err)

    def test_twice(self):
        for words in (["-t", "c,c"], ["-t", "c", "-t", "c"], ["-t", "sm_80:a100-40gb,sm_80"]):
            self.assertIn("named twice", self.tangc("relu.tg", *words, code=2).err)

    def test_unknown_and_not_printable(self):
        self.assertIn("did you mean `sm_90`", self.tangc("relu.tg", "-t", "sm_90q", code=2).err)
        self.assertIn("cannot write code", self.tangc("relu.tg", "-t", "wgsl", code=2).err)


class Dims(CliTest):
    def test_bound(self):
        self.tangc("relu.tg", "-t", "c", "-DM=3", "-D", "N=5")
        self.assertNotIn("int64_t M", (self.dir / "relu.h").read_text())

    def test_refused(self):
        for words in (["-D", "Q=1"], ["-D", "M=65"], ["-D", "M=x"], ["-D", "M"], ["--dim", "M=1..65"], ["--dim", "M=2"],
                      ["--dim", "M=5..2"], ["-D", "M=1", "-D", "M=2"], ["-D", "M=9223372036854775808"]):
            self.tangc("relu.tg", "-t", "c", *words, code=2)
        self.assertEqual(self.names(), ["relu.tg"])

    def test_messages(self):
        err = self.tangc("check", "relu.tg", "--dim", "M=1..100", code=2).err
        self.assertIn("`--dim M=1..100`: the dim is declared in 1..64", err)
        self.assertIn("the dims are `M`, `N`", self.tangc("check", "relu.tg", "-D", "Q=3", code=2).err)
        self.assertIn("the only free dim is `N`",
                      self.tangc("relu.tg", "-t", "c", "-D", "M=4", "--specialize=M=4", code=2).err)

    def test_narrowed(self):
        self.tangc("relu.tg", "-t", "c", "--dim", "M=4..16/4")
        self.tangc("check", "relu.tg", "--dim", "M=4..16/4")


class Words(CliTest):
    def test_response_files(self):
        self.file("args", "relu.tg  --target 'c'\n-d \"out dir\" @more")
        self.file("more", "--prefix=net")
        self.tangc("@args")
        self.assertIn("net_c_run", (self.dir / "out dir" / "relu.h").read_text())

    def test_response_file_faults(self):
        self.assertIn("cannot read `none`", self.tangc("@none", code=4).err)
        self.file("loop", "@loop")
        self.tangc("@loop", code=2)
        (self.dir / "nul").write_bytes(b"relu.tg -t c -d o\0x")
        self.assertIn("byte 17 of response file `nul` is NUL", self.tangc("@nul", code=2).err)

    def test_files_without_end(self):
        self.assertIn("cannot read `/dev/zero`: File too large", self.tangc("check", "/dev/zero", code=4).err)
        self.assertIn("cannot read `/dev/zero`: File too large", self.tangc("@/dev/zero", code=4).err)
        self.file("include.tg", 'tg 1\ninclude "/dev/zero"\n')
        self.assertIn("include.tg:2:9: error: `/dev/zero` cannot be read", self.tangc("check", "include.tg", code=1).err)

    def test_double_dash(self):
        self.file("-odd.tg", (self.dir / "relu.tg").read_text())
        self.tangc("-t", "c", "--", "-odd.tg")
        self.assertIn("-odd.c.c", self.names())
        self.file("@odd.tg", (self.dir / "relu.tg").read_text())
        self.tangc("-t", "c", "--", "@odd.tg")

    def test_standard_streams(self):
        result = self.tangc("-", "-t", "c", "-o", "-", stdin=(self.dir / "relu.tg").read_text())
        self.assertIn("relu_rows_c_run", result.out)
        self.assertEqual(self.names(), ["relu.tg"])


class Diagnostics(CliTest):
    BAD = "tg 1\ngraph bad\ninput x : f32[4]\ny[i] = z[i]\nw[i] = x[i + 9]\noutput y : f32[4]\n"

    def setUp(self):
        super().setUp()
        self.file("bad.tg", self.BAD)
        self.file("warn.tg", "tg 1\ngraph w\ninput x : f32[4]\ninput u : f32[4]\ny[i] = x[i]\noutput y : f32[4]\n")

    def test_gcc(self):
        err = self.tangc("check", "bad.tg", code=1).err
        self.assertRegex(err, r"(?m)^bad\.tg:4:8: error: .*`z`.* \[E0301\]$")
        self.assertRegex(err, r"(?m)^ *\| *\^")

    def test_msvc(self):
        self.assertRegex(self.tangc("check", "bad.tg", "--diagnostics-format=msvc", code=1).err,
                         r"(?m)^bad\.tg\(4,8\): error E0301: ")

    def test_json(self):
        lines = self.tangc("check", "bad.tg", "--diagnostics-format=json", code=1).err.splitlines()
        first = json.loads(lines[0])
        self.assertEqual((first["file"], first["line"], first["column"], first["severity"], first["code"]),
                         ("bad.tg", 4, 8, "error", "E0301"))
        for line in lines:
            self.assertEqual(set(json.loads(line)) >= {"file", "line", "column", "severity", "message"}, True)

    def test_sarif(self):
        log = json.loads(self.tangc("check", "bad.tg", "--diagnostics-format=sarif", code=1).err)
        self.assertEqual(log["version"], "2.1.0")
        result = log["runs"][0]["results"][0]
        self.assertEqual(result["ruleId"], "E0301")
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"]["startLine"], 4)
        fine = json.loads(self.tangc("check", "relu.tg", "--diagnostics-format=sarif").err)
        self.assertEqual(fine["runs"][0]["results"], [])

    def test_bad_command_line_in_the_format_asked_for(self):
        line = self.tangc("relu.tg", "--diagnostics-format=json", code=2).err.splitlines()[0]
        self.assertEqual(json.loads(line)["severity"], "error")

    def test_color(self):
        self.assertNotIn("\x1b", self.tangc("check", "bad.tg", code=1).err)
        self.assertIn("\x1b", self.tangc("check", "bad.tg", "--color=always", code=1).err)
        self.assertNotIn("\x1b", self.tangc("check", "bad.tg", "--color=auto", code=1, env={"NO_COLOR": "1"}).err)
        self.assertIn("\x1b", self.tangc("check", "bad.tg", "--color=always", code=1, env={"NO_COLOR": "1"}).err)

    def test_max_errors(self):
        text = "tg 1\ngraph bad\n" + "".join(f"y{i}[i] = q{i}[i]\n" for i in range(30))
        self.file("many.tg", text)
        self.assertEqual(self.tangc("check", "many.tg", code=1).err.count("error:"), 20)
        self.assertEqual(self.tangc("check", "many.tg", "--max-errors=3", code=1).err.count("error:"), 3)
        self.assertEqual(self.tangc("check", "many.tg", "--max-errors=0", code=1).err.count("error:"), 30)

    def test_warnings(self):
        self.assertIn("warning:", self.tangc("check", "warn.tg").err)
        for quiet in "-w", "-Wno-unused-input":
            self.assertEqual(self.tangc("check", "warn.tg", quiet).err, "")
        for strict in "-Werror", "-Werror=unused-input":
            self.assertIn("error:", self.tangc("check", "warn.tg", strict, code=1).err)
        self.tangc("check", "warn.tg", "-Werror=unused-index")
        self.assertIn("did you mean `unused-input`", self.tangc("check", "warn.tg", "-Wno-unused-inpt", code=2).err)

    def test_warnings_as_errors_write_nothing(self):
        self.tangc("warn.tg", "-t", "c", "-Werror", code=1)
        self.assertNotIn("warn.c.c", self.names())


class Traces(CliTest):
    def test_verbose(self):
        err = self.tangc("relu.tg", "-t", "c", "-v").err
        for stage in "parse", "schedule (c)", "lower (c)", "print (c)", "write":
            self.assertRegex(err, rf"(?m)^tangc: {re.escape(stage)}: .*ms$")

    def test_time_report(self):
        self.assertRegex(self.tangc("relu.tg", "-t", "c", "--time-report").err, r"ms +total\n$")
        report = json.loads(self.tangc("relu.tg", "-t", "c", "--time-report=json").err)
        self.assertEqual(report["stages"][0]["stage"], "parse")
        self.assertEqual(sum(s["us"] for s in report["stages"]), report["total_us"])

    def test_dump(self):
        err = self.tangc("relu.tg", "-t", "c", "--dump=parse,lower").err
        self.assertIn("# after parse\ntg 1\n", err)
        self.assertIn("# after lower (c)\n", err)
        self.assertNotIn("# after schedule", err)

    def test_dump_dir(self):
        self.tangc("relu.tg", "-t", "c", "--dump-dir=dumps", "-d", "out")
        names = self.names("dumps")
        self.assertEqual(names[0], "00-parse.tg")
        self.assertTrue(any(n.endswith("-schedule.c.yaml") for n in names), names)
        self.assertTrue(any(n.endswith("-lower.c.spec") for n in names), names)
        self.tangc("check", "dumps/00-parse.tg")

    def test_dumps_read_back_in(self):
        self.tangc("relu.tg", "-t", "c", "--dump-dir=dumps", "-d", "out")
        for name in self.names("dumps"):
            if name.endswith(".tg"):
                self.tangc("check", f"dumps/{name}")


class Generated(CliTest):
    def test_checked_in_copies_are_current(self):
        for what, path in {"man": "grammar/tangc.1", "bash": "grammar/completions/tangc.bash",
                           "zsh": "grammar/completions/_tangc", "fish": "grammar/completions/tangc.fish"}.items():
            with self.subTest(what):
                self.assertEqual((ROOT / path).read_text(), self.tangc(f"--generate={what}").out,
                                 f"run `tangc --generate={what} > {path}`")

    def test_every_option_is_in_the_man_page(self):
        page = self.tangc("--generate=man").out.replace("\\-", "-")
        for name in re.findall(r"^  (-[^\s=\[]+)", self.tangc("--help").out, re.M):
            self.assertIn(name.rstrip(","), page)


class Manual(CliTest):
    def test_the_language_page_lists_the_library(self):
        """Every function and monoid of <nn>, with its parameters."""
        page = (ROOT / "grammar/tg.5").read_text()
        library = (ROOT / "specs/nn.tg").read_text()
        names = re.findall(r"^def (\w+(?:\[[^\]]*\])?\([^)]*\))", library, re.M)
        for name, fields in re.findall(r"^monoid (\w+)\(([^)]*)\)", library, re.M):
            names.append(f"{name}({', '.join(f.split('=')[0].strip() for f in fields.split(','))})")
        self.assertGreater(len(names), 40)
        listed = re.search(r"\.Sh LIBRARY\n(.*?)\.Sh ", page, re.S)[1]
        self.assertEqual(sorted(re.findall(r"^\.Ql (\w+[\[(].*)$", listed, re.M)), sorted(names))


if __name__ == "__main__":
    main()
