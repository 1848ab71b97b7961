// Values, coordinates, and what can be said of all values.
#include "support.h"
#include <set>

using namespace tang::layout;

TEST_CASE("values by index, by coordinate and as a list", "[evaluate]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 64);
        int64_t index = random.in(0, count_of(a) - 1);
        auto at = coordinate_of(a, index);
        if (!at) return at.refusal().reason;
        Sum wanted = value_at(a, index);
        auto by_coordinate = evaluate(a, *at), by_index = evaluate(a, Coordinate::leaf(index));
        if (!by_coordinate || !by_index || *by_coordinate != wanted || *by_index != wanted)
          return fmt::format("wrong at {}: {}", index, show(a));
        if (evaluate(a, Coordinate::leaf(count_of(a))) || coordinate_of(a, count_of(a)))
          return "an index beyond the end: " + show(a);
        return *image({{}, {}, a}) == values_of(a) ? "" : "wrong image: " + show(a);
      },
      100);
}

TEST_CASE("one number stands for a tuple", "[evaluate]") {
  Layout a = read("(3,(2,3)):(3,(12,1))");
  auto at = [](int64_t i) { return Coordinate::leaf(i); };
  CHECK(*evaluate(a, Coordinate::tuple({at(1), at(5)})) == Sum(17));
  CHECK(evaluate(a, Coordinate::tuple({at(1), at(6)})).refusal().reason ==
        "index 6 lies outside of its mode");
  CHECK(evaluate(a, Coordinate::tuple({at(1), at(-1)})).refusal().reason ==
        "index -1 lies outside of its mode");
  CHECK(evaluate(a, Coordinate::tuple({at(1)})).refusal().reason ==
        "the coordinate has another form than the layout");
  CHECK(evaluate(a, Coordinate::tuple({at(1), at(2), at(0)})).refusal().reason ==
        "the coordinate has another form than the layout");
  CHECK(evaluate(a, Coordinate::leaf(std::nullopt)).refusal().reason ==
        "a value needs a whole coordinate, without `_`");
}

TEST_CASE("values with symbols and bases", "[evaluate]") {
  auto at = Coordinate::tuple({Coordinate::leaf(2), Coordinate::leaf(3)});
  CHECK(to_text(*evaluate(read("(M,N):(1,M)"), at)) == "2 + 3*M");
  CHECK(to_text(*evaluate(read("(8,8):(1@m,2@n)"), at)) == "2@m + 6@n");
  CHECK(to_text(*evaluate(read("(8,N):(2,16)"), Coordinate::leaf(11))) == "22");
  CHECK(evaluate(read("(M,N):(1,M)"), Coordinate::leaf(11)).refusal().reason ==
        "which element of the tuple index 11 means depends on `M`");
  CHECK(evaluate(read_whole("Sw<1,0,1> o (M,N):(1,M)"), at).refusal().reason ==
        "a swizzle of 2 + 3*M depends on the symbols");
}

TEST_CASE("injective, bijective and the same, by looking at all values", "[properties]") {
  hold(
      [](Random& random) -> std::string {
        Swizzled a{{}, random.chance(30) ? random.in(0, 3) : 0, random_layout(random, 48)};
        if (random.chance(30)) a.swizzle = *make_swizzle(1, random.in(0, 3), 1);
        std::vector<int64_t> values = *image(a);
        auto injective = is_injective(a), bijective = is_bijective(a);
        if (!injective || *injective == has_repeats(values)) return "injective? " + to_text(a);
        std::sort(values.begin(), values.end());
        bool all = true;
        for (size_t i = 0; i < values.size(); ++i)
          all = all && values[i] == static_cast<int64_t>(i);
        return bijective && *bijective == all ? "" : "bijective? " + to_text(a);
      },
      100);
  hold(
      [](Random& random) -> std::string {
        Swizzled a{
            {}, random.chance(20) ? 1 : 0, random_layout(random, 16, Strides::mixed, {1, 2, 4})};
        Swizzled b{
            {}, random.chance(20) ? 1 : 0, random_layout(random, 16, Strides::mixed, {1, 2, 4})};
        if (random.chance(20)) b = a, b.layout = *coalesce(b.layout);
        if (random.chance(30)) a.swizzle = *make_swizzle(1, random.in(0, 3), 1);
        auto same = is_same(a, b);
        return same && *same == (*image(a) == *image(b))
                   ? ""
                   : "same? " + to_text(a) + "  " + to_text(b);
      },
      100);
}

TEST_CASE("what symbols decide, and what they keep open", "[properties]") {
  CHECK(*is_injective(read_whole("(M,N):(1,M)")));
  CHECK(*is_injective(read_whole("(4,M,N):(1@m,4@m,1@n)")));
  CHECK_FALSE(is_injective(read_whole("(4,M):(1,N)")));
  CHECK_FALSE(*is_injective(read_whole("(4,M):(0,1)")));
  CHECK(*is_bijective(read_whole("(M,N):(N,1)")));
  CHECK_FALSE(is_bijective(read_whole("(M,N):(2*N,1)")));
  CHECK(*is_same(read_whole("(M,N):(1,M)"), read_whole("M*N:1")));
  CHECK_FALSE(*is_same(read_whole("Sw<1,0,1> o 4:0"), read_whole("(2,2):(1@m,0)")));
  CHECK_FALSE(*is_same(read_whole("Sw<1,4,1> o 4:1"), read_whole("4:1@m")));
  CHECK(*is_same(read_whole("Sw<1,4,1> o 4:1"), read_whole("4:1")));
  CHECK(is_same(read_whole("(M,N):(1,M)"), read_whole("(M,N):(N,1)")).refusal().reason ==
        "whether the layouts are the same depends on the symbols");
}

TEST_CASE("size and cosize, within 64 bits", "[evaluate]") {
  hold(
      [](Random& random) -> std::string {
        Layout a = random_layout(random, 64);
        std::vector<int64_t> values = values_of(a);
        int64_t last = *std::max_element(values.begin(), values.end());
        return size(a)->is(count_of(a)) && *cosize(a) == Sum(last + 1) ? "" : "wrong: " + show(a);
      },
      100);
  CHECK(to_text(*cosize(read("(M,N):(1,M)"))) == "M*N");
  CHECK(to_text(*cosize(read("((4,8),(2,2)):((2@n,1@m),(1@n,8@m))"))) == "16@m + 8@n");
  CHECK(size(read("(4294967296,4294967296):(1,1)")).refusal().reason ==
        "4294967296 times 4294967296 leaves 64 bits");
  CHECK_FALSE(cosize(read("4294967296:4294967296")));
  CHECK_FALSE(image(read_whole("1073741824:1")));
}
