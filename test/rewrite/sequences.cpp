#include "sequences.h"
#include <fmt/format.h>
#include <random>

namespace tang::rewrite::test {

namespace {

class Generator {
public:
  static constexpr uint32_t forms = 9;
  explicit Generator(uint32_t seed) : random_(seed) {}

  Sequence run(uint32_t form) {
    // Batches and heads that a state has, none of them, or both.
    const char* leads[] = {"", "h, ", "b, h, "};
    lead_ = leads[pick(0, 2)];
    struct Form {
      const char *name, *law;
      std::string (Generator::*make)();
    };
    static constexpr Form all[forms] = {
        {"elementwise", "scan_recurrences", &Generator::elementwise},
        {"contracted recurrence", "chunk_scans", &Generator::contracted_recurrence},
        {"contracted scan", "chunk_scans", &Generator::contracted_scan},
        {"scan", "", &Generator::scan},
        {"ends of scans", "reduce_scans", &Generator::ends},
        {"delta rule", "solve_feedback", &Generator::delta},
        {"near delta rule", "", &Generator::near_delta},
        {"counters", "scan_recurrences", &Generator::counters},
        {"sequential", "", &Generator::sequential}};
    out_.form = all[form].name, out_.law = all[form].law;
    const std::string body = (this->*all[form].make)();
    const std::string range = one_of({"0..100000", "0..100000", "1..100000", "0..200"});
    out_.least = range[0] - '0';
    out_.text = "tg 1\ngraph sequence\ndim T in " + range +
                ", B in 1..8, H in 1..8, P in 1..4096, N in 1..4096\n" + declarations(body) + body;
    out_.widths = {pick(1, 2), pick(1, 2), pick(1, 3), pick(1, 3)};
    return std::move(out_);
  }

private:
  int pick(int lo, int hi) {
    return lo + static_cast<int>(random_() % static_cast<uint32_t>(hi - lo + 1));
  }
  bool one_in(int n) { return pick(1, n) == 1; }
  std::string one_of(const std::vector<std::string>& texts) {
    return texts[static_cast<size_t>(pick(0, static_cast<int>(texts.size()) - 1))];
  }

  /// Declares what the body mentions.
  static std::string declarations(const std::string& body) {
    static constexpr const char* all[][2] = {{"x", "f64[T, B, H, P]"},
                                             {"w", "f64[T, B, H, P, N]"},
                                             {"a", "f64[T, B, H]"},
                                             {"g", "f64[T, H]"},
                                             {"bm", "f64[T, B, H, N]"},
                                             {"cm", "f64[T, B, H, N]"},
                                             {"em", "f64[T, N]"},
                                             {"qm", "f64[T, B, H, N]"},
                                             {"dm", "f64[T, P]"},
                                             {"s0", "f64[B, H, P, N]"},
                                             {"m", "f64[N, N]"},
                                             {"on", "i32[T] in 0..1"},
                                             {"to", "i32[T, B, H] in 0..2"}};
    std::string text;
    for (const auto& [name, type] : all) {
      std::string use = std::string(name) + "[";
      for (size_t at = body.find(use); at != std::string::npos; at = body.find(use, at + 1))
        if (at == 0 || !(std::isalnum(static_cast<unsigned char>(body[at - 1])) != 0)) {
          text += fmt::format("input {} : {}\n", name, type);
          break;
        }
    }
    return text;
  }

  // ---- places: what has batches and heads where the state has none reads one of them

  std::string heads() const { return lead_.empty() ? "0, 0" : lead_ == "h, " ? "0, h" : "b, h"; }
  std::string at(const char* tensor, const std::string& rest = "") const {
    return fmt::format("{}[t, {}{}]", tensor, heads(), rest);
  }
  std::string start(const std::string& rest = "p, n") const {
    return fmt::format("s0[{}, {}]", heads(), rest);
  }
  std::string extents() const { return lead_.empty() ? "" : lead_ == "h, " ? "H, " : "B, H, "; }
  std::string binders() const {
    return lead_.empty() ? "" : lead_ == "h, " ? "h: H, " : "b: B, h: H, ";
  }

