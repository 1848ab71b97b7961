"""`--schedule`: fields that a person states, from the file that `--emit=schedule` writes."""
import itertools
import json
import re
import unittest

from support import ROOT, CliTest, main

PRODUCT = """tg 1
graph product
dim M in 0..512, N in 0..512, K in 0..512
input a : f32[M, K]
input b : f32[K, N]
y[i, j] = relu(sum[k] a[i, k] * b[k, j])
output y : f32[M, N]
input x : f32[M, N]
s[i] = sum[j] exp(x[i, j])
output s : f32[M]
"""
TILE = "{{threads: {threads}, block_m: {bm}, block_n: {bn}, block_k: {bk}, thread_m: {tm}, thread_n: {tn}, stage: true}}"


FEW_ROWS = """tg 1
graph few
dim M in 0..8192, N in 0..8192, K in 0..8192
input a : bf16[M, K]
input b : bf16[K, N]
y[i, j] = sum[k] a[i, k] * b[k, j]
output y : bf16[M, N]
"""
BOUND = ("-DM=512", "-DN=768", "-DK=512")


class WiderSearch(CliTest):
    """`-O3`: the plan, its modelled time and the tile of -O2 show in the schedule and the report."""

    def setUp(self):
        super().setUp()
        self.file("few.tg", FEW_ROWS)

    def plan(self, level, *words, target="sm_80"):
        self.tangc("few.tg", "-t", target, level, *words, "--emit=source,schedule,report", "-d", level)
        folder = self.dir / level
        return (json.loads((folder / f"few.{target}.sol.json").read_text()), (folder / f"few.{target}.schedule.yaml").read_text(),
                (folder / f"few.{target}.cu").read_text())

    @staticmethod
    def bare(text):
        return [line for line in text.splitlines() if "Options:" not in line]

    def test_another_tile_with_its_modelled_time(self):
        (usual, *_), (searched, schedule, source) = self.plan("-O2", *BOUND), self.plan("-O3", *BOUND)
        before, after = usual["kernels"][0], searched["kernels"][0]
        self.assertEqual(before["estimate"], {"us": None, "kind": "model"})
        self.assertNotEqual(before["schedule"]["variants"], after["schedule"]["variants"])
        text = r"of \d+ tiles the one of the least modelled time, ([0-9.]+) us, where \d+ x \d+ of -O2 has ([0-9.]+)"
        least, other = map(float, re.search(text, after["schedule"]["reason"]).groups())
        self.assertRegex(schedule, text)
        self.assertLess(least, other)
        self.assertEqual(round(after["estimate"]["us"], 1), least)
        self.assertGreater(after["estimate"]["us"], after["floor"]["us"])
        self.assertIn("-O3", searched["tool"]["options"])
        self.assertIn("Options: -O3", source)

    def test_same_bytes_again_and_stated_fields_instead(self):
        first, second = self.plan("-O3", *BOUND), self.plan("-O3", *BOUND)
        self.assertEqual(first, second)
        self.tangc("few.tg", "-t", "sm_80", "-O2", *BOUND, "--schedule=-O3/few.sm_80.schedule.yaml", "-o", "stated.cu")
        self.assertEqual(self.bare((self.dir / "stated.cu").read_text()), self.bare(first[2]))
        stated = self.plan("-O3", *BOUND, "--schedule=-O3/few.sm_80.schedule.yaml")[0]["kernels"][0]
        self.assertEqual(stated["estimate"]["us"], None)

    def test_free_sizes_are_as_at_O2(self):
        self.assertEqual(self.bare(self.plan("-O3")[2]), self.bare(self.plan("-O2")[2]))

    def test_every_sample_for_c_is_the_code_of_O2_that_test_samples_runs(self):
        for sample in sorted((ROOT / "samples").glob("*.tg")):
            self.tangc(sample, "-t", "c", "-O2", "--emit=source", "-o", "two.c")
            self.tangc(sample, "-t", "c", "-O3", "--emit=source", "-o", "three.c")
            two, three = (self.bare((self.dir / name).read_text()) for name in ("two.c", "three.c"))
            self.assertEqual(two, three, sample)

    def test_sums_in_parts(self):
        """Few points and a long sum: the parts are chosen together with the tile."""
        for target in "sm_80", "sm_90a":
            kernels = self.plan("-O3", "-DM=256", "-DN=256", "-DK=8192", target=target)[0]["kernels"]
            self.assertEqual(len(kernels), 2)
            self.assertGreater(kernels[0]["estimate"]["us"], 0)


