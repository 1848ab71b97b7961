"""`budget` lines and `--error-budget`: what the formats of a program may cost."""
import json
import unittest

from support import ROOT, CliTest, main

# h is kept in f16, of which a rounding costs up to 2^-11.
HALVES = """tg 1
graph halves
dim M in 1..64
dim N in 1..8192
input x : f32[M, N]
h[i, j] = exp(x[i, j])
{store}y[i] = sum[j] h[i, j] * h[i, j]
output y : f32[M]
{budget}z[i, j] = h[i, j] + 1
output z : f32[M, N]
"""


PRODUCT = """tg 1
graph product
dim M in 1..4096, N in 1..4096, K in 1..4096
input a : f32[M, K]
input b : f32[K, N]
y[i, j] = sum[k] a[i, k] * b[k, j]
output y : f32[M, N]
"""


class Budgets(CliTest):
    def program(self, store="", budget=""):
        self.file("halves.tg", HALVES.format(store=store, budget=budget))

    def errors(self, *words):
        self.tangc("halves.tg", "-t", "c", *words)
        report = json.loads((self.dir / "halves.c.sol.json").read_text())
        return [kernel["error"] for kernel in report["kernels"]]

    def test_none(self):
        self.program("store h : f16\n")
        for error in self.errors():
            self.assertEqual((error["method"], error["predicted_rel"], error["budget_rel"]), ("none", None, None))

    def test_wide_enough(self):
        self.program("store h : f16\n")
        predicted = [e["predicted_rel"] for e in self.errors("--error-budget=1e-2") if e["method"] == "emulated"]
        self.assertTrue(predicted)
        for value in predicted:
            self.assertLess(2e-5, value)
            self.assertLess(value, 2e-3)

    def test_formats_decide(self):
        self.program()
        for error in self.errors("--error-budget=1e-5"):
            self.assertLess(error["predicted_rel"] or 0, 1e-6)
        self.program("store h : bf16\n")
        self.assertIn("budget is rel 1e-05", self.tangc("halves.tg", "-t", "c", "--error-budget=1e-5", code=3).err)

    def test_exceeded(self):
        self.program("store h : f16\n")
        result = self.tangc("halves.tg", "-t", "c", "--error-budget=1e-6", "-d", "out", code=3)
        self.assertIn("halves.tg:9:", result.err)
        self.assertIn("the error of `y` is", result.err)
        self.assertIn("the error of `z` is", result.err)
        self.assertEqual(self.names(), ["halves.tg", "relu.tg"])

    def test_a_line_stands_before_the_option(self):
        self.program("store h : f16\n", "budget y : rel 0.5\n")
        err = self.tangc("halves.tg", "-t", "c", "--error-budget=1e-6", code=3).err
        self.assertNotIn("`y`", err)
        self.assertIn("`z`", err)
        self.program("store h : f16\n", "budget y : rel 1e-7\n")
        self.assertIn("the error of `y`", self.tangc("halves.tg", "-t", "c", code=3).err)

    def test_beside_other_lines(self):
        self.program("store h : f16\n", "accumulate y : f32\n")
        error = next(e for e in self.errors("--error-budget=1e-2") if e["method"] == "emulated")
        self.assertEqual(error["budget_rel"], 1e-2)
        self.assertIn("`y`", self.tangc("halves.tg", "-t", "c", "--error-budget=1e-6", code=3).err)
        self.assertEqual({e["budget_rel"] for e in self.errors("--error-budget=1e-2")}, {1e-2})

    def test_either_limit_will_do(self):
        self.program("store h : f16\n")
        self.tangc("halves.tg", "-t", "c", "--error-budget=1e-9,100")
        self.tangc("halves.tg", "-t", "c", "--error-budget=0.1,1e-12")
        self.tangc("halves.tg", "-t", "c", "--error-budget=1e-9,1e-12", code=3)

    def test_too_large_to_try(self):
        self.program(budget="budget y : rel 0.1\n")
        words = ["halves.tg", "-t", "c", "-D", "M=64", "-D", "N=8192"]
        self.file("wide.tg", (self.dir / "halves.tg").read_text().replace("8192", "1000000"))
        self.tangc(*words)
        wide = ["wide.tg", "-t", "c", "-D", "M=64", "-D", "N=1000000"]
        self.assertIn("budgets were not checked", self.tangc(*wide).err)
        self.assertNotIn("not checked", self.tangc(*wide, "-Wno-budget").err)

    def test_tf32_is_a_permission(self):
        self.program()
        self.tangc("halves.tg", "-t", "c", "--allow-tf32")
        report = json.loads((self.dir / "halves.c.sol.json").read_text())
        self.assertIn("--allow-tf32", report["tool"]["options"])
        self.assertEqual({k["precision"]["tf32"] for k in report["kernels"]}, {"allowed, not used"})

    def test_tf32_is_used_where_it_is_permitted_and_no_budget_is_to_be_held(self):
        text = ("tg 1\ngraph product\ninput a : f32[256, 256]\ninput b : f32[256, 256]\n"
                "y[i, j] = sum[k] a[i, k] * b[k, j]\noutput y : f32[256, 256]\n")
        for words, line, used in ((), "", "not allowed"), (("--allow-tf32",), "", "used"), \
                (("--allow-tf32",), "budget y : rel 1e-3\n", "allowed, not used"):
            self.file("product.tg", text + line)
            self.tangc("product.tg", "-t", "sm_80", "-Wno-budget", *words)
            report = json.loads((self.dir / "product.sm_80.sol.json").read_text())
            self.assertEqual({k["precision"]["tf32"] for k in report["kernels"]}, {used})
            self.assertEqual(".tf32.tf32." in (self.dir / "product.sm_80.cu").read_text(), used == "used")

    def test_weights_of_attention_in_tf32_are_numbers_until_they_are_words(self):
        # The unit reads words; what is computed before is f32, whose bits they are.
        text = (ROOT / "samples" / "attention.tg").read_text().replace(": f16", ": f32")
        self.file("attention.tg", text)
        self.tangc("attention.tg", "-t", "sm_80", "--allow-tf32")
        source = (self.dir / "attention.sm_80.cu").read_text()
        self.assertIn("mma_m16n8k8_f32_tf32", source)
        self.assertRegex(source, r"float weight\[\d+\];")
        self.assertNotRegex(source, r"uint32_t weight\[")
        self.assertIn("(uint32_t *)(weight + t", source)

    def split(self, target, *words):
        self.tangc("product.tg", "-t", target, *words)
        name = target.split(":")[0]
        report = json.loads((self.dir / f"product.{name}.sol.json").read_text())
        used = {way for k in report["kernels"] for way in k["precision"]["split"]}
        says = any("split_precision: each product of `y`" in line for k in report["kernels"] for line in k["derivation"])
        self.assertEqual(says, bool(used))
        if name != "c":
            text = (self.dir / f"product.{name}.cu").read_text()
            self.assertEqual({way for way, mark in (("tf32x3", ".tf32.tf32."), ("bf16x3", ".bf16.bf16.")) if mark in text}, used)
        return used, [k["error"]["predicted_rel"] for k in report["kernels"]]

    def test_products_of_f32_are_split_where_a_budget_allows_it(self):
        self.file("product.tg", PRODUCT)
        self.assertEqual(self.split("sm_80"), (set(), [None]))
        used, (predicted,) = self.split("sm_80", "--error-budget=1e-5")
        self.assertEqual(used, {"tf32x3"})
        self.assertLess(2e-7, predicted)
        self.assertLess(predicted, 2e-6)
        self.file("product.tg", PRODUCT + "budget y : rel 1e-5\n")
        self.assertEqual(self.split("sm_90a")[0], {"tf32x3"})

    def test_the_form_of_the_least_time_that_keeps_the_budget_is_chosen(self):
        self.file("product.tg", PRODUCT)
        used, (predicted,) = self.split("sm_80", "--error-budget=1e-4")
        self.assertEqual(used, {"bf16x3"})
        self.assertLess(1e-6, predicted)
        self.assertLess(predicted, 3e-5)
        # A schedule may ask for the other.
        self.file("product.tg", PRODUCT.replace("..4096", "..4096 step 4"))
        fields = ("steps:\n- kernel: y\n  variants:\n  - fields: {{threads: 64, vector: 4, block_m: 32, block_n: 32, block_k: 32, "
                  "precision: {}, warp_m: 32, warp_n: 16, pipeline: 2, stage: true}}\n")
        for form, budget in ("tf32x3", "1e-4"), ("bf16x3", "1e-4"), ("tf32x3", "1e-5"):
            self.file("fields.yaml", fields.format(form))
            self.assertEqual(self.split("sm_80", "--schedule=fields.yaml", f"--error-budget={budget}")[0], {form})
        self.file("fields.yaml", fields.format("bf16x3"))
        err = self.tangc("product.tg", "-t", "sm_80", "--schedule=fields.yaml", "--error-budget=2e-7", code=1).err
        self.assertIn("`precision: bf16x3` needs an error budget that the prediction keeps", err)

    def test_products_are_split_only_where_that_is_faster(self):
        self.file("product.tg", PRODUCT)
        # No such unit, no gain on the device.
        for target in "c", "sm_75", "sm_86", "sm_89":
            self.assertEqual(self.split(target, "--error-budget=1e-5")[0], set())

    def test_a_budget_may_be_too_tight_to_split(self):
        self.file("product.tg", PRODUCT)
        err = self.tangc("product.tg", "-t", "sm_80", "--error-budget=2e-7", "-Wperf").err
        self.assertIn("split_precision: products of `y` stay f32 on sm_80: the error of `y` would be", err)
        self.assertEqual(self.split("sm_80", "--error-budget=2e-7")[0], set())
        err = self.tangc("product.tg", "-t", "sm_80", "--error-budget=1e-5", "-Wperf", "-D", "M=512", "-D", "N=512",
                         "-D", "K=512").err
        self.assertIn("leave dims free", err)

    def test_every_output_that_a_product_reaches_has_a_budget(self):
        lines = "z[i, j] = y[i, j] + 1\noutput z : f32[M, N]\nbudget y : rel 1e-5\n"
        self.file("product.tg", PRODUCT + lines)
        self.assertEqual(self.split("sm_80")[0], set())
        self.file("product.tg", PRODUCT + lines + "budget z : rel 1e-5\n")
        self.assertEqual(self.split("sm_80")[0], {"tf32x3"})

    def test_a_schedule_splits_products_under_a_budget(self):
        self.file("product.tg", PRODUCT.replace("..4096", "..4096 step 4"))
        self.file("fields.yaml", "steps:\n- kernel: y\n  variants:\n  - fields: {threads: 64, vector: 4, block_m: 32, block_n: "
                                 "32, block_k: 16, precision: tf32x3, warp_m: 32, warp_n: 16, pipeline: 2, stage: true}\n")
        err = self.tangc("product.tg", "-t", "sm_86", "--schedule=fields.yaml", code=1).err
        self.assertIn("`precision: tf32x3` needs an error budget that the prediction keeps", err)
        words = "--schedule=fields.yaml", "--error-budget=1e-5"
        self.assertEqual(self.split("sm_86", *words)[0], {"tf32x3"})
        self.tangc("product.tg", "-t", "sm_86", "--schedule=fields.yaml", "--error-budget=2e-7", code=1)

    def test_operands_are_rounded_only_where_that_is_native(self):
        self.file("attention.tg", "tg 1\ngraph attention\ndim S in 1..4096\ninput q : f16[S, 64]\ninput k : f16[S, 64]\n"
                                  "input v : f16[S, 64]\ns[i, j] = 0.125 * sum[d] q[i, d] * k[j, d]\n"
                                  "p[i, j] = softmax[j] s[i, j]\no[i, d] = sum[j] p[i, j] * v[j, d]\noutput o : f16[S, 64]\n")
        for how, rounded in ("native", {"f16"}), ("exact", set()):
            self.tangc("attention.tg", "-t", "sm_80", f"--precision={how}")
            report = json.loads((self.dir / "attention.sm_80.sol.json").read_text())
            self.assertEqual({f for k in report["kernels"] for f in k["precision"]["rounded"]}, rounded)
            self.assertEqual({k["precision"]["operands"] for k in report["kernels"]}, {how})
            self.assertEqual("tg_pair_f16(" in (self.dir / "attention.sm_80.cu").read_text(), bool(rounded))


if __name__ == "__main__":
    main()
