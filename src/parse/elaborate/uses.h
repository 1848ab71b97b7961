#pragma once
// Where an index stands alone in a place of a read: that is where it takes its extent from.
#include "parse/elaborate/context.h"

namespace tang::parse {

struct MonoidScope;
using HiddenNames = std::vector<std::string_view>;

struct PlainUse {
  Span span;
  std::string tensor;
  Term extent; ///< none when the tensor is erroneous or unknown
};
struct IndexUses {
  std::vector<PlainUse> plain;
  Span mention; ///< the first place where the index occurs at all
};

/// Finds the uses of the indices `names` in expressions. Macros whose bodies read tensors are
/// entered.
class UseFinder {
public:
  /// `hidden` names are locals: they are no tensors here. `scope`: of a monoid's combine, or null.
  UseFinder(Context& context, size_t visible, const HiddenNames& hidden,
            const std::vector<std::string_view>& names, const MonoidScope* scope = nullptr);
  void walk(const Module& module, ExprId id);
  /// The body of the callee, where the names are indices of `apply`.
  void walk_callable(const Callable& callable, const Apply& apply, const Module& module);
  const IndexUses& uses(size_t name) const { return uses_[name]; }

private:
  /// What a name means: the index with that number, or something else (-1). Reductions over the
  /// binder of the macro around run over the same points, so it stays visible under them.
  struct Meaning {
    std::string_view name;
    int index = -1;
    bool is_binder = false;
  };
  using Names = std::vector<Meaning>;
  static int meaning(const Names& names, std::string_view name);
  static bool is_binder(const Names& names, std::string_view name);
  void visit(const Module& module, ExprId id, size_t visible, Names& names, int depth);
  void visit_leaf(const Module& module, ExprId id, size_t visible, Names& names, int depth);
  void visit_read(const Module& module, const Read& read, size_t visible, Names& names, int depth);
  void visit_field(const Module& module, const Field& field, Names& names);
  void visit_apply(const Module& module, const Apply& apply, Span span, size_t visible,
                   Names& names, int depth);
  void enter(const Callable& callable, const std::vector<Binder>& binders, const Module& module,
             const std::vector<ExprId>& arguments, Span span, const Names& names, int depth);

  Context& c_;
  const MonoidScope* scope_;
  size_t visible_;
  Names names_;
  std::vector<IndexUses> uses_;
};

/// The extent that the plain uses agree on; reports where they do not, and where there are none.
Term agreed_extent(Context& context, const Name& index, const IndexUses& uses);

} // namespace tang::parse
