// Layouts as text: what is written reads back in, and nothing that is read does harm.
#include "support.h"

using namespace tang::layout;

namespace {

Monomial random_size(Random& random, bool zero) {
  Monomial m = Monomial::constant(random.of<int64_t>({1, 2, 7, 128, INT64_MAX}));
  if (zero && random.chance(20)) return Monomial{0, {}};
  for (const char* symbol : {"M", "N", "block_m"})
    if (random.chance(15)) m.symbols.emplace_back(symbol);
  return m;
}

Swizzled random_text(Random& random) {
  Swizzled out;
  auto leaves = static_cast<size_t>(random.in(1, 6));
  out.layout.form = random_form(random, leaves);
  bool coordinates = random.chance(30);
  auto stride = [&] {
    Stride s{random_size(random, true), ""};
    if (coordinates && !s.is_zero()) s.basis = random.of<std::string>({"m", "n", "0", "12"});
    return s;
  };
  for (size_t i = 0; i < leaves; ++i)
    out.layout.leaves.push_back({random_size(random, false), stride()});
  if (random.chance(30)) static_cast<void>(out.offset.add(stride()));
  if (random.chance(30)) static_cast<void>(out.offset.add(stride()));
  if (!coordinates && random.chance(30))
    out.swizzle = *make_swizzle(2, random.in(0, 9), random.chance(50) ? 3 : -2);
  return out;
}

/// The fault of a text that has one.
TextFault fault_of(std::string_view text) {
  auto result = read_layout(text);
  if (!std::holds_alternative<TextFault>(result)) FAIL("no fault in " << text);
  return std::get<TextFault>(result);
}

std::string message_of(std::string_view text) {
  TextFault fault = fault_of(text);
  return fmt::format("{}-{} {}", fault.begin, fault.end, fault.message);
}

} // namespace

TEST_CASE("layouts read back as they are written", "[text]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a = random_text(random);
        std::string text = to_text(a);
        auto again = read_layout(text);
        if (const auto* fault = std::get_if<TextFault>(&again)) return text + ": " + fault->message;
        return std::get<Swizzled>(again) == a ? "" : "not the same: " + text;
      },
      100);
}

TEST_CASE("the forms of the language", "[text]") {
  for (const char* text :
       {"4:2", "(4):(2)", "(4,(2,4)):(2,(1,8))", "(M,N):(1,M)", "4*M*N:3*M", "(8,4):(1@m,2@n)",
        "((4,8),(2,2)):((2@k,1@m),(1@k,8@m))", "(128,8):(1@0,16@1)", "Sw<3,4,3> o (8,64):(64,1)",
        "Sw<3,4,-3> o 16 + (8,64):(64,1)", "2@m + 3@n + (8,4):(1@m,2@n)", "2 + 3*M + M:1"})
    CHECK(to_text(read_whole(text)) == text);
  CHECK(to_text(read_whole(" ( 4 , ( 2,4 ) )\t: ( 2 , (1,\n8) ) ")) == "(4,(2,4)):(2,(1,8))");
  CHECK(to_text(read_whole("M*4*M:0@m")) == "4*M*M:0");
  CHECK(to_text(read_whole("1 + 2 + 4:1")) == "3 + 4:1");
}

TEST_CASE("faults say what is wrong, and where", "[text]") {
  CHECK(message_of("") == "0-0 expected a number, a name, `_` or `(`, and the text ends");
  CHECK(message_of("(4,2") == "0-1 `(` is not closed");
  CHECK(message_of("(4,2)") == "5-5 expected `:` and the strides, and the text ends");
  CHECK(message_of("(4 2):(1,4)") == "3-4 expected `,` or `)`, not `2`");
  CHECK(message_of("(4,2):(1,(2,2))") == "6-15 the strides have another form than the shape");
  CHECK(message_of("(4,2):1") == "6-7 the strides have another form than the shape");
  CHECK(message_of("(4,0):(1,4)") == "0-5 a size is at least 1");
  CHECK(message_of("(4,_):(1,4)") == "0-5 `_` is no size");
  CHECK(message_of("(4,2@m):(1,4)") == "0-7 a size has no basis");
  CHECK(message_of("(4,2):(1,_)") == "6-11 `_` is no stride");
  CHECK(message_of("4:-1") == "2-3 sizes and strides have no sign");
  CHECK(message_of("4:1@") ==
        "4-4 expected the name or number of a basis vector, and the text ends");
  CHECK(message_of("4:1 x") == "4-5 expected the end of the layout, not `x`");
  CHECK(message_of("()") == "1-2 expected a number, a name, `_` or `(`, not `)`");
  CHECK(message_of("(4,):(1)") == "3-4 expected a number, a name, `_` or `(`, not `)`");
  CHECK(message_of("Sw<3,4> o 4:1") == "6-7 expected `,`, not `>`");
  CHECK(message_of("Sw<3,4,2> o 4:1") ==
        "0-9 the two fields of 3 bits overlap: they are only 2 apart");
  CHECK(message_of("Sw<3,4,3> 4:1") == "10-11 expected `o` and a layout, not `4`");
  CHECK(message_of("(1,2) + 4:1") == "0-5 an offset is a number or a sum of strides");
  CHECK(message_of("Sw<1,0,1> o 4:1@m") == "0-17 a swizzle permutes addresses, not coordinates");
  CHECK(message_of("Sw<1,0,1> o 1@m + 4:1") ==
        "0-21 a swizzle permutes addresses, not coordinates");
  CHECK(message_of("\xc3\xa9") == "0-2 expected a number, a name, `_` or `(`, not `\xc3\xa9`");
  CHECK(message_of(std::string_view("4:1\0", 4)) == "3-4 a NUL byte is no part of a layout");
}

