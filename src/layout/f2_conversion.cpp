// From one layout (lane, register) -> element to another: where each destination finds its value.
#include "layout/f2.h"
#include "layout/f2_span.h"

namespace tang::layout {

std::string_view name(Exchange exchange) {
  switch (exchange) {
  case Exchange::none: return "none";
  case Exchange::registers: return "registers";
  case Exchange::selects: return "selects";
  case Exchange::shuffles: return "shuffles";
  }
  return "";
}

namespace {

/// Sources of elements, of the same lane where there is one.
class Sources {
public:
  Sources(const F2Layout& from, int lanes) {
    for (size_t bit = 0; bit < from.columns.size(); ++bit) {
      if (bit >= static_cast<size_t>(lanes)) registers_.add(from.columns[bit], uint64_t{1} << bit);
      all_.add(from.columns[bit], uint64_t{1} << bit);
    }
  }
  /// The bits of a source of `element`; `own` is the lane bit that a lane keeps, which holds
  /// `own_element` by itself.
  std::optional<uint64_t> find(uint64_t element, uint64_t own, uint64_t own_element) const {
    if (auto same_lane = registers_.solve(element ^ own_element)) return *same_lane | own;
    return all_.solve(element);
  }

private:
  F2Span registers_, all_;
};

Exchange exchange_of(const Conversion& c, int lanes) {
  uint64_t lane_mask = (uint64_t{1} << lanes) - 1;
  bool lanes_stay = (c.offset & lane_mask) == 0, registers_alike = true;
  for (size_t bit = 0; bit < c.columns.size(); ++bit) {
    bool lane = bit < static_cast<size_t>(lanes);
    uint64_t own = uint64_t{1} << bit;
    lanes_stay = lanes_stay && (c.columns[bit] & lane_mask) == (lane ? own : 0);
    registers_alike = registers_alike && (!lane || (c.columns[bit] & ~lane_mask) == 0);
  }
  if (!lanes_stay) return Exchange::shuffles;
  return registers_alike ? Exchange::registers : Exchange::selects;
}

} // namespace

Result<Conversion> conversion(const F2Layout& from, const F2Layout& to) {
  if (from.domain.size() != 2 || to.domain.size() != 2)
    return refuse("a conversion needs layouts (lane, register), of two modes");
  if (from.domain[0] != to.domain[0])
    return refuse("one side has 2^{} lanes and the other 2^{}", from.domain[0], to.domain[0]);
  if (from.axes != to.axes) return refuse("the two sides count along different axes");
  int lanes = from.domain[0];
  uint64_t lane_mask = (uint64_t{1} << lanes) - 1;
  Sources sources(from, lanes);
  Conversion out;
  auto offset = sources.find(from.offset ^ to.offset, 0, 0);
  if (!offset) return refuse("the destination starts at an element that the source does not hold");
  out.offset = *offset;
  F2Span source_lanes;
  for (size_t bit = 0; bit < to.columns.size(); ++bit) {
    bool lane = bit < static_cast<size_t>(lanes);
    auto source =
        sources.find(to.columns[bit], lane ? uint64_t{1} << bit : 0, lane ? from.columns[bit] : 0);
    if (!source) return refuse("the destination has elements that the source does not hold");
    out.columns.push_back(*source);
    if (!lane) source_lanes.add(*source & lane_mask, 0);
  }
  bool same = from.columns == to.columns && from.offset == to.offset;
  out.exchange = same ? Exchange::none : exchange_of(out, lanes);
  out.source_lane_bits = source_lanes.rank();
  return out;
}

} // namespace tang::layout
