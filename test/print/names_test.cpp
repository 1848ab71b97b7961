#include "print/dialects/keywords.h"
#include "print/names.h"
#include <catch2/catch.hpp>

using namespace tang::print;

TEST_CASE("names avoid keywords and stay apart", "[print][names]") {
  NameScope scope(c_reserved);
  CHECK(scope.add("x") == "x");
  CHECK(scope.add("x") == "x_1");
  CHECK(scope.add("x_1") == "x_1_1");
  CHECK(scope.add("new") == "new_");
  CHECK(scope.add("new_") == "new_1");
  CHECK(scope.add("main") == "main_");
  CHECK(scope.add("I") == "I_");
  CHECK(scope.add("EOF") == "EOF_");
  CHECK(scope.add("__x") == "__x_");
  CHECK(scope.add("_X") == "_X_");
  CHECK(scope.add("_X") == "_X_1");
  CHECK(scope.add("a.b") == "a_b");
  CHECK(scope.add("a_b") == "a_b_1");
  CHECK(scope.add("7z") == "_7z");
  CHECK(scope.add("") == "_");
  CHECK(scope.add("tg_max_f32") == "tg_max_f32_");
  CHECK(scope.changed().size() == 15);
}

TEST_CASE("a name is free again after its scope", "[print][names]") {
  NameScope scope(c_reserved);
  scope.push();
  CHECK(scope.add("i") == "i");
  scope.push();
  CHECK(scope.add("i") == "i_1");
  scope.pop();
  scope.pop();
  CHECK(scope.add("i") == "i");
}

TEST_CASE("text of the input cannot leave its comment", "[print][names]") {
  CHECK(comment_text("a */ b // c \\") == "a * / b // c <5c>");
  CHECK(comment_text("/*/") == "/ * /");
  CHECK(comment_text("one\ntwo\r") == "one<0a>two<0d>");
  CHECK(comment_text("what?"
                     "?/") == "what? ?/");
  CHECK(comment_text("???") == "? ? ?");
  CHECK(comment_text("\xc3\xa9") == "<c3><a9>");
  CHECK(string_text("a\"b\\\n?") == "a\\042b\\134\\012\\077");
}
