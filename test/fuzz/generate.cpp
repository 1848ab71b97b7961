#include "generate.h"
#include "linear.h"
#include "terms.h"
#include <fmt/format.h>
#include <set>

namespace tang::fuzz {

namespace {

/// How long a chain that multiplies small matrices or counts up may get.
constexpr int64_t most_steps = 9;

class Generator {
public:
  explicit Generator(Choices& choices) : choices_(choices) {}

  Case run() {
    out_.data_seed = static_cast<uint64_t>(choices_.pick(0, 255));
    dims();
    monoids();
    for (int k = choices_.pick(2, 4); k > 0; --k) input();
    for (int k = choices_.pick(1, 6); k > 0; --k) equation();
    in_place();
    outputs();
    return std::move(out_);
  }

private:
  void say(std::string statement) { out_.statements.push_back(std::move(statement)); }
  int pick(int lo, int hi) { return choices_.pick(lo, hi); }

  void dims() {
    int fixed = pick(1, 6);
    say(fmt::format("dim A = {}", fixed));
    extents_.push_back({"A", fixed, fixed});
    for (const char* name : {"N", "S"}) {
      int lo = pick(0, 2), hi = lo + pick(0, 7), step = choices_.one_in(4) ? 2 : 1;
      int value = (lo + pick(0, hi - lo) + step - 1) / step * step;
      if (value > hi) hi = value;
      std::string range = choices_.one_in(6) ? "" : fmt::format(" in {}..{}", lo, hi);
      if (range.empty()) lo = 0, hi = static_cast<int>(most_steps), step = 1;
      say(fmt::format("dim {}{}{}", name, range, step > 1 ? " step 2" : ""));
      out_.dims[name] = value;
      extents_.push_back({name, (lo + step - 1) / step * step, hi});
    }
    if (choices_.one_in(3)) {
      say("dim D = 2 * A");
      extents_.push_back({"D", 2 * fixed, 2 * fixed});
    }
  }

  void monoids() {
    say("monoid pair(s = 0, m = -9) (a, b) -> (a.s + b.s, max(a.m, b.m))");
    say("monoid latest(h = 0, v = 0) (a, b) -> (max(a.h, b.h), where(b.h > 0, b.v, a.v))");
    say("monoid linear(A[i: 2, k: 2] = where(i == k, 1, 0), c[i: 2] = 0) (x, y) -> "
        "(sum[l] y.A[i, l] * x.A[l, k], sum[l] y.A[i, l] * x.c[l] + y.c[i])");
    say("def top[j](x) = max[j] x");
    say("def below[j](x) { let m = max[j] x; where(x == m, 0, 1) }");
  }

  std::string shape_text(const std::vector<Extent>& shape) {
    std::string text;
    for (const Extent& e : shape) text += (text.empty() ? "" : ", ") + e.text;
    return shape.empty() ? "" : "[" + text + "]";
  }

  std::vector<Extent> shape(int most) {
    std::vector<Extent> shape;
    for (int k = pick(0, most); k > 0; --k) shape.push_back(terms_.extent());
    return shape;
  }

  void input() {
    static const char* reals[] = {"f32", "f32", "f32", "f16", "bf16", "f64", "f8e4m3", "f8e5m2"};
    static const char* integers[] = {"i32", "i32", "i64", "i16", "i8", "u8", "i4", "u4", "u32"};
    Tensor tensor{fmt::format("x{}", inputs_++), Sort::real, shape(3), {4, false}};
    std::string type, range;
    int sort = pick(0, 6);
    if (sort < 4) {
      type = reals[pick(0, 7)];
    } else if (sort < 6) {
      tensor.sort = Sort::integer;
      type = integers[pick(0, 8)];
      if (choices_.one_in(3)) range = type[0] == 'u' ? " in 0..3" : " in -2..3";
    } else {
      tensor.sort = Sort::boolean;
      type = "bool";
    }
    std::string strides;
    if (tensor.shape.size() == 2 && type[1] != '4' && choices_.one_in(5))
      strides = choices_.one_in(2) ? fmt::format(":[1, {}]", tensor.shape[0].text)
                                   : fmt::format(":[{} + 3, 1]", tensor.shape[1].text);
    if (strides.empty() && range.empty() && sort < 4) in_place_types_[tensor.name] = type;
    say(fmt::format("{} {} : {}{}{}{}", choices_.one_in(4) ? "param" : "input", tensor.name, type,
                    shape_text(tensor.shape), strides, range));
    tensors_.push_back(std::move(tensor));
  }

