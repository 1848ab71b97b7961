"""tangc layout: what it prints and draws, and where its faults stand."""
import json
import unittest
import xml.etree.ElementTree as xml

from support import CliTest, main


class Values(CliTest):
    def prints(self, expression, line):
        self.assertEqual(self.tangc("layout", expression).out, line + "\n")

    def test_one_line(self):
        self.prints("(4,(2,4)):(2,(1,8))", "(4,(2,4)):(2,(1,8))")
        self.prints("compose((6,2):(8,2), (4,3):(3,1))", "((2,2),3):((24,2),8)")
        self.prints("complement(4:2, 24)", "(2,3):(1,8)")
        self.prints("logical_divide((4,2,3):(2,1,8), 4:2)", "((2,2),(2,3)):((4,1),(2,8))")
        self.prints("eval((4,(2,4)):(2,(1,8)), (0,3))", "9")
        self.prints("image((2,4):(4,1))", "[0, 4, 1, 5, 2, 6, 3, 7]")
        self.prints("Sw<3,4,3> o 16 + (8,64):(64,1)", "Sw<3,4,3> o 16 + (8,64):(64,1)")
        self.prints("logical_divide(128*M:1, 128)", "(128,M):(1,128)")
        self.prints("banks(recast(Sw<3,3,3> o (8,64):(64,1), 16, 8) o (8,8):(1,128), 16)", "1")

    def test_what_is_printed_reads_back_in(self):
        for expression in ("zipped_divide((8,16):(16,1), <4, 8>)", "slice(Sw<1,0,1> o (8,4):(1,8), (_,2))",
                           "(16,16):(1@m,1@n) o ((4,8),(2,2)):((32,1),(16,8))", "(M,N):(N,1)"):
            line = self.tangc("layout", expression).out.strip()
            self.prints(line, line)

    def test_standard_input(self):
        self.assertEqual(self.tangc("layout", "-", stdin="size(\n (4,8):(8,1))\n").out, "32\n")

    def test_quiet_of_files(self):
        self.tangc("layout", "4:1", "--svg")
        self.assertEqual(self.names(), ["relu.tg"])


class Faults(CliTest):
    def test_refusal(self):
        result = self.tangc("layout", "compose((6,2):(8,24), (3,2):(2,3))", code=1)
        self.assertEqual(result.out, "")
        self.assertEqual(result.err.splitlines()[:3], [
            "<expression>:1:1: error: modes of the right side carry: together they count to 7 in a mode of the left side of "
            "size 6 [E1002]",
            "    1 | compose((6,2):(8,24), (3,2):(2,3))",
            "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"])

    def test_refused_inside(self):
        err = self.tangc("layout", "size(complement(4:3, 24) o\n compose(4:1, 3:2))", code=1).err
        self.assertIn("<expression>:2:2: error:", err)

    def test_text(self):
        self.assertIn("<expression>:1:7: error: the strides have another form than the shape [E1001]",
                      self.tangc("layout", "(4,2):(1,(2,2))", code=1).err)
        self.assertIn("tuples nest deeper than 64 levels", self.tangc("layout", "(" * 10000, code=1).err)
        self.assertIn("9223372036854775807", self.tangc("layout", "9" * 1000 + ":1", code=1).err)
        self.tangc("layout", "", code=1)
        self.tangc("layout", "\x1b[31m", code=1)

    def test_call(self):
        err = self.tangc("layout", "compse(4:1, 2:1)", code=1).err
        self.assertIn("no function is called `compse` [E1003]", err)
        self.assertIn("did you mean `compose`?", err)
        self.assertIn("`size(L)` is given 2 arguments", self.tangc("layout", "size(4, 4)", code=1).err)

    def test_json(self):
        line = self.tangc("layout", "size(x(4))", "--diagnostics-format=json", code=1).err
        fault = json.loads(line)
        self.assertEqual((fault["column"], fault["code"]), (6, "E1003"))

    def test_command_line(self):
        self.tangc("layout", code=2)
        self.tangc("layout", "4:1", "4:1", code=2)
        self.tangc("layout", "4:1", "--table", "--svg", code=2)
        self.tangc("relu.tg", "-t", "c", "--table", code=2)
        self.assertIn("E1002", self.tangc("explain", "E1002").out)


class Help(CliTest):
    def test_lists_functions(self):
        text = self.tangc("layout", "--help").out
        for name in ("compose(A, B[, axis...])", "max_common_vector(A, B)", "banks(L, bytes)"):
            self.assertIn("  " + name, text)


class Pictures(CliTest):
    def test_values(self):
        self.assertEqual(self.tangc("layout", "(2,4):(4,1)", "--table").out,
                         "  | 0 1 2 3\n--+--------\n0 | 0 1 2 3\n1 | 4 5 6 7\n")

    def test_fragment(self):
        lines = self.tangc("layout", "((4,8),(2,2)):((2@n,1@m),(1@n,8@m))", "--table").out.splitlines()
        self.assertEqual(len(lines), 18)
        self.assertEqual(lines[2].split("|")[1].split(), "T0 V0 T0 V1 T1 V0 T1 V1 T2 V0 T2 V1 T3 V0 T3 V1".split())
        self.assertEqual(lines[10].split("|")[1].split()[:4], ["T0", "V2", "T0", "V3"])

    def test_svg(self):
        tree = xml.fromstring(self.tangc("layout", "Sw<1,0,1> o (4,4):(4,1)", "--svg").out)
        texts = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual(texts[8:16], "0 1 3 2 4 5 7 6".split())

    def test_no_picture(self):
        self.assertIn("pictures show layouts", self.tangc("layout", "image(4:1)", "--table", code=1).err)
        self.assertIn("a picture has two", self.tangc("layout", "(2,2,2):(1,2,4)", "--svg", code=1).err)
        self.assertIn("size M has symbols", self.tangc("layout", "M:1", "--table", code=1).err)


if __name__ == "__main__":
    main()
