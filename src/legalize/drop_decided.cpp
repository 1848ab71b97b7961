// Conditions that ranges decided: a guard that always holds goes, one that never does takes its
// statement along, and a decided branch is replaced by the part that runs.
#include "base/check.h"
#include "legalize/passes.h"

namespace tang::legalize {

using namespace kernel;

namespace {

class Dropper {
public:
  explicit Dropper(ValueStore& values) : values_(values) {}

  Body body(Body statements) {
    Body kept;
    for (Stmt& stmt : statements) std::visit([&](auto& s) { keep(s, kept); }, stmt.node);
    return kept;
  }

private:
  /// Empties a guard that always holds; false when it never does.
  bool possible(ValueId& predicate) const {
    auto decided = predicate ? values_.as_boolean(predicate) : std::optional(true);
    if (decided == true) predicate = {};
    return decided != false;
  }

  void keep(For& s, Body& kept) {
    s.body = body(std::move(s.body));
    if (!s.body.empty()) kept.push_back({std::move(s)});
  }
  void keep(If& s, Body& kept) {
    s.then = body(std::move(s.then));
    s.otherwise = body(std::move(s.otherwise));
    auto decided = values_.as_boolean(s.condition);
    if (!decided) {
      if (!s.then.empty() || !s.otherwise.empty()) kept.push_back({std::move(s)});
      return;
    }
    Body& taken = *decided ? s.then : s.otherwise;
    kept.insert(kept.end(), std::make_move_iterator(taken.begin()),
                std::make_move_iterator(taken.end()));
  }
  void keep(Load& s, Body& kept) {
    if (possible(s.predicate)) {
      if (!s.predicate) s.otherwise = {};
      kept.push_back({std::move(s)});
    } else {
      kept.push_back({Let{s.var, values_.convert(values_[s.var].type, s.otherwise)}});
    }
  }
  void keep(Store& s, Body& kept) {
    if (possible(s.predicate)) kept.push_back({std::move(s)});
  }
  void keep(Copy& s, Body& kept) {
    if (possible(s.predicate)) kept.push_back({std::move(s)});
  }
  void keep(Spec& s, Body& kept) {
    s.body = body(std::move(s.body));
    if (!s.body.empty()) kept.push_back({std::move(s)});
  }
  void keep(Let& s, Body& kept) { kept.push_back({s}); }
  void keep(Delinearize& s, Body& kept) { kept.push_back({std::move(s)}); }
  void keep(Allocate& s, Body& kept) { kept.push_back({s}); }
  void keep(Shfl& s, Body& kept) { kept.push_back({s}); }
  void keep(Barrier& s, Body& kept) { kept.push_back({s}); }
  /// One whose guard never holds still writes zeros.
  void keep(Atom& s, Body& kept) {
    possible(s.predicate);
    kept.push_back({std::move(s)});
  }

  ValueStore& values_;
};

} // namespace

void drop_decided(Program& program, const Capabilities&, const Options&) {
  for (Kernel& kernel : program.kernels)
    kernel.body = Dropper(kernel.values).body(std::move(kernel.body));
}

} // namespace tang::legalize
