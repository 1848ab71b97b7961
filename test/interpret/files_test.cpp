#include "interpret/elements.h"
#include "interpret/files.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace tang;
using namespace tang::interpret;

namespace {

std::string npy(std::string_view dictionary, std::string_view data, char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  append_little_endian(bytes, dictionary.size(), version == 1 ? 2 : 4);
  return bytes.append(dictionary).append(data);
}

std::string words(std::initializer_list<uint64_t> values, int bytes) {
  std::string out;
  for (uint64_t v : values) append_little_endian(out, v, bytes);
  return out;
}

std::optional<Array> parse(const std::string& bytes) {
  Sink sink;
  auto array = parse_npy(bytes, "x.npy", sink);
  CHECK(sink.ok() == array.has_value());
  for (const Diagnostic& d : sink.diagnostics()) CHECK(d.message.find("`x.npy`, byte") == 0);
  return array;
}

std::string safetensors(std::string_view header, std::string_view data) {
  std::string bytes;
  append_little_endian(bytes, header.size(), 8);
  return bytes.append(header).append(data);
}

} // namespace

TEST_CASE("what is written as .npy reads back, in the format cli.md states") {
  struct Case {
    Array array;
    ElemType type;
    bool unrounded;
    std::string descr;
  };
  for (const Case& c :
       {Case{real_array({2, 3}, {1, -2.5, 0, 1e-3, INFINITY, 7}), ElemType::f16, false, "<f4"},
        Case{real_array({3}, {0.1, 0.2, 0.3}), ElemType::f64, false, "<f8"},
        Case{real_array({}, {0.1}), ElemType::bf16, true, "<f8"},
        Case{integer_array({0, 4}, {}), ElemType::i32, false, "<i8"},
        Case{integer_array({2}, {INT64_MIN, 5}), ElemType::i64, false, "<i8"}}) {
    std::string bytes = npy_bytes(c.array, c.type, c.unrounded);
    CHECK(bytes.find("'descr': '" + c.descr + "'") != std::string::npos);
    auto back = parse(bytes);
    REQUIRE(back);
    CHECK(back->shape == c.array.shape);
    CHECK(back->integers == c.array.integers);
    for (size_t i = 0; i < c.array.reals.size(); ++i) {
      double want = c.array.reals[i];
      if (c.descr == "<f4") want = static_cast<float>(want);
      CHECK(back->reals[i] == want);
    }
    CHECK((bytes.size() - static_cast<size_t>(c.array.size()) * (c.descr == "<f4" ? 4 : 8)) % 64 ==
          0);
  }
  CHECK(npy_bytes(integer_array({3}, {1, 2, 3}), ElemType::i32).find("(3,)") != std::string::npos);
}

TEST_CASE("booleans are written as bool") {
  Array b = zeros(Scalar::boolean, {3});
  b.integers = {1, 0, 1};
  auto back = parse(npy_bytes(b, ElemType::boolean));
  REQUIRE(back);
  CHECK(back->scalar == Scalar::boolean);
  CHECK(back->integers == b.integers);
}

