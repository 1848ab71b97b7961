#pragma once
// What the parts of the elaborator share: the graph under construction, and what names mean.
#include "parse/ast.h"
#include "parse/elaborate/elaborate.h"
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace tang::parse {

using Term = graph::ExprId; ///< `ExprId` is an expression of the AST here
using graph::Scalar;

// ---- values: tensors, dims and lets share one scope

/// Without an id when its definition was erroneous: reads of it are silently erroneous as well.
struct TensorSymbol {
  graph::TensorId id;
};
/// A literal, a dim of the graph, or a polynomial of such; none when erroneous.
struct DimSymbol {
  Term value;
};
/// A real over dims; none when erroneous.
struct LetSymbol {
  Term value;
};
struct Symbol {
  Span span;
  std::variant<TensorSymbol, DimSymbol, LetSymbol> what;
  bool used = false;
};

// ---- callables: macros and monoids share another

struct DefSymbol {
  const Module* module = nullptr;
  const Def* def = nullptr;
  /// Per binder: which parameters the result uses outside reductions over it (bits), and whether it
  /// uses the binder itself so (`self_bit`). Where such an argument depends on the index, the macro
  /// keeps it: it has a value for each of its points.
  std::vector<uint64_t> kept;
  std::vector<uint32_t> uses; ///< per parameter: how often the expansion uses it, saturating
  bool reads_tensors = false; ///< reads tensors by name: an index may stand in their places
  bool erroneous = false;

  static constexpr uint64_t self_bit = uint64_t{1} << 63;
  /// Parameters from the 63rd on share a bit.
  static uint64_t bit(size_t parameter) { return uint64_t{1} << (parameter < 62 ? parameter : 62); }
};
struct MonoidSymbol {
  const Module* module = nullptr;
  const Monoid* monoid = nullptr;
  bool erroneous = false;
};
struct Callable {
  std::string name;
  Span span;
  bool is_library = false;
  std::variant<DefSymbol, MonoidSymbol> what;
};

/// State of one elaboration. Plain data with the questions every part asks.
class Context {
public:
  Context(SourceManager& source_manager, const ElaborateOptions& elaborate_options, Sink& s)
      : sources(source_manager), options(elaborate_options), sink(&s), limit_sink(&s),
        errors_before(s.error_count()) {}

  SourceManager& sources;
  const ElaborateOptions& options;
  Sink* sink;           ///< replaced by a scratch sink where faults do not count
  Sink* limit_sink;     ///< where limits are reported: they are reported once, so they always count
  size_t errors_before; ///< of the elaboration
  graph::Graph graph;
  std::vector<graph::Node>* nodes =
      &graph.nodes;           ///< where definitions go: the graph or a recurrence
  std::deque<Module> modules; ///< stay where they are: symbols point into them
  std::unordered_map<std::string, Symbol> symbols;
  std::vector<Callable> callables; ///< in order of definition; a body sees those before its own
  std::unordered_map<std::string, std::vector<size_t>> callables_by_name;
  /// Every name that the file declares at its top level, to tell "unknown" from "not yet".
  std::unordered_map<std::string, Span> declared;
  std::unordered_set<std::string> tensor_names;     ///< taken, so that lifted nodes get new ones
  std::unordered_map<std::string, int> next_suffix; ///< of a base name that was taken before
  std::map<std::pair<const Monoid*, std::vector<Scalar>>, graph::MonoidId> monoids; ///< instances
  std::set<std::string> bound_dims; ///< bindings of `options.dims` that met their dim
  std::map<std::string, Span> output_names;
  size_t output_count = 0;
  std::vector<std::pair<std::string, Span>> including; ///< files around the one in hand, and where
  std::set<std::string> included;                      ///< once-only
  std::vector<std::string> included_order;
  std::optional<ForeignPlace> place; ///< `loc(...)` of the statement in hand
  /// Conditions that hold everywhere: ranges of the steps of enclosing recurrences.
  std::vector<Term> axioms;
  std::unordered_set<graph::TensorId> steps;       ///< the `step` tensors of recurrences
  std::set<std::string> carried;                   ///< names that the loops around bind again
  std::set<std::string> rebound;                   ///< those that an equation did bind
  std::vector<std::string>* scope_names = nullptr; ///< names declared inside the innermost loop
  std::string suffix;                              ///< of tensors inside a `repeat`: `_0`, `_0_3`
  int expanding = 0; ///< depth of macros and repeats: they are charged
  uint64_t charged = 0;
  size_t suggestions = 0; ///< near names offered: each looks at all names, so they are limited
  bool too_deep = false;  ///< reported already
  std::set<std::pair<uint32_t, uint32_t>> open_gathers; ///< warned of: file and place

  graph::ExprStore& terms() { return graph.exprs; }

  /// As Sink::report, and names the place outside the file that `loc(...)` gave.
  Diagnostic& report(Kind kind, Span span, std::string message);
  template <class... Args>
  Diagnostic& report(Kind kind, Span span, fmt::format_string<Args...> format, Args&&... args) {
    return report(kind, span, fmt::format(format, std::forward<Args>(args)...));
  }

  /// As `report`, of a limit that the whole elaboration met.
  Diagnostic& report_limit(Kind kind, Span span, std::string message);

  /// Counts `amount` steps of work where macros or repeats multiply it. False, reported once, when
  /// the expansion is over its limit.
  bool charge(Span span, uint64_t amount = 1);

  Symbol* find(const std::string& name);
  /// The last callable of that name before `visible`, or null.
  const Callable* find_callable(const std::string& name, size_t visible) const;
  /// Adds a value; reports a duplicate and returns null.
  Symbol* declare(const Name& name, std::variant<TensorSymbol, DimSymbol, LetSymbol> what);
  void declare_callable(const Name& name, Callable callable);
  /// Reports a name that the file defines later, or in this very statement; false for others.
  bool report_not_yet(const Name& name);
  /// Reports `unknown_name` or `use_before_definition`. `more` are names that the place sees
  /// besides the global ones.
  void report_unknown(const Name& name, std::vector<std::string> more = {});
  /// The same where only a tensor can stand.
  void report_unknown_tensor(const Name& name);
  void report_unknown_function(const Name& name, size_t visible);

  /// A name for a tensor that no other has, starting from `base`.
  std::string unique_tensor_name(const std::string& base);
  /// Reports an unknown element type.
  std::optional<graph::ElemType> element_type(const Name& name);
  /// Renumbers the indices and appends.
  void add_node(graph::Comprehension node, Span span);
};

/// The text in backquotes, as messages show code.
std::string backquoted(std::string_view text);

} // namespace tang::parse
