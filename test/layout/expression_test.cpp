// The language of `tangc layout`: values, faults and where they are, and that no text does harm.
#include "driver/layout/call.h"
#include "driver/layout/picture.h"
#include "support.h"
#include <set>

using namespace tang;
using layout::Random;

namespace {

/// What is printed, or `begin-end message` of the one fault.
std::string outcome(const std::string& text) {
  SourceManager sources;
  Sink sink;
  auto expression =
      driver::parse_layout_expression(sources, sources.add("<expression>", text), sink);
  std::optional<driver::LayoutValue> value;
  if (expression) value = driver::evaluate_layout_expression(*expression, sink);
  if (value && sink.ok()) return driver::value_text(*value);
  if (sink.error_count() != 1 || value) return "not one fault";
  const Diagnostic& d = sink.diagnostics()[0];
  return fmt::format("{}-{} {}", d.span.begin, d.span.end, d.message);
}

std::string picture(const std::string& text) {
  auto result = driver::picture_of(layout::read_whole(text));
  return result ? driver::picture_text(*result) : result.refusal().reason;
}

} // namespace

TEST_CASE("literals, operators and calls", "[expression]") {
  CHECK(outcome("(4,(2,4)):(2,(1,8))") == "(4,(2,4)):(2,(1,8))");
  CHECK(outcome(" 3 + 4*M + 1 ") == "4 + 4*M");
  CHECK(outcome("(_,3)") == "(_,3)");
  CHECK(outcome("<4:1, _, (2,2)>") == "<4:1, _, (2,2):(1,2)>");
  CHECK(outcome("Sw<3,3,3> o 16 + (8,64):(64,1)") == "Sw<3,3,3> o 16 + (8,64):(64,1)");
}

TEST_CASE("every function answers", "[expression]") {
  std::vector<std::pair<std::string, std::string>> cases{
      {"coalesce((2,(1,6)):(1,(6,2)))", "12:1"},
      {"coalesce_modes(((2,2),(3,4)):((1,2),(4,12)))", "(4,12):(1,4)"},
      {"compose((6,2):(8,2), (4,3):(3,1))", "((2,2),3):((24,2),8)"},
      {"compose((16,8):(8,1), ((4,8),(2,2)):((2@n,1@m),(1@n,8@m)), m, n)",
       "((4,8),(2,2)):((2,8),(1,64))"},
      {"complement(4:2)", "2:1"},
      {"right_inverse((2,4):(4,1))", "(4,2):(2,1)"},
      {"left_inverse(4:2)", "(2,4):(4,1)"},
      {"logical_divide((4,2,3):(2,1,8), 4:2)", "((2,2),(2,3)):((4,1),(2,8))"},
      {"zipped_divide((8,16):(16,1), <4, 8>)", "((4,8),(2,2)):((16,1),(64,8))"},
      {"tile((8,16):(16,1), <4, 8>)", "((2,2),(4,8)):((64,8),(16,1))"},
      {"logical_product((2,2):(4,1), 6:1)", "((2,2),(2,3)):((4,1),(2,8))"},
      {"blocked_product((2,5):(5,1), (3,4):(1,3))", "(6,(5,4)):(5,(1,30))"},
      {"raked_product((2,5):(5,1), (3,4):(1,3))", "((3,2),(4,5)):((10,5),(30,1))"},
      {"swizzle(Sw<3,3,3>, (8,64):(64,1))", "Sw<3,3,3> o (8,64):(64,1)"},
      {"recast((8,64):(64,1), 16, 8)", "(8,128):(128,1)"},
      {"reshape((8,4):(1,8), (4,(2,4)))", "(4,(2,4)):(1,(4,8))"},
      {"slice((4,(2,4)):(2,(1,8)), (_,(1,_)))", "1 + (4,4):(2,8)"},
      {"max_common_vector((8,4):(1,8), (8,4):(1,16))", "8"},
      {"eval((M,N):(1,M), (2,3))", "2 + 3*M"},
      {"coordinate((4,(2,4)):(2,(1,8)), 13)", "(1,(1,1))"},
      {"image((2,2):(1@m,1@n))", "[0, 1@m, 1@n, 1@m + 1@n]"},
      {"size((M,4):(1,M))", "4*M"},
      {"cosize(3 + (4,2):(1,8))", "15"},
      {"injective((4,2):(1,3))", "false"},
      {"bijective(Sw<1,0,1> o 4:1)", "true"},
      {"same(coalesce((2,4):(1,2)), 8:1)", "true"},
      {"compact((4,(2,4)))", "(4,(2,4)):(1,(4,8))"},
      {"bits(Sw<1,0,1> o 1 + (2,4):(2,4))", "1 ^ [[3], [4, 8]]"},
      {"conversion((4,(2,2)):(1,(4,8)), (4,(2,2)):(1,(8,4)))", "registers"},
      {"ldmatrix((16,16):(16,1) o ((4,8),(2,2,2)):((32,1),(16,8,128)))", "plain"},
      {"banks(Sw<3,4,3> o 8:128, 16)", "1"},
  };
  std::set<std::string> met;
  for (const auto& [text, printed] : cases) {
    INFO(text);
    CHECK(outcome(text) == printed);
    met.insert(text.substr(0, text.find('(')));
  }
  for (const driver::LayoutFunction& function : driver::layout_functions())
    CHECK(met.count(std::string(function.name)));
  CHECK(met.size() == driver::layout_functions().size());
}