TEST_CASE("every element type and both orders") {
  auto read = [](std::string descr, std::string data) {
    return parse(npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,), }", data));
  };
  CHECK(read("<f2", words({0x3c00, 0xfc00}, 2))->reals == std::vector<double>{1, -INFINITY});
  CHECK(read("<f4", words({0x3fc00000, 0}, 4))->reals == std::vector<double>{1.5, 0});
  CHECK(read("|i1", words({0xff, 0x7f}, 1))->integers == std::vector<int64_t>{-1, 127});
  CHECK(read("|u1", words({0xff, 0x7f}, 1))->integers == std::vector<int64_t>{255, 127});
  CHECK(read("<i2", words({0x8000, 1}, 2))->integers == std::vector<int64_t>{-32768, 1});
  CHECK(read("<u4", words({0xffffffff, 1}, 4))->integers == std::vector<int64_t>{4294967295, 1});
  CHECK(read("|b1", words({1, 0}, 1))->scalar == Scalar::boolean);
  CHECK_FALSE(read("<u8", words({UINT64_MAX, 0}, 8)));
  CHECK_FALSE(read(">f4", words({0, 0}, 4)));
  CHECK_FALSE(read("<c8", words({0, 0}, 8)));
  CHECK_FALSE(read("|V2", words({0, 0}, 2)));
  std::string fortran = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
  for (char version : {1, 2, 3}) {
    auto array = parse(npy(fortran, words({1, 4, 2, 5, 3, 6}, 4), version));
    REQUIRE(array);
    CHECK(array->integers == std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("hostile .npy files are errors with a place") {
  std::string good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", words({0, 0}, 4));
  REQUIRE(parse(good));
  // Every prefix, and every header byte changed.
  for (size_t n = 0; n < good.size(); ++n) CHECK_FALSE(parse(good.substr(0, n)));
  for (size_t n = 0; n < good.size() - 8; ++n)
    for (char c : {'\0', '(', '\'', '9', '\xff'}) {
      std::string bad = good;
      bad[n] = c;
      Sink sink;
      auto array = parse_npy(bad, "x.npy", sink);
      CHECK(array.has_value() == sink.ok());
    }
  for (std::string_view shape :
       {"(-1,)", "(99999999999999999999,)", "(4294967296, 4294967296, 4294967296)", "(3,)",
        "(9223372036854775807,)", "(1 2)", "3", "(", "('a',)"})
    CHECK_FALSE(
        parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }",
                  words({0, 0}, 4))));
  CHECK_FALSE(parse(npy("{'descr': '<f4', 'shape': (2,), }", words({0, 0}, 4))));
  CHECK_FALSE(parse(npy("{'evil': '<f4'}", "")));
  // An empty tensor with huge other extents holds nothing.
  CHECK(parse(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }", "")));
}

TEST_CASE("safetensors: every dtype, by name") {
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F8_E4M3","shape":[1,2],"data_offsets":[4,6]},)"
                       R"("c":{"dtype":"F8_E5M2","shape":[2],"data_offsets":[6,8]},)"
                       R"("d":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
                       R"("e":{"dtype":"BOOL","shape":[0],"data_offsets":[16,16]},)"
                       R"("f":{"dtype":"Q4","shape":[0],"data_offsets":[16,16]},)"
                       R"("g":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})";
  std::string data =
      words({0x3f80, 0xff80}, 2) + words({0x7e, 0x7f, 0x3c, 0x7c}, 1) + words({UINT64_MAX}, 8);
  Sink sink;
  auto file = Safetensors::parse(safetensors(header, data), "m.safetensors", sink);
  REQUIRE(file);
  CHECK(file->names() == std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"});
  CHECK(file->tensor("a", sink)->reals == std::vector<double>{1, -INFINITY});
  auto b = file->tensor("b", sink);
  CHECK(b->reals[0] == 448);
  CHECK(std::isnan(b->reals[1]));
  CHECK(file->tensor("c", sink)->reals == std::vector<double>{1, INFINITY});
  CHECK(file->tensor("d", sink)->integers == std::vector<int64_t>{-1});
  CHECK(file->tensor("e", sink)->size() == 0);
  CHECK(sink.ok());
  CHECK_FALSE(file->tensor("f", sink));
  CHECK_FALSE(file->tensor("g", sink));
  CHECK(sink.error_count() == 2);
}

TEST_CASE("hostile safetensors are errors") {
  auto rejects = [](const std::string& bytes) {
    Sink sink;
    auto file = Safetensors::parse(bytes, "m.safetensors", sink);
    return !file && sink.error_count() == 1 && sink.diagnostics()[0].kind == Kind::safetensors_file;
  };
  CHECK(rejects(""));
  CHECK(rejects("1234567"));
  CHECK(rejects(words({UINT64_MAX}, 8)));
  CHECK(rejects(safetensors("[]", "")));
  CHECK(rejects(safetensors("{", "")));
  CHECK(rejects(safetensors(std::string(200000, '['), "")));
  CHECK(rejects(safetensors(R"({"a":3})", "")));
  CHECK(rejects(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "123")));
  CHECK(rejects(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234")));
  CHECK(rejects(safetensors(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234")));
  CHECK(
      rejects(safetensors(R"({"a":{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}})", "1234")));
  CHECK(rejects(safetensors(R"({"a":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", "1234")));
}

TEST_CASE("a missing file is reported") {
  Sink sink;
  CHECK_FALSE(read_npy("/nonexistent/x.npy", sink));
  REQUIRE(sink.diagnostics().size() == 1);
  CHECK(sink.diagnostics()[0].kind == Kind::cannot_read);
}