  Indices points(int most) {
    Indices scope;
    for (int k = pick(0, most); k > 0; --k)
      scope.push_back({fmt::format("i{}", scope.size()), terms_.extent()});
    return scope;
  }

  static std::string head(const std::string& name, const Indices& points) {
    std::string text;
    for (const Index& p : points) text += (text.empty() ? "" : ", ") + Terms::binder(p);
    return points.empty() ? name : fmt::format("{}[{}]", name, text);
  }
  static std::vector<Extent> shape_of(const Indices& points) {
    std::vector<Extent> shape;
    for (const Index& p : points) shape.push_back(p.extent);
    return shape;
  }
  std::string fresh() { return fmt::format("t{}", defined_++); }
  void define(const std::string& name, Sort sort, const Indices& points, Size size) {
    tensors_.push_back({name, sort, shape_of(points), size});
    outputs_.insert(name);
  }

  void equation() {
    switch (pick(0, 12)) {
    case 0: return scan();
    case 1: return topk();
    case 2: return user_monoid();
    case 3: return matrix_scan();
    case 4: return repeat();
    case 5: return recur();
    case 6: return macro();
    case 7: return linear_states();
    default: return map();
    }
  }

  void map() {
    Indices scope = points(3);
    std::string name = fresh();
    int sort = pick(0, 6);
    if (sort == 0) {
      say(fmt::format("{} = {}", head(name, scope), terms_.condition(scope, 2)));
      return define(name, Sort::boolean, scope, {1, false});
    }
    bool real = sort < 5;
    Term term = real ? terms_.real(scope, pick(1, 3)) : terms_.integer(scope, pick(1, 3));
    say(fmt::format("{} = {}", head(name, scope), term.text));
    define(name, real ? Sort::real : Sort::integer, scope, term.size);
    if (real && !term.size.wild && term.size.bound <= 200 && choices_.one_in(3))
      say(fmt::format("store {} : {}", name, choices_.one_in(2) ? "bf16" : "f16"));
  }

  /// Points, and one more index that a scan or a selection runs over.
  Indices with_row() {
    Indices scope = points(2);
    scope.push_back({"e", terms_.extent()});
    return scope;
  }

  void scan() {
    Indices scope = with_row();
    std::string name = fresh();
    bool real = choices_.one_in(2), exclusive = choices_.one_in(3);
    Term body = real ? terms_.real(scope, 1) : terms_.integer(scope, 1);
    int op = pick(0, 2);
    Size size{body.size.bound, body.size.wild || exclusive};
    if (op == 0) {
      body = Terms::at_most(body, 10000);
      size = {body.size.bound * std::max<int64_t>(scope.back().extent.hi, 1), false};
    }
    const char* ops[] = {"sum", "max", "min"};
    say(fmt::format("{} = scan {}[e{}{}] ({})", head(name, scope), ops[op],
                    exclusive ? " exclusive" : "", choices_.one_in(3) ? " desc" : "", body.text));
    define(name, real ? Sort::real : Sort::integer, scope, size);
  }

  void topk() {
    Indices scope = points(2), inner = scope;
    inner.push_back({"e", terms_.extent()});
    std::string value = fresh(), id = fresh();
    int k = pick(1, 3);
    Term body = terms_.real(inner, 1);
    std::string where = terms_.filter(inner);
    Indices result = scope;
    result.push_back({"n", {std::to_string(k), k, k}});
    auto head_of = [&](const std::string& name) {
      std::string text;
      for (const Index& p : scope) text += Terms::binder(p) + ", ";
      return fmt::format("{}[{}n]", name, text);
    };
    say(fmt::format("({}, {}) = topk[e: {}{}; {}] ({})", head_of(value), head_of(id),
                    inner.back().extent.text, where, k, body.text));
    define(value, Sort::real, result, {body.size.bound, true});
    define(id, Sort::integer, result, {std::max<int64_t>(inner.back().extent.hi, 1), false});
  }

