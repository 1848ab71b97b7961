#pragma once
// How a graph runs: which nodes share a kernel, in which order, and the schedule fields of each
// kernel variant. Fields never change the mathematics.
#include "graph/graph.h"
#include "graph/pieces.h"

namespace tang::plan {

/// Emitters are keyed on the shape of a comprehension, never on an operator's name.
enum class Emitter : uint8_t {
  point, ///< one thread per point; reductions and scans run inside the thread
  row,   ///< nodes over common rows: maps and reductions along one inner axis, one pass
  tile,  ///< a contraction: operands that depend on part of the points, tiled twice
  stream ///< a reduction along one long axis that multiplies matrices on the way
};
inline constexpr Emitter all_emitters[] = {Emitter::point, Emitter::row, Emitter::tile,
                                           Emitter::stream};
std::string_view name(Emitter emitter);

/// The format in which factors of products are held.
/// `tf32x3`, `bf16x3`: f32 as the sum of two tf32 or bf16, and three products of these for one (the
/// law split_precision).
enum class Precision : uint8_t { full, f16, bf16, tf32, i8, u8, tf32x3, bf16x3 };
inline constexpr Precision all_precisions[] = {Precision::full,   Precision::f16,   Precision::bf16,
                                               Precision::tf32,   Precision::i8,    Precision::u8,
                                               Precision::tf32x3, Precision::bf16x3};
std::string_view name(Precision precision);
/// Of a precision that is not `full`: the format in memory.
graph::ElemType format_of(Precision precision);
/// The numbers that a factor is split into, which matrix units multiply one by one; null where a
/// factor is one number.
const graph::Pieces* pieces_of(Precision precision);
inline bool is_split(Precision precision) {
  return pieces_of(precision) != nullptr;
}
/// Bits of factors that matrix units read for one product of two, added up over its pieces: what
/// its time is proportional to.
int bits_of_product(Precision precision);
/// The precision of factors that are not split in this format; `full` where there is none. `tf32`:
/// f32 may lose bits.
Precision precision_of(graph::ElemType format, bool tf32);

struct Fields {
#define TANG_FIELD(type, name, initial, least, greatest, readers, text) type name = initial;
#include "plan/fields.def"
#undef TANG_FIELD
  friend bool operator==(const Fields&, const Fields&) = default;
};

/// Neighbours that a thread copies at once into a tile of a product on matrix units: a vector, and
/// no less than a word.
int copied_at_once(const Fields& fields);

/// Terms that neighbouring threads copy into a ring of a tile without matrix units, of operands
/// whose neighbours in memory are terms: what fills a sector of 32 bytes.
int terms_at_once(const Fields& fields);

/// Something a launcher can test about an extent.
struct Fact {
  enum class Kind : uint8_t { divisible, at_most };
  Kind kind = Kind::divisible;
  graph::ExprId extent; ///< integer term over dims
  int64_t value = 1;
};

struct Variant {
  Fields fields;
  std::vector<Fact> when; ///< all must hold; empty = always
};

/// One kernel: some nodes, one emitter, and variants of which the launcher takes the first that
/// fits.
struct KernelPlan {
  std::string name; ///< from the tensor it writes
  Emitter emitter = Emitter::point;
  std::vector<uint32_t> nodes;   ///< positions in the node list that the step belongs to, in order
  std::vector<Variant> variants; ///< the last has no facts
  bool beside = false;           ///< the nodes do not read each other: each has its own blocks
  std::string reason;            ///< why the selector chose this, one sentence
  int64_t modelled_ns = 0; ///< time of a launch in the selector's model, of kernels beside each
                           ///< other one after the other; 0 = none
};

struct Step;
/// A recurrence runs its own steps once per time step, in order.
struct RecurPlan {
  uint32_t node = 0;
  std::vector<Step> steps;
};
struct Step {
  std::variant<KernelPlan, RecurPlan> node;
};

struct Plan {
  std::vector<Step> steps;
};

/// `{vector: 4, threads: 128}`: fields at their default left out.
std::string to_text(const Fields& fields);

/// The schedule as YAML, one entry per kernel, fields at their default left out.
std::string to_text(const graph::Graph& graph, const Plan& plan);

} // namespace tang::plan