  std::string condition() {
    return one_of({"on[t] == 1", at("a") + " < 0.3", "mod(t, 3) == 1", "t < 40",
                   "on[t] == 1 and " + at("x", ", p") + " < 0", "p == 0 or on[t] == 0"});
  }

  std::string gate() const { return fmt::format("cos(g[t, {}])", lead_.empty() ? "0" : "h"); }

  /// A factor that no row moves: a product of inputs, within -1..1.
  std::string decay() {
    std::string one =
        one_of({"tanh(" + at("a") + ")", "cos(" + at("a") + " / 4)", "exp(-abs(" + at("a") + "))",
                "sigmoid(" + at("a") + ")", "where(on[t] == 1, 1, tanh(" + at("a") + "))",
                "where(on[t] == 1, 0, cos(" + at("a") + "))", "0.875", "-0.5"});
    return one_in(3) ? one + " * " + gate() : one;
  }

  /// A factor that differs along the rows and columns of a state.
  std::string wide_decay() {
    return one_of({decay(), decay(), "tanh(" + at("w", ", p, n") + ")",
                   "exp(-abs(" + at("a") + ") * cos(em[t, n]))", "cos(" + at("x", ", p") + ")"});
  }

  /// A term without the state, small.
  std::string given() {
    return one_of({at("w", ", p, n"), at("x", ", p") + " * " + at("bm", ", n"),
                   "(" + at("x", ", p") + " + em[t, n]) / 2", "0.25", "sin(t)",
                   fmt::format("(x[t - 1, {}, p] else 0.5)", heads()),
                   fmt::format("w[T - 1 - t, {}, p, n]", heads()),
                   "(sum[e: N] m[n, e] * " + at("bm", ", e") + ")",
                   "tanh(" + at("w", ", p, n") + ") * dm[t, p]"});
  }

  // ---- affine steps

  /// A term that is affine in `state`, with factors of it within -1..1.
  std::string affine(const std::string& state, int depth) {
    if (depth == 0) return state;
    std::string term = affine(state, depth - 1);
    switch (pick(0, 9)) {
    case 0: return fmt::format("({} + {})", term, given());
    case 1: return fmt::format("({} - {})", given(), term);
    case 2: return fmt::format("({} / 3 - {})", term, given());
    case 3: return fmt::format("where({}, {}, {})", condition(), given(), term);
    case 4: return fmt::format("where({}, {}, {})", condition(), term, affine(state, depth - 1));
    case 5: return fmt::format("0.5 * ({} + {})", term, affine(state, depth - 1));
    case 6: return fmt::format("(-{})", term);
    default: return fmt::format("({} * {})", wide_decay(), term);
    }
  }

  /// The start of a state: given, or 0.
  std::string init(std::string& body) {
    bool zero = one_in(2);
    body += fmt::format("init[{}p: P, n: N] = {}\n", binders(), zero ? "0.0" : start());
    return "init";
  }

  std::string state_type(bool steps) const {
    return fmt::format("f64[{}{}P, N]", steps ? "T, " : "", extents());
  }

  std::string elementwise() {
    const std::string s = fmt::format("s[{}p, n]", lead_), u = fmt::format("u[{}p, n]", lead_);
    std::string body, before, after, step = affine(s, pick(1, 3));
    if (step == s) step = "-" + s;
    if (one_in(5)) step = fmt::format("{}({}, {})", one_of({"max", "min"}), s, given());
    const std::string from = init(body);
    std::string carries = "s = " + from, collects = "ss = s",
                outputs = "output ss : " + state_type(true) + "\n";
    if (one_in(3)) { // what the step is given, from the state before it
      before = fmt::format("  v[{}p, n] = {} * 0.5\n", lead_, s);
      collects += ", vs = v", outputs += "output vs : " + state_type(true) + "\n";
    }
    if (one_in(3)) { // another state, which this one feeds
      carries += ", u = " + from;
      after += fmt::format("  {} = {} + {}\n", u, affine(u, 1), s);
      outputs += "output u : " + state_type(false) + "\n";
    }
    if (one_in(3)) { // delayed by a step
      carries += ", late = " + from;
      before += fmt::format("  late[{0}p, n] = s[{0}p, n]\n", lead_);
      collects += ", lates = late", outputs += "output lates : " + state_type(true) + "\n";
    }
    if (one_in(2)) {
      after += fmt::format("  y[{}p] = sum[n] {} * {}\n", lead_, s, at("cm", ", n"));
      collects += ", ys = y", outputs += fmt::format("output ys : f64[T, {}P]\n", extents());
    }
    if (one_in(2)) outputs += "output s : " + state_type(false) + "\n";
    return body + fmt::format("recur t: T carry {} {{\n{}  {} = {}\n{}}} collect {}\n{}", carries,
                              before, s, step, after, collects, outputs);
  }

