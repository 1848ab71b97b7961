#include "interpret/elements.h"
#include "interpret/files.h"
#include "interpret/formats.h"
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

TEST_CASE("what is written as safetensors: every byte") {
  Array flags = zeros(Scalar::boolean, {3});
  flags.integers = {1, 0, 1};
  Array b16 = real_array({2}, {1, -INFINITY}), wide = real_array({}, {0.1});
  NamedArray tensors[] = {
      {"f\"", ElemType::boolean, &flags}, {"h", ElemType::bf16, &b16}, {"d", ElemType::f64, &wide}};
  std::string header = R"({"d":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                       R"("h":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
                       R"("f\"":{"dtype":"BOOL","shape":[3],"data_offsets":[12,15]}})";
  std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(safetensors_bytes(tensors) == words({padded.size()}, 8) + padded +
                                          words({0x3fb999999999999a}, 8) +
                                          words({0x3f80, 0xff80}, 2) + words({1, 0, 1}, 1));
  CHECK(safetensors_bytes({}) == words({8}, 8) + "{}      ");
}

TEST_CASE("every type round-trips through safetensors") {
  const std::vector<double> reals{0, -0.0, 1, -2.5, 448, 1e-7, -1e30, INFINITY, NAN};
  const std::vector<int64_t> integers{0, 1, -1, 7, -8, 127, 255, INT64_MIN, INT64_MAX, 1 << 20};
  std::vector<Array> arrays;
  std::vector<ElemType> types;
  for (uint8_t t = 0; t <= static_cast<uint8_t>(ElemType::boolean); ++t) {
    auto type = static_cast<ElemType>(t);
    types.push_back(type);
    Scalar scalar = graph::scalar_of(type);
    Array array =
        scalar == Scalar::real ? real_array({3, 3}, reals) : integer_array({2, 5}, integers);
    array.scalar = scalar;
    for (double& x : array.reals) x = round_to(type, x);
    for (int64_t& x : array.integers) x = to_integer(type, x);
    arrays.push_back(std::move(array));
  }
  arrays.push_back(real_array({0, 4}, {}));
  types.push_back(ElemType::f32);
  std::vector<NamedArray> named;
  for (size_t i = 0; i < arrays.size(); ++i)
    named.push_back({fmt::format("t{}", i), types[i], &arrays[i]});
  for (bool unrounded : {false, true}) {
    std::string bytes = safetensors_bytes(named, unrounded);
    Sink sink;
    auto file = Safetensors::parse(bytes, "o.safetensors", sink);
    REQUIRE(file);
    CHECK(file->names().size() == named.size());
    for (const NamedArray& tensor : named) {
      INFO(graph::info(tensor.type).name);
      auto back = file->tensor(tensor.name, sink);
      REQUIRE(back);
      CHECK(back->scalar == tensor.array->scalar);
      CHECK(back->shape == tensor.array->shape);
      CHECK(back->integers == tensor.array->integers);
      REQUIRE(back->reals.size() == tensor.array->reals.size());
      for (size_t i = 0; i < back->reals.size(); ++i) {
        double want = tensor.array->reals[i], got = back->reals[i];
        CHECK(((std::isnan(want) && std::isnan(got)) ||
               (want == got && std::signbit(want) == std::signbit(got))));
      }
    }
    CHECK(sink.ok());
  }
  // What is unrounded keeps digits that the type lacks.
  Array third = real_array({1}, {1.0 / 3});
  NamedArray one{"x", ElemType::f8e4m3, &third};
  Sink sink;
  CHECK(
      Safetensors::parse(safetensors_bytes({&one, 1}, true), "", sink)->tensor("x", sink)->reals ==
      third.reals);
}