TEST_CASE("faults stand where they are", "[expression]") {
  CHECK(outcome("") == "0-0 expected a number, a name, `_` or `(`, and the text ends");
  CHECK(outcome("size(4:2") == "4-5 `(` is not closed");
  CHECK(outcome("size(4:2 3:1)") == "9-10 expected `,` or `)`, not `3`");
  CHECK(outcome("<4:1") == "0-1 `<` is not closed");
  CHECK(outcome("4:2 4:2") == "4-5 expected `o`, `+` or the end of the expression, not `4`");
  CHECK(outcome("size(nothing(4:2))") == "5-12 no function is called `nothing`");
  CHECK(outcome("size(4:1, 4:1)") == "0-14 `size(L)` is given 2 arguments");
  CHECK(outcome("size()") == "0-6 `size(L)` is given 0 arguments");
  CHECK(outcome("size(Sw<1,0,1>)") ==
        "5-14 argument 1 is a swizzle, and a layout is wanted: `Sw<1,0,1>`");
  CHECK(
      outcome("coalesce(1 + 4:1)") ==
      "9-16 argument 1 is a layout, and a layout without swizzle and offset is wanted: `1 + 4:1`");
  CHECK(outcome("coordinate(4:1, M)") ==
        "16-17 argument 2 is a number, and a number without symbols is wanted: `M`");
  CHECK(outcome("size(image(4:1))") ==
        "5-15 argument 1 is an answer, and a layout is wanted: `[0, 1, 2, 3]`");
  CHECK(outcome("size(compose(4:1, 3:2))") == "5-22 `3:2` of the right side reaches beyond the "
                                              "left side, or nothing shows that it does not");
  CHECK(outcome("4:1 + 1") ==
        "0-7 `+` adds numbers, or an offset on the left to a layout on the right");
  CHECK(outcome("compose((4,4):(1,4), (4,4):(1@m,1@n), m, m)") ==
        "41-42 argument 4 is a number, and another name, as this one stands twice is wanted: `m`");
}

TEST_CASE("deep, long and random texts", "[expression]") {
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += "size(";
  CHECK(outcome(deep + "4:1" + std::string(64, ')')) == "4");
  CHECK(outcome("size(" + deep + "4:1") == "320-321 calls nest deeper than 64 levels");
  CHECK(outcome(std::string(100'000, '<')) == "64-65 calls nest deeper than 64 levels");
  std::string sum = "1";
  for (int i = 0; i < 10'000; ++i) sum += " + 1";
  CHECK(outcome(sum) == "10001");
  std::string chain = "16:1";
  for (int i = 0; i < 2'000; ++i) chain += " o 16:1";
  CHECK(outcome(chain) == "16:1");

  const std::vector<std::string> words{"size(",       "compose(",    "eval(",
                                       "tile(",       "slice(",      "recast(",
                                       "bits(",       "banks(",      "image(",
                                       ")",           ")",           ",",
                                       ",",           "(",           "4",
                                       "16",          "M",           ":",
                                       ":",           "Sw<1,2,3>",   "Sw<",
                                       "<",           ">",           "_",
                                       " o ",         " + ",         "@",
                                       "m",           "*",           "4:1",
                                       "(4,8):(8,1)", "(M,N):(1,M)", "9223372036854775807",
                                       "-",           "\xff"};
  int answered = 0;
  for (int seed = 0; seed < 20'000; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    std::string text;
    for (int64_t i = random.in(1, 8); i > 0; --i) text += random.of(words);
    std::string result = outcome(text);
    if (result == "not one fault") FAIL(text);
    answered += result.find('-') == std::string::npos;
  }
  CHECK(answered > 500);
}

TEST_CASE("pictures of values", "[picture]") {
  CHECK(picture("(2,3):(3,1)") == "  | 0 1 2\n"
                                  "--+------\n"
                                  "0 | 0 1 2\n"
                                  "1 | 3 4 5\n");
  CHECK(picture("Sw<1,0,1> o (2,2):(2,1)") == "  | 0 1\n"
                                              "--+----\n"
                                              "0 | 0 1\n"
                                              "1 | 3 2\n");
  CHECK(picture("3:4") == "  | 0 1 2\n"
                          "--+------\n"
                          "0 | 0 4 8\n");
  CHECK(picture("(2,2,2):(1,2,4)").find("the layout has 3 modes") == 0);
  CHECK(picture("(M,2):(1,4)") == "size M has symbols");
  CHECK(picture("(1024,1024):(1,1024)").find("pictures end at 16384") != std::string::npos);
}

TEST_CASE("pictures of threads and values", "[picture]") {
  CHECK(picture("((2,2),2):((1@n,1@m),2@m)") == "m\\n |     0     1\n"
                                                "----+------------\n"
                                                "  0 | T0 V0 T1 V0\n"
                                                "  1 | T2 V0 T3 V0\n"
                                                "  2 | T0 V1 T1 V1\n"
                                                "  3 | T2 V1 T3 V1\n");
  // The contracted axis lies across; two holders are marked; what nobody holds is empty.
  CHECK(picture("((2,2),2):((2@k,0),1@m)") == "m\\k |       0       1       2\n"
                                              "----+------------------------\n"
                                              "  0 | T0 V0 +         T1 V0 +\n"
                                              "  1 | T0 V1 +         T1 V1 +\n");
  CHECK(picture("(4,2):(1@m,4@m)") ==
        "a picture of coordinates needs two axes, and the layout has 1");
  CHECK(picture("3 + (4,2):(1@m,1@n)") == "offset 3 counts along no axis of the layout");
  auto svg =
      driver::picture_svg(*driver::picture_of(layout::read_whole("(2,2):(1@m,1@n)")), "a < b");
  CHECK(svg.find("<title>a &lt; b</title>") != std::string::npos);
  CHECK(svg.find(">T1 V1</text>") != std::string::npos);
  CHECK(svg.substr(svg.size() - 7) == "</svg>\n");
}