  // ---- states that are contracted

  std::string outer() {
    std::string rows = one_of({at("x", ", p"), "dm[t, p]", at("x", ", p") + " * dm[t, p]"});
    std::string columns = one_of({at("bm", ", n"), "em[t, n]", at("bm", ", n") + " / 3"});
    std::string term = one_in(2) ? rows + " * " + columns : columns + " * " + rows;
    if (one_in(4)) term = at("a") + " * " + term;
    if (one_in(4)) term = fmt::format("where({}, {}, 0)", one_of({"on[t] == 1", "t < 40"}), term);
    return one_in(5) ? "(-" + term + ")" : term;
  }

  /// Over all steps and the points of a state.
  std::string equation(const char* name, const std::string& value) const {
    return fmt::format("{}[t: T, {}p: P, n: N] = {}\n", name, binders(), value);
  }

  /// Equations that sum states, and their outputs.
  std::string readers(const std::string& state, std::string& outputs) {
    std::string text;
    int which = pick(0, 4);
    if (which != 1) {
      std::string factor = one_of({at("cm", ", n"), "em[t, n]", at("cm", ", n") + " * " + at("a")});
      text += fmt::format("y[t, {}p] = sum[n] {} * {}\n", lead_, factor, state);
      outputs += fmt::format("output y : f64[T, {}P]\n", extents());
    }
    if (which == 1 || which == 2) {
      text += fmt::format("z[t, {}n] = sum[p] {} * {}\n", lead_, state, "dm[t, p]");
      outputs += fmt::format("output z : f64[T, {}N]\n", extents());
    }
    if (which == 4 && one_in(2)) { // normalised, as behind the mixing of a layer
      text += fmt::format("yn[t, {0}p] = {1}[p] y[t, {0}p]\n", lead_,
                          one_of({"softmax", "log_softmax"}));
      outputs += fmt::format("output yn : f64[T, {}P]\n", extents());
    }
    if (which == 3) { // several queries for each state, in a layout of the reader's own
      text += fmt::format("many[{}p, k: 3, t] = sum[n] (em[t, n] + k) * {}\n", lead_, state);
      outputs += fmt::format("output many : f64[{}P, 3, T]\n", extents());
    }
    return text;
  }

  std::string contracted_recurrence() {
    const std::string s = fmt::format("s[{}p, n]", lead_);
    std::string body, outputs, step = outer();
    const std::string from = init(body);
    const std::string kept = one_in(5) ? s : decay() + " * " + s;
    body += fmt::format("recur t: T carry s = {} {{\n  {} = {} + {}\n}} collect ss = s\n", from, s,
                        kept, step);
    body += readers(fmt::format("ss[t, {}p, n]", lead_), outputs);
    if (one_in(2)) outputs += "output s : " + state_type(false) + "\n";
    return body + outputs;
  }

  std::string contracted_scan() {
    std::string outputs, descending = one_in(3) ? " desc" : "";
    const std::string places = fmt::format("[t, {}p, n]", lead_);
    std::string body = equation("u", outer());
    if (one_in(4))
      body += fmt::format("s{0} = scan sum[t{1}] u{0}\n", places, descending);
    else
      body +=
          fmt::format("(d{0}, s{0}) = scan affine[t{1}]({2}, u{0})\n", places, descending, decay());
    body += readers("s" + places, outputs);
    if (one_in(3)) { // the state at the end as well
      std::string end = descending.empty() ? "T - 1" : "0";
      body += end_of(end);
      outputs += "output e : " + state_type(false) + "\n";
    }
    return body + outputs;
  }