  void user_monoid() {
    Indices scope = points(2), inner = scope;
    inner.push_back({"e", terms_.extent()});
    bool scans = choices_.one_in(2);
    std::string first = fresh(), second = fresh();
    int which = pick(0, 2);
    Term a, b = Terms::at_most(terms_.real(inner, 1), 9);
    int64_t steps = std::max<int64_t>(inner.back().extent.hi, 1);
    Size sizes[2] = {{1, false}, {9, false}};
    if (which == 0) {
      a = Terms::at_most(terms_.real(inner, 1), 10000);
      sizes[0].bound = a.size.bound * steps;
    } else if (which == 1) {
      a = {fmt::format("where({}, 1.0, 0.0)", terms_.condition(inner, 1)), {1, false}};
    } else {
      a = Terms::clamped(terms_.real(inner, 1), 1);
      sizes[1].bound = 9 * steps;
    }
    const char* names[] = {"pair", "latest", "affine"};
    const Indices& result = scans ? inner : scope;
    std::string operands = fmt::format("({}, {})", a.text, b.text);
    if (scans)
      say(fmt::format("({}, {}) = scan {}[e{}{}]{}", head(first, result), head(second, result),
                      names[which], choices_.one_in(3) ? " exclusive" : "",
                      choices_.one_in(3) ? " desc" : "", operands));
    else
      say(fmt::format("({}, {}) = {}[{}{}]{}", head(first, result), head(second, result),
                      names[which], Terms::binder(inner.back()), terms_.filter(inner), operands));
    define(first, Sort::real, result, sizes[0]);
    define(second, Sort::real, result, sizes[1]);
  }

  void matrix_scan() {
    Indices scope = with_row();
    if (scope.back().extent.hi > most_steps) return map();
    std::string matrix = fresh(), vector = fresh();
    Extent two{"2", 2, 2};
    Indices wide = scope, narrow = scope;
    wide.push_back({"i", two}), wide.push_back({"k", two});
    narrow.push_back({"i", two});
    Term P = Terms::clamped(terms_.real(wide, 1), 1), u = Terms::at_most(terms_.real(narrow, 1), 9);
    // The indices of the fields follow those of the equation, on both sides.
    say(fmt::format("{} = {}", head(matrix + "_in", wide), P.text));
    say(fmt::format("{} = {}", head(vector + "_in", narrow), u.text));
    std::string places;
    for (const Index& p : scope) places += (places.empty() ? "" : ", ") + p.name;
    say(fmt::format("({0}[{2}, i, k], {1}[{2}, i]) = scan linear[e{3}]({0}_in[{2}, i, k], "
                    "{1}_in[{2}, i])",
                    matrix, vector, places, choices_.one_in(3) ? " desc" : ""));
    define(matrix, Sort::real, wide, {1 << most_steps, false});
    define(vector, Sort::real, narrow, {20 << most_steps, false});
  }

  void macro() {
    Indices scope = with_row();
    std::string name = fresh();
    Term body = terms_.real(scope, 1);
    // The macro's operand mentions its index, as one that keeps its index must.
    body.text = fmt::format("where(e >= 0, {}, 0.0)", body.text);
    std::string where = terms_.filter(scope);
    say(fmt::format("{} = below[e{}]({})", head(name, scope), where, body.text));
    define(name, Sort::real, scope, {1, false});
    Indices rest(scope.begin(), scope.end() - 1);
    std::string best = fresh();
    say(fmt::format("{} = top[{}{}]({})", head(best, rest), Terms::binder(scope.back()), where,
                    body.text));
    define(best, Sort::real, rest, {body.size.bound, true});
  }

  void repeat() {
    Indices scope = points(2);
    std::string name = fresh(), inner = fresh();
    say(fmt::format("{} = {}", head(name, scope), Terms::clamped(terms_.real(scope, 1), 4).text));
    define(name, Sort::real, scope, {4, false});
    Indices with_inner = points(2);
    Term first = terms_.real(with_inner, 1);
    size_t before = tensors_.size();
    tensors_.push_back({inner, Sort::real, shape_of(with_inner), first.size});
    Term step = Terms::clamped(terms_.real(scope, 2), 4);
    tensors_.resize(before);
    say(fmt::format("repeat l in 0..<{} carry {} {{\n  {} = {}\n  {} = {}\n}}", pick(0, 3), name,
                    head(inner, with_inner), first.text, head(name, scope), step.text));
  }

