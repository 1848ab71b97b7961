#include "base/interner.h"
#include <catch2/catch.hpp>
#include <string>

using namespace tang;

namespace {

struct Tag {};
using Names = Interner<std::string, Id<Tag>, std::hash<std::string>>;

} // namespace

TEST_CASE("equal values have equal ids", "[interner]") {
  Names names;
  Id<Tag> a = names.intern("a"), b = names.intern("b");
  CHECK(a != b);
  CHECK(names.intern("a") == a);
  CHECK(names.size() == 2);
}

TEST_CASE("references stay good while values are added", "[interner]") {
  Names names;
  std::vector<const std::string*> places;
  for (int i = 0; i < 2000; ++i) {
    places.push_back(&names[names.intern("a name of some length " + std::to_string(i))]);
    // A value that is there already is taken back, at the edges of blocks too.
    names.intern("a name of some length " + std::to_string(i / 2));
  }
  REQUIRE(names.size() == 2000);
  for (int i = 0; i < 2000; ++i) {
    CHECK(*places[i] == "a name of some length " + std::to_string(i));
    CHECK(places[i] == &names[Id<Tag>(static_cast<uint32_t>(i))]);
  }
}

TEST_CASE("a copy is a store of its own", "[interner]") {
  Names names;
  for (int i = 0; i < 700; ++i) names.intern(std::to_string(i));
  Names copy = names;
  copy.intern("more");
  names.intern("else");
  CHECK(names.size() == 701);
  CHECK(copy.size() == 701);
  CHECK(copy[Id<Tag>(700)] == "more");
  CHECK(names[Id<Tag>(700)] == "else");
  CHECK(copy.intern("699") == Id<Tag>(699));
  Names moved = std::move(copy);
  CHECK(moved.intern("699") == Id<Tag>(699));
}