TEST_CASE("numbers and tuples without end", "[text]") {
  CHECK(message_of("99999999999999999999:1") == "0-20 a number beyond 9223372036854775807");
  CHECK(message_of("9223372036854775807*2:1") ==
        "20-21 9223372036854775807 times 2 leaves 64 bits");
  CHECK(message_of("9223372036854775807 + 1 + 4:1") == "22-23 the offset leaves 64 bits");
  CHECK(message_of("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a:1").find("more than 16 symbols") !=
        std::string::npos);
  std::string deep(64, '('), closed(64, ')');
  CHECK(to_text(read_whole(deep + "4" + closed + ":" + deep + "1" + closed)).size() == 259);
  CHECK(message_of("(" + deep + "4") == "64-65 tuples nest deeper than 64 levels");
  CHECK(message_of(std::string(1'000'000, '(')) == "64-65 tuples nest deeper than 64 levels");
  // A wide tuple is read and used in linear time.
  std::string sizes = "(1", strides = "(0";
  for (int i = 0; i < 100'000; ++i) sizes += ",1", strides += ",0";
  Layout wide = read(sizes + "):" + strides + ")");
  CHECK(to_text(*coalesce(wide)) == "1:0");
  CHECK(to_text(*complement(wide, Monomial::constant(4))) == "4:1");
  CHECK(to_text(*right_inverse(wide)) == "1:0");
  CHECK(count_of(*compose(read("4:1"), wide)) == 1);
}

TEST_CASE("any bytes: a layout, or a fault inside of the text", "[text]") {
  const std::string alphabet = "0123456789()(),:*@_+MNmk SwSw<>o-\n\"\xff";
  int readable = 0;
  for (int seed = 0; seed < 30000; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    std::string text = seed % 2 ? to_text(random_text(random)) : "";
    for (int64_t i = random.in(0, seed % 2 ? 3 : 12); i > 0; --i) {
      auto place = static_cast<size_t>(random.in(0, static_cast<int64_t>(text.size())));
      if (random.chance(40) && place < text.size())
        text.erase(place, 1);
      else
        text.insert(
            place, 1,
            alphabet[static_cast<size_t>(random.in(0, static_cast<int64_t>(alphabet.size()) - 1))]);
    }
    auto result = read_layout(text);
    if (const auto* fault = std::get_if<TextFault>(&result)) {
      if (fault->begin <= fault->end && fault->end <= text.size() && !fault->message.empty())
        continue;
      FAIL("a fault outside of the text: " << text);
    }
    ++readable;
    auto again = read_layout(to_text(std::get<Swizzled>(result)));
    if (!std::holds_alternative<Swizzled>(again) ||
        std::get<Swizzled>(again) != std::get<Swizzled>(result))
      FAIL("does not read back: " << text);
  }
  CHECK(readable > 5000);
}

TEST_CASE("operations on large numbers are exact or refused", "[overflow]") {
  // Sizes and strides near the ends of 64 bits: no answer may be wrong, so the sampled values agree
  // with arithmetic in 128 bits.
  auto wide_value = [](const Layout& layout, int64_t index) {
    __int128 value = 0;
    for (const Mode& mode : layout.leaves) {
      value += static_cast<__int128>(index % mode.size.factor) * mode.stride.amount.factor;
      index /= mode.size.factor;
    }
    return value;
  };
  auto random_large = [](Random& random) {
    Layout out{"", {}};
    auto leaves = static_cast<size_t>(random.in(1, 3));
    auto number = [&] {
      return Monomial::constant(
          std::max<int64_t>(1, (int64_t{1} << random.in(0, 62)) - random.in(0, 1)));
    };
    for (size_t i = 0; i < leaves; ++i) out.leaves.push_back({number(), {number(), ""}});
    out.form = random_form(random, leaves);
    return out;
  };
  hold(
      [&](Random& random) -> std::string {
        Layout a = random_large(random), b = random_large(random);
        auto count = size(b);
        for (const auto& r :
             {coalesce(a), complement(a, b.leaves[0].size), right_inverse(a), left_inverse(a),
              logical_divide(a, b), logical_product(a, b), recast(a, 8, 16), recast(a, 16, 8)})
          if (r)
            for (const Mode& mode : r->leaves)
              if (mode.size.factor < 1 || mode.stride.amount.factor < 0)
                return "wrapped: " + show(a, b, *r);
        auto r = compose(a, b);
        if (!r || !count) return refused;
        for (int sample = 0; sample < 8; ++sample) {
          int64_t index = random.in(0, count->factor - 1);
          __int128 inner = wide_value(b, index);
          if (inner > INT64_MAX ||
              wide_value(*r, index) != wide_value(a, static_cast<int64_t>(inner)))
            return "wrong: " + show(a, b, *r);
        }
        return "";
      },
      2);
}