  void recur() {
    Indices scope = points(2);
    std::string start = fresh(), name = fresh(), all = fresh();
    say(fmt::format("{} = {}", head(start, scope), Terms::clamped(terms_.real(scope, 1), 4).text));
    define(start, Sort::real, scope, {4, false});
    Index time{"t", terms_.extent()};
    size_t before = tensors_.size();
    tensors_.push_back({name, Sort::real, shape_of(scope), {4, false}});
    Indices inner = scope;
    inner.push_back(time);
    Term step = Terms::clamped(terms_.real(inner, 2), 4);
    tensors_.resize(before);
    say(fmt::format("recur t: {} carry {} = {} {{\n  {} = {}\n}} collect {} = {}", time.extent.text,
                    name, start, head(name, scope), step.text, all, name));
    define(name, Sort::real, scope, {4, false});
    Indices stacked{time};
    stacked.insert(stacked.end(), scope.begin(), scope.end());
    define(all, Sort::real, stacked, {4, false});
  }

  /// A sequence whose declared sizes make its laws worthwhile, though it is short.
  void linear_states() {
    bool corrected = choices_.one_in(3);
    static constexpr int lengths[] = {0, 1, 2, 3, 17, 63, 64, 65};
    int length = corrected ? pick(0, 5) : lengths[pick(0, 7)];
    std::string name = fresh();
    auto size = [&](const char* part, const char* range, int value) {
      std::string dim = name + "_" + part;
      say(fmt::format("dim {} in {}", dim, range));
      out_.dims[dim] = value;
      return Extent{dim, value > 0 ? 1 : 0, value};
    };
    Extent time = size("T", "0..100000", length);
    time.lo = 0;
    Extent rows = size("P", "1..4096", pick(1, 3)), columns = size("N", "1..4096", pick(1, 2));
    Linear linear = fuzz::linear(choices_, terms_, name, time, rows, columns, corrected);
    for (std::string& statement : linear.statements) say(std::move(statement));
    for (Tensor& tensor : linear.defined) {
      outputs_.insert(tensor.name);
      tensors_.push_back(std::move(tensor));
    }
  }

  /// Perhaps one output in place of an input: a scattered write into it.
  void in_place() {
    if (!choices_.one_in(3)) return;
    for (size_t k = 0; k < tensors_.size(); ++k) {
      Tensor tensor = tensors_[k];
      auto type = in_place_types_.find(tensor.name);
      if (type == in_place_types_.end() || tensor.shape.empty()) continue;
      Indices scope;
      std::string places;
      for (const Extent& e : tensor.shape) {
        scope.push_back({fmt::format("i{}", scope.size()), e});
        places += (places.empty() ? "" : ", ") + scope.back().name;
      }
      std::string name = fresh();
      Term value = Terms::at_most(terms_.real(scope, 1), 4);
      say(fmt::format("{} = where({}, {}, {}[{}])", head(name, scope), terms_.condition(scope, 1),
                      value.text, tensor.name, places));
      say(fmt::format("output {} : {}{} over {}", name, type->second, shape_text(tensor.shape),
                      tensor.name));
      return;
    }
  }

  void outputs() {
    bool any = false;
    for (const Tensor& tensor : tensors_) {
      if (!outputs_.contains(tensor.name) || (any && choices_.one_in(3))) continue;
      any = true;
      std::string type = "bool";
      bool small = !tensor.size.wild && tensor.size.bound <= 2000;
      if (tensor.sort == Sort::real)
        type = choices_.one_in(5) ? "f64" : small && choices_.one_in(4) ? "f16" : "f32";
      if (tensor.sort == Sort::integer)
        type = choices_.one_in(4) ? "i64" : choices_.one_in(6) ? "i8" : "i32";
      say(fmt::format("output {} : {}{}", tensor.name, type, shape_text(tensor.shape)));
    }
  }

  Choices& choices_;
  Case out_;
  std::vector<Extent> extents_;
  std::vector<Tensor> tensors_;
  Terms terms_{choices_, extents_, tensors_};
  std::set<std::string> outputs_;
  std::map<std::string, std::string> in_place_types_;
  int inputs_ = 0, defined_ = 0;
};

} // namespace

std::string Case::text() const {
  std::string text = "tg 1\ngraph fuzz\n";
  for (const auto& [name, value] : dims) text += fmt::format("# {} = {}\n", name, value);
  text += fmt::format("# data {}\n", data_seed);
  for (const std::string& statement : statements) text += statement + "\n";
  return text;
}

Case generate(Choices& choices) {
  return Generator(choices).run();
}

} // namespace tang::fuzz