  std::string end_of(const std::string& place) const {
    return fmt::format("e[{}p: P, n: N] = where(0 < T, s[{}, {}p, n], 7)\n", binders(), place,
                       lead_);
  }

  // ---- scans under other monoids

  /// A scan of `s` over t, under a monoid and in an order that `how` and the choice say.
  std::string scan_of(const std::string& how) {
    const std::string places = fmt::format("[t, {}p, n]", lead_);
    const std::string u = equation("u", given()) + equation("v", wide_decay());
    auto pair = [&](const std::string& monoid, const std::string& terms) {
      return u + fmt::format("(r{0}, s{0}) = scan {1}[{2}]({3})\n", places, monoid, how, terms);
    };
    const std::string ux = "u" + places, vx = "v" + places;
    switch (pick(0, 7)) {
    case 0: return u + fmt::format("s{0} = scan sum[{1}] (u{0} * v{0})\n", places, how);
    case 1: return u + fmt::format("s{0} = scan max[{1}] u{0}\n", places, how);
    case 2: return u + fmt::format("s{0} = scan prod[{1}] v{0}\n", places, how);
    case 3:
      return "monoid extremes(lo = inf, hi = -inf) (a, b) -> (min(a.lo, b.lo), max(a.hi, b.hi))\n" +
             pair("extremes", ux + ", " + ux);
    case 4:
      return "monoid latest(h = 0.0, v = 0.0) (a, b) -> (max(a.h, b.h), where(b.h > 0, b.v, "
             "a.v))\n" +
             pair("latest", fmt::format("where({}, 1.0, 0.0), {}", condition(), ux));
    case 5: return pair("lse", ux + ", 1.0");
    case 6: return matrices(how);
    default: return pair("affine", vx + ", " + ux);
    }
  }

  /// Transitions by a rotation and a shift: composing them is a product of matrices.
  std::string matrices(const std::string& how) {
    const std::string places = fmt::format("t, {}p, n", lead_),
                      typed = fmt::format("t: T, {}p: P, n: N", binders());
    return fmt::format(
        "monoid linear(A[i: 2, k: 2] = where(i == k, 1, 0), c[i: 2] = 0) (x, y) -> (\n"
        "  sum[l] y.A[i, l] * x.A[l, k], sum[l] y.A[i, l] * x.c[l] + y.c[i])\n"
        "M[{4}, i: 2, k: 2] = where(i == k, cos({1}), where(i < k, sin({1}), -sin({1})))\n"
        "o[{4}, i: 2] = {2} + i\n"
        "(Ms[{0}, i, k], ms[{0}, i]) = scan linear[{3}](M[{0}, i, k], o[{0}, i])\n"
        "s[{0}] = ms[{0}, 0] - ms[{0}, 1]\n",
        places, at("w", ", p, n"), given(), how, typed);
  }

  /// Infinities of extremes of nothing are no sums' business.
  static std::string finite(const std::string& value) {
    return fmt::format("where(abs({0}) < inf, {0}, 0.5)", value);
  }

  std::string scan() {
    std::string how = one_in(6) ? "p" : "t";
    how += std::string(one_in(3) ? " exclusive" : "") + (one_in(3) ? " desc" : "");
    const std::string places = fmt::format("[t, {}p, n]", lead_);
    std::string body = scan_of(how), outputs;
    if (one_in(2)) return body + "output s : " + state_type(true) + "\n";
    body += readers(finite("s" + places), outputs);
    return body + outputs;
  }