class Schedule(CliTest):
    def setUp(self):
        super().setUp()
        self.file("p.tg", PRODUCT)

    def write(self, kernel, *variants):
        """A schedule of one kernel; a variant is its fields, or (fields, conditions)."""
        text = f"steps:\n- kernel: {kernel}\n  variants:\n"
        for variant in variants:
            fields, when = variant if isinstance(variant, tuple) else (variant, [])
            text += f"  - fields: {fields}\n" + (f"    when: {json.dumps(when)}\n" if when else "")
        self.file("s.yaml", text)

    def refused(self, target, reason, *words):
        err = self.tangc("p.tg", "-t", target, "--schedule=s.yaml", "-d", "out", *words, code=1).err
        self.assertIn(reason, err)
        self.assertRegex(err, r"s\.yaml:\d+:\d+: error: ")
        self.assertNotIn("out", {p.name for p in self.dir.iterdir()})

    def test_what_was_written_is_what_is_read(self):
        for target, extension in ("c", "c"), ("sm_90a", "cu"):
            for sample in "softmax", "transformer_block", "lstm_cell":
                path = ROOT / "samples" / f"{sample}.tg"
                self.tangc(path, "-t", target, "--emit=schedule,source", "-d", "a")
                self.tangc(path, "-t", target, "--emit=schedule,source", "-d", "b",
                           f"--schedule=a/{sample}.{target}.schedule.yaml")
                a, b = ([line for line in (self.dir / d / f"{sample}.{target}.{extension}").read_text().splitlines()
                         if "Options:" not in line] for d in "ab")
                self.assertEqual(a, b)

    def test_fields_change_the_code_and_not_its_meaning(self):
        self.tangc("p.tg", "-t", "c", "-o", "plain.c")
        for bm, bn in (1, 1), (2, 8), (7, 3), (8, 16):
            self.write("y", f"{{block_m: {bm}, block_n: {bn}, thread_m: {bm}, thread_n: {bn}}}")
            self.tangc("p.tg", "-t", "c", "--schedule=s.yaml", "-o", "other.c")
            self.assertNotEqual((self.dir / "plain.c").read_text(), (self.dir / "other.c").read_text())
            for sizes in (5, 7, 9), (17, 33, 2):
                self.tangc("verify", "p.tg", "-t", "c", "--schedule=s.yaml",
                           *(f"-D{name}={size}" for name, size in zip("MNK", sizes)))

    def test_every_legal_tile_is_proved_in_range(self):
        tiles = 0
        for bm, bn, bk, tm, tn in itertools.product((4, 24, 64), (8, 96), (1, 5, 16), (1, 3, 4), (2, 8)):
            if bm % tm or bn % tn or not 1 <= (threads := bm // tm * (bn // tn)) <= 1024:
                continue
            self.write("y", TILE.format(threads=threads, bm=bm, bn=bn, bk=bk, tm=tm, tn=tn))
            self.tangc("p.tg", "-t", "sm_80", "--schedule=s.yaml", "-o", "p.cu")
            tiles += 1
        self.assertGreater(tiles, 20)

    def test_every_legal_row_is_proved_in_range(self):
        for threads, vector, chunks in itertools.product((32, 64, 1024), (1, 2, 8), (0, 1, 3)):
            when = ([f"(N) % {vector} == 0"] if vector > 1 else []) + ([f"N <= {threads * vector * chunks}"] if chunks else [])
            fields = f"{{threads: {threads}, rows: {4 if threads == 32 else 1}, vector: {vector}, chunks: {chunks}}}"
            self.write("s", *([(fields, when)] if when else []), "{threads: 64}")
            self.tangc("p.tg", "-t", "sm_80", "--schedule=s.yaml", "-o", "p.cu")

    def test_the_header_says_which_schedule(self):
        self.write("y", "{block_m: 2, block_n: 2, thread_m: 2, thread_n: 2}")
        self.tangc("p.tg", "-t", "c", "--schedule=s.yaml", "-MD")
        self.assertRegex((self.dir / "p.c.c").read_text(), r"Options: .*--schedule=sha256:[0-9a-f]{64}")
        self.assertIn("s.yaml", (self.dir / "p.c.d").read_text())

    def test_kernels_that_are_not_there(self):
        self.write("yy", "{}")
        self.refused("c", "there is no kernel `yy`")
        self.file("s.yaml", (self.dir / "s.yaml").read_text().replace("yy", "s") + "- kernel: s\n  variants: [{fields: {}}]\n")
        self.refused("c", "only 1 kernel is called `s`")
        self.file("s.yaml", "steps:\n- {kernel: y, emitter: row, variants: [{fields: {}}]}\n")
        self.refused("c", "made by the emitter `tile`, not `row`")

    def test_fields_that_cannot_be(self):
        good = dict(threads=256, bm=64, bn=64, bk=16, tm=4, tn=4)
        for change, reason in ((dict(threads=128), "has 256 threads, not 128"), (dict(tm=3), "evenly"),
                               (dict(tm=6, bm=60), "groups of 4"), (dict(bk=128), "bytes of shared memory"),
                               (dict(bk=0), "`block_k`"), (dict(bm=512, tm=1), "beyond the target's"),
                               (dict(bm=64, tm=64), "accumulators")):
            self.write("y", TILE.format(**{**good, **change}))
            self.refused("sm_80", reason)
        for fields, reason in (("{threads: 48}", "power of two"), ("{threads: 64, rows: 2}", "rows share a block"),
                               ("{threads: 32, vector: 4}", "`(N) % 4 == 0` in `when`"),
                               ("{threads: 32, chunks: 4}", "`when` needs `N <= 128`"), ("{threads: 16}", "from 32"),
                               ("{threads: 32, vector: 3}", "1, 2, 4 or 8"), ("{threads: 32, block_m: 4}", "`block_m` means nothing"),
                               ("{threads: 2048}", "from 1 to 1024"), ("{threads: x}", "whole number"), ("{treads: 32}", "did you mean `threads`")):
            self.write("s", fields)
            self.refused("sm_80", reason)
        for conditions, reason in ((["N <= 8"], "takes all sizes"), (["Q <= 8"], "is no extent of kernel `s`"),
                                   (["N < 8"], "no condition"), (["N <= 0"], "no condition"), (["N <= 99999999999999999999"], "no condition")):
            self.write("s", ("{threads: 32}", conditions))
            self.refused("sm_80", reason)
        self.write("s", "{threads: 32}")
        self.refused("c", "no threads")

    def test_files_that_are_no_schedules(self):
        for text, reason in (("", "mapping"), ("steps: 3\n", "list"), ("steps: [\n", "not YAML"), ("graph: p\n", "`steps` is missing"),
                             ("steps: [{kernel: y}]\n", "`variants` is missing"), ("steps: [{kernel: y, variants: []}]\n", "no variant"),
                             ("steps: [{kernel: y, variants: [{}]}]\n", "`fields` is missing"), ("a: &a [*a]\n", "error"),
                             ("steps: " + "[" * 5000 + "\n", "error"), ("steps: [{kernel: y, emitter: warp, variants: [{fields: {}}]}]", "no emitter")):
            self.file("s.yaml", text)
            self.refused("c", reason)
        self.tangc("p.tg", "-t", "c", "--schedule=absent.yaml", code=4)
        self.tangc("p.tg", "-t", "c,sm_80", "--schedule=s.yaml", code=2)


if __name__ == "__main__":
    main()
