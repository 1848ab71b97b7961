"""Tables of instructions on the command line: `--atomics` adds rows that are found by what they do,
`--explain-atoms` says which rows were taken and why no others."""
import unittest

from support import CliTest, main

PRODUCT = """tg 1
graph product
input a : {a}[256, 256]
input b : {b}[256, 256]
y[i, j] = sum[k] a[i, k] * b[k, j]
output y : f32[256, 256]
"""
D = '{type: f32, memory: register, layout: "((4,8),(2,2)):((2@n,1@m),(1@n,8@m))"}'
A = '{type: bf16, memory: register, layout: "((4,8),(2,2,2)):((2@k,1@m),(1@k,8@m,8@k))"}'
B = '{type: bf16, memory: register, layout: "((4,8),(2,2)):((2@k,1@n),(1@k,8@k))"}'
ROW = f"""- name: mine.product
  spec: MatMul
  threads: "32:1"
  operands:
    D: {D}
    A: {A}
    B: {B}
  requires: [sm_80]
  native_on: [sm_80]
  cost: {{fma: 2048}}
  accumulates: D
  print: {{cuda: 'asm("my.product {{$D}}, {{$A}}, {{$B}}, {{$D}};")'}}
  source: "a table of the test"
"""


class Atomics(CliTest):
    def setUp(self):
        super().setUp()
        self.file("p.tg", PRODUCT.format(a="bf16", b="bf16"))
        self.file("mine.yaml", ROW)

    def source(self, *words, target="sm_80", **more):
        return self.tangc("p.tg", "-t", target, "-o", "-", *words, **more).out

    def test_a_row_of_the_user_is_selected(self):
        self.assertIn("mma.sync.aligned.m16n8k16", self.source())
        text = self.source("--atomics=mine.yaml")
        self.assertIn("tg_mine_product(", text)
        self.assertIn("my.product {%0, %1, %2, %3}, {%4", text)
        self.assertNotIn("mma.sync", text)
        # The header says that a table was used, and not where it lies.
        self.assertIn("--atomics=sha256:", text)
        self.assertNotIn("mine.yaml", text)

    def test_a_row_counts_only_where_it_is_native_and_has_a_text(self):
        self.assertNotIn("my.product", self.source("--atomics=mine.yaml", target="sm_90"))
        self.file("mine.yaml", ROW.replace("{cuda:", "{metal:"))
        self.assertNotIn("my.product", self.source("--atomics=mine.yaml"))

    def test_the_first_of_several_tables_counts(self):
        self.file("other.yaml", ROW.replace("mine.product", "other.product").replace("my.product", "your.product"))
        self.assertIn("your.product", self.source("--atomics=other.yaml", "--atomics=mine.yaml"))
        self.assertIn("my.product", self.source("--atomics=mine.yaml", "--atomics=other.yaml"))

    def test_depfiles_list_tables(self):
        rule = self.tangc("p.tg", "-t", "sm_80", "-M", "--atomics=mine.yaml").out
        self.assertIn("mine.yaml", rule)

    def refused(self, place, code, text):
        err = self.tangc("p.tg", "-t", "sm_80", "-d", "out", "--atomics=mine.yaml", code=1).err
        self.assertIn(f"mine.yaml:{place}: error: ", err)
        self.assertIn(f"[{code}]", err)
        self.assertIn(text, err)
        self.assertNotIn("out", {p.name for p in self.dir.iterdir()})

    def test_what_is_wrong_with_a_table_is_said_where_it_stands(self):
        for old, new, place, code, text in (
            ("spec: MatMul", "spec: Matmul", "2:9", "E0024", "`Matmul` is no spec"),
            ("spec: MatMul", "spec: [MatMul", "2:9", "E0020", ""),
            ("requires:", "needs:", "8:3", "E0021", "unknown key `needs`"),
            ("(1@n,8@m)", "(1@n,16@m)", "1:9", "E0024", "elements of its box"),
            ("fma: 2048", "fma: lots", "10:15", "E0023", "fma"),
            ("my.product {$D}", "my.product {$E}", "1:9", "E0024", "`$E` is no operand"),
            ('asm("my', "asm('my", "12:", "E0020", ""),
            ("asm(\"my.product", "asm(my.product", "1:9", "E0024", "with one string"),
            ("name: mine.product", "name: my product", "1:9", "E0024", "no name of a row"),
            ("name: mine.product", "name: mma.m16n8k16.f32.bf16", "1:9", "E0025", "taken by another row"),
            ("name: mine.product", "name: mma.m16n8k16_f32.bf16", "1:9", "E0025", "taken by another row"),
        ):
            self.assertIn(old, ROW)
            self.file("mine.yaml", ROW.replace(old, new))
            with self.subTest(new):
                if new == "spec: [MatMul" or new.startswith("asm('"):
                    err = self.tangc("p.tg", "-t", "sm_80", "-d", "out", "--atomics=mine.yaml", code=1).err
                    self.assertRegex(err, r"mine\.yaml:\d+:\d+: error: .*\[E0020\]")
                else:
                    self.refused(place, code, text)
        self.file("mine.yaml", ROW + ROW)
        self.refused("14:9", "E0025", "taken by another row")

    def test_a_table_that_is_not_there(self):
        err = self.tangc("p.tg", "-t", "sm_80", "-d", "out", "--atomics=none.yaml", code=4).err
        self.assertIn("cannot read `none.yaml`", err)

    def test_explanations_name_the_row_taken_and_the_others_by_reason(self):
        err = self.tangc("p.tg", "-t", "sm_80", "-d", "out", "--explain-atoms", "--atomics=mine.yaml").err
        self.assertIn("# kernel y (sm_80)\nMatMul f32 += bf16 * bf16\n  taken: mine.product (a table of the test)\n", err)
        self.assertRegex(err, r"it fits, and stands later in the tables: mma\.m16n8k16\.f32\.bf16\n")
        self.assertRegex(err, r"it fits, with less work in one issue: mma\.m16n8k8\.f32\.bf16\n")
        self.assertRegex(err, r"its A is f16:.* mma\.m16n8k16\.f32\.f16")
        self.assertRegex(err, r"not native on sm_80:(.|\n)* mma\.m16n8k32\.f32\.f8e4m3")
        self.assertRegex(err, r"of another kind: \d+ Commit, \d+ Move, .*\d+ Wait\n")
        self.assertRegex(err, r"Move of bf16 from shared memory, contiguous along k, .*\n  taken: ldmatrix\.x4 ")
        self.assertRegex(err, r"its runs in memory would not lie along k: ldmatrix\.x4\.trans")
        self.assertIn("Commit `cp_async`\n  taken: cp.async.commit_group", err)

    def test_explanations_say_where_there_is_no_row(self):
        self.file("p.tg", PRODUCT.format(a="f32", b="f32"))
        err = self.tangc("p.tg", "-t", "sm_80", "-d", "out", "--explain-atoms").err
        self.assertIn("MatMul f32 += f32 * f32\n  no row is taken: multiply-adds of single threads", err)
        self.assertRegex(err, r"its A is tf32: mma\.m16n8k4\.f32\.tf32, mma\.m16n8k8\.f32\.tf32")
        err = self.tangc("relu.tg", "-t", "c", "-d", "out", "--explain-atoms").err
        self.assertIn("# kernel y (c)\nasks for no instruction", err)


if __name__ == "__main__":
    main()