  /// Scans of which the end is read, at times by another one.
  std::string ends() {
    bool descending = one_in(3);
    std::string body = scan_of(descending ? "t desc" : "t");
    body += end_of(descending ? "0" : "T - 1");
    if (one_in(2)) return body + "output e : " + state_type(false) + "\n";
    return body + fmt::format("c[{0}p, n] = scan {1}[n] e[{0}p, n]\ny[{2}p: P] = c[{0}p, N - 1]\n"
                              "output y : f64[{3}P]\n",
                              lead_, one_of({"sum", "max"}), binders(), extents());
  }

  // ---- states that are corrected by a contraction of themselves

  std::string delta_step(const std::string& step, const std::string& query) {
    const std::string s = fmt::format("s[{}p, n]", lead_);
    std::string body = fmt::format("key[t, {}n] = {} / 4\n", binders(), at("bm", ", n")), outputs;
    const std::string from = init(body);
    body +=
        fmt::format("recur t: T carry s = {} {{\n{}  o[{}p] = sum[n] {} * {}\n}} collect os = o\n",
                    from, step, lead_, s, query);
    outputs = fmt::format("output os : f64[T, {}P]\n", extents());
    if (one_in(2)) outputs += "output s : " + state_type(false) + "\n";
    return body + outputs;
  }

  std::string delta() {
    out_.steps = Steps::chunks;
    const std::string s = fmt::format("s[{}p, n]", lead_), r = fmt::format("r[{}p]", lead_),
                      key = fmt::format("key[t, {}n]", lead_), query = at("qm", ", n"),
                      strength = one_of({"sigmoid(" + at("a") + ")", "0.5", gate()}),
                      factor = decay(), value = at("x", ", p");
    std::string step;
    switch (pick(0, 5)) {
    case 0: // the state decays first; the correction looks at what is left
      step = fmt::format("  kept[{0}p, n] = {1} * {2}\n  {3} = sum[n] kept[{0}p, n] * {4}\n"
                         "  {2} = kept[{0}p, n] + ({5} - {3}) * {6} * {4}\n",
                         lead_, factor, s, r, key, value, strength);
      break;
    case 1: // both in one term
      step = fmt::format("  {0} = sum[n] {1} * {2}\n  {1} = {3} * ({1} - {4} * {0} * {2}) + {4} * "
                         "{5} * {2}\n",
                         r, s, key, factor, strength, value);
      break;
    case 2: // nothing is forgotten; looked at with another vector than changed by
      step = fmt::format("  {0} = sum[n] {1} * {2} / 8\n  {1} = {1} + ({3} - {0}) * {4} * {5}\n", r,
                         s, query, value, strength, key);
      break;
    case 3: // steps that are left out, and corrections that are
      step = fmt::format("  {0} = sum[n] {1} * {2}\n  {1} = where(on[t] == 1, {1} + {4} * ({5} - "
                         "{0}) * {2}, {1} * {3})\n",
                         r, s, key, factor, strength, value);
      break;
    case 4:
      step =
          fmt::format("  {0} = sum[n] {1} * {2}\n  {1} = {3} * {1} + {5} * {2} - where({6}, {4} * "
                      "{0}, 0) * {2} / 2\n",
                      r, s, key, factor, strength, value, one_of({"on[t] == 1", "t < 40"}));
      break;
    default:
      step = fmt::format("  {0} = {3} * sum[n] {1} * {2}\n  {1} = {3} * {1} + {4} * ({5} - {0}) * "
                         "{2}\n",
                         r, s, key, factor, strength, value);
    }
    return delta_step(step, query);
  }

  std::string near_delta() {
    out_.steps = Steps::sequential;
    const std::string s = fmt::format("s[{}p, n]", lead_), r = fmt::format("r[{}p]", lead_),
                      key = fmt::format("key[t, {}n]", lead_), query = at("qm", ", n"),
                      value = at("x", ", p"), factor = decay();
    const std::string sum = fmt::format("  {} = sum[n] {} * {}\n", r, s, key);
    std::string step = one_of(
        {// corrected along another vector than given
         sum + fmt::format("  {} = {} * {} + ({} * {} - {} * {}) / 4\n", s, factor, s, value, query,
                           r, key),
         // not linear in what is held; a product of it and the state
         fmt::format("  {} = tanh(sum[n] {} * {})\n  {} = {} * {} + ({} - {}) * {}\n", r, s, key, s,
                     factor, s, value, r, key),
         sum + fmt::format("  {} = tanh({}) * {} + ({} - {}) * {}\n", s, r, s, value, r, key),
         // the factor differs between columns
         sum + fmt::format("  {} = cos(em[t, n]) * {} + ({} - {}) * {}\n", s, s, value, r, key),
         // a key that the step computes
         fmt::format("  mine[{}n] = {} * 0.5\n", lead_, key) +
             fmt::format("  {0} = sum[n] {1} * mine[{2}n]\n  {1} = {3} * {1} + ({4} - {0}) * "
                         "mine[{2}n]\n",
                         r, s, lead_, factor, value)});
    return delta_step(step, query);
  }

  // ---- exact integers

  std::string counters() {
    const std::string k = fmt::format("k[{}c]", lead_), to = at("to");
    const std::string step =
        one_of({fmt::format("{} + {}", k, to), fmt::format("max({}, {} + c)", k, to),
                fmt::format("where(on[t] == 1, t + c, {} + 1)", k),
                fmt::format("on[t] * {} + 2", k), fmt::format("min({}, 3 - {})", k, to),
                fmt::format("where({} == 1, {}, {} - on[t])", to, k, k)});
    return fmt::format(
        "zero[{0}c: 3] = 0\nrecur t: T carry k = zero {{ k[{1}c] = {2} }} collect ks "
        "= k\noutput ks : i64[T, {3}3]\noutput k : i64[{3}3]\n",
        binders(), lead_, step, extents());
  }

  // ---- steps that must stay

  std::string sequential() {
    out_.steps = Steps::sequential;
    const std::string s = fmt::format("s[{}p, n]", lead_), w = at("w", ", p, n");
    std::string step = one_of(
        {fmt::format("{} = tanh({}) + {}", s, affine(s, 1), given()),
         fmt::format("{} = 0.1 * {} * {} + {}", s, s, s, "tanh(" + w + ")"),
         fmt::format("{} = {} / (2 + abs({}))", s, given(), s),
         fmt::format("{} = where({} < 0, {}, 0.5 * {} - 1)", s, s, s, s),
         fmt::format("{} = f16({} * {} + {})", s, decay(), s, given()),
         fmt::format("{} = 0.5 * s[{}p, N - 1 - n] + {}", s, lead_, given()),
         fmt::format("{} = 0.5 * {} + 0.25 * (s[{}p, n + 1] else 0) + {}", s, s, lead_, given()),
         fmt::format("{} = (sum[e] m[n, e] / (1 + abs(m[n, e])) * s[{}p, e]) / 3 + {}", s, lead_,
                     given()),
         fmt::format("q[{0}p] = max[n] {1}; {1} = 0.5 * {1} + 0.25 * q[{0}p]", lead_, s),
         fmt::format("{} = {} * s[{}0, n]", s, "tanh(" + w + ")", lead_)});
    std::string body;
    const std::string from = init(body);
    // The extents of the state, where its own places do not say them.
    const std::string head = fmt::format("s[{}p: P, n: N] =", binders());
    size_t equals = step.rfind(s + " = ");
    step.replace(equals, s.size() + 2, head);
    body += fmt::format("recur t: T carry s = {} {{ {} }} collect ss = s\n", from, step);
    return body + "output ss : " + state_type(true) + "\noutput s : " + state_type(false) + "\n";
  }

  std::mt19937 random_;
  std::string lead_; ///< batches and heads, as places
  Sequence out_;
};

} // namespace

std::vector<int64_t> Sequence::dims(int64_t length) const {
  std::vector<int64_t> all{length};
  all.insert(all.end(), widths.begin(), widths.end());
  return all;
}

uint32_t sequence_forms() {
  return Generator::forms;
}

Sequence random_sequence(uint32_t seed) {
  return Generator(seed).run(seed % Generator::forms);
}

} // namespace tang::rewrite::test
