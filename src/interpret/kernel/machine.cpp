#include "base/check.h"
#include "interpret/kernel/lanes.h"
#include <algorithm>

namespace tang::interpret::simulator {

Machine::Machine(const CompiledKernel& code, Findings& findings, Counts& counts)
    : code_(code), kernel_(*code.kernel), findings_(findings), counts_(counts),
      threads_(static_cast<size_t>(code.threads)) {
  words_.resize(code.words);
  for (const auto& [at, word] : code.constants) words_[at] = word;
  registers_.resize(static_cast<size_t>(code.register_elements) * threads_);
  register_written_.resize(registers_.size());
  auto cells = static_cast<size_t>(code.shared_bytes / code.granule);
  shared_cells_.resize(cells);
  copied_by_.resize(cells);
  flights_.resize(code.tokens * threads_);
  bound_.resize(kernel_.tensors.size());
  for (uint32_t t = 0; t < threads_; ++t) everybody_.lanes.push_back(t);
  visitor_.threads_of_block = static_cast<uint32_t>(threads_);
}

void Machine::launch(const LaunchArguments& arguments) {
  for (size_t i = 0; i < kernel_.params.size(); ++i)
    bound_[kernel_.params[i].value] = arguments.bound[i];
  for (size_t i = 0; i < code_.scalars.size(); ++i)
    words_[code_.scalars[i].at] = word(arguments.scalars[i]);
  for (size_t t = 0; t < threads_; ++t) {
    if (code_.flat_thread) words_[code_.flat_thread.at + t] = t;
    size_t rest = t;
    for (size_t i = 0; i < code_.thread_coordinates.size(); ++i) {
      auto extent = static_cast<size_t>(kernel_.threads[i].extent);
      words_[code_.thread_coordinates[i].at + t] = rest % extent;
      rest /= extent;
    }
  }
  visitor_.run = arguments.number;
  int64_t blocks = 1;
  for (int64_t extent : arguments.blocks) blocks *= std::max<int64_t>(extent, 0);
  ++counts_.launches;
  counts_.blocks += blocks;
  if (blocks == 0) return;
  run(code_.launch, everybody_);
  for (int64_t block = 0; block < blocks; ++block) {
    begin_block(block);
    if (code_.flat_block) words_[code_.flat_block.at] = word(block);
    int64_t rest = block;
    for (size_t i = 0; i < code_.block_coordinates.size(); ++i) {
      words_[code_.block_coordinates[i].at] = word(rest % arguments.blocks[i]);
      rest /= arguments.blocks[i];
    }
    run(code_.block, everybody_);
    run(code_.body, everybody_);
  }
}

void Machine::begin_block(int64_t number) {
  block_ = number;
  ++block_run_;
  visitor_.block = static_cast<uint32_t>(number), visitor_.epoch = 0;
  std::fill(register_written_.begin(), register_written_.end(), uint8_t{0});
  shared_.resize(static_cast<size_t>(code_.shared_bytes), 0xff);
  std::fill(copied_by_.begin(), copied_by_.end(), 0u);
  for (Flights& flights : flights_) flights.closed.clear(), flights.open.clear();
}

Mask& Machine::new_mask() {
  if (masks_used_ == masks_.size()) masks_.emplace_back();
  Mask& mask = masks_[masks_used_++];
  mask.lanes.clear();
  mask.all = false;
  return mask;
}

void Machine::run(uint32_t body, const Mask& mask) {
  for (const Instruction& i : code_.bodies[body]) {
    size_t used = masks_used_;
    execute(i, mask);
    masks_used_ = used;
  }
}

void Machine::execute(const Instruction& i, const Mask& mask) {
  switch (i.code) {
  case Code::move: map1(i, mask, [](Word a) { return a; }); break;
  case Code::unary: unary(i, mask); break;
  case Code::binary: binary(i, mask); break;
  case Code::select: select(i, mask); break;
  case Code::convert: convert(i, mask); break;
  case Code::round: round(i, mask); break;
  case Code::element: element(i, mask); break;
  case Code::delinearize: delinearize(i, mask); break;
  case Code::loop: loop(i, mask); break;
  case Code::branch: branch(i, mask); break;
  case Code::load: load(i, mask); break;
  case Code::store: store(i, mask); break;
  case Code::copy: copy(i, mask); break;
  case Code::allocate: allocate(i, mask); break;
  case Code::shuffle: shuffle(i, mask); break;
  case Code::barrier: barrier(i, mask); break;
  case Code::atom: atom(i, mask); break;
  }
}

void Machine::filter(const Mask& mask, Slot condition, bool wanted, Mask& out) const {
  const Word* c = words(condition);
  size_t step = stride(condition);
  for (uint32_t t : mask.lanes)
    if ((c[t * step] != 0) == wanted) out.lanes.push_back(t);
  out.all = out.lanes.size() == threads_;
}

void Machine::branch(const Instruction& i, const Mask& mask) {
  if (!i.a.varies) {
    uint32_t body = uniform(i.a) != 0 ? i.ref : i.other;
    if (body != nothing) run(body, mask);
    return;
  }
  Mask &then = new_mask(), &otherwise = new_mask();
  filter(mask, i.a, true, then);
  if (i.other != nothing) filter(mask, i.a, false, otherwise);
  if (!then.lanes.empty()) run(i.ref, then);
  if (!otherwise.lanes.empty()) run(i.other, otherwise);
}

void Machine::loop(const Instruction& i, const Mask& mask) {
  Word* at = words(i.d);
  each(mask, i.c.varies, [&](size_t t) {
    TANG_CHECK(integer_of(words(i.c)[t]) > 0, "a loop of `{}` does not advance", kernel_.name);
  });
  if (!i.d.varies && !i.b.varies) {
    for (int64_t k = uniform(i.a); k < uniform(i.b); k += uniform(i.c)) {
      *at = word(k);
      run(i.ref, mask);
    }
    return;
  }
  // Those that have a round left.
  Mask& running = new_mask();
  running.lanes = mask.lanes;
  const Word *begin = words(i.a), *end = words(i.b), *by = words(i.c);
  each(mask, i.d.varies, [&](size_t t) { at[t] = begin[t * stride(i.a)]; });
  for (;;) {
    std::erase_if(running.lanes, [&](uint32_t t) {
      return integer_of(at[t * stride(i.d)]) >= integer_of(end[t * stride(i.b)]);
    });
    running.all = running.lanes.size() == threads_;
    if (running.lanes.empty()) return;
    run(i.ref, running);
    each(running, i.d.varies, [&](size_t t) { at[t] += by[t * stride(i.c)]; });
  }
}

void Machine::delinearize(const Instruction& i, const Mask& mask) {
  const Delinearized& d = code_.delinearized[i.ref];
  const Word* number = words(d.number);
  each(mask, d.digits[0].varies, [&](size_t t) {
    int64_t rest = integer_of(number[t * stride(d.number)]);
    bool below = rest >= 0;
    for (size_t k = d.digits.size(); k-- > 0;) {
      int64_t extent = integer_of(words(d.extents[k])[t * stride(d.extents[k])]);
      words(d.digits[k])[t] = extent > 0 ? word(rest % extent) : 0;
      rest = extent > 0 ? rest / extent : 1;
    }
    if (below && rest == 0) return;
    if (Finding* f = fault(Fault::number_too_large, i, static_cast<uint32_t>(t)))
      f->note = fmt::format("the number is {}", integer_of(number[t * stride(d.number)]));
  });
}

void Machine::shuffle(const Instruction& i, const Mask& mask) {
  const Word* a = words(i.a);
  Word* d = words(i.d);
  counts_.shuffles += warps_of(mask);
  std::vector<bool> here(threads_, mask.all);
  if (!mask.all)
    for (uint32_t t : mask.lanes) here[t] = true;
  for (uint32_t t : mask.lanes) {
    uint32_t other = t ^ static_cast<uint32_t>(i.count);
    if (other < threads_ && here[other]) {
      d[t] = a[other * stride(i.a)];
      continue;
    }
    d[t] = kernel::is_real(i.type) ? word(std::numeric_limits<double>::quiet_NaN()) : 0;
    if (Finding* f = fault(Fault::missing_lanes, i, t))
      f->note = fmt::format("thread {} gives no value", other);
  }
}

void Machine::barrier(const Instruction& i, const Mask& mask) {
  ++counts_.barriers;
  ++visitor_.epoch;
  if (mask.all) return;
  if (Finding* f = fault(Fault::divergence, i, mask.lanes[0]))
    f->note = fmt::format("{} of {} threads are here", mask.lanes.size(), threads_);
}

int64_t Machine::warps_of(const Mask& mask) const {
  constexpr size_t warp = 32;
  if (mask.all) return static_cast<int64_t>((threads_ + warp - 1) / warp);
  int64_t count = 0;
  size_t last = ~size_t{0};
  for (uint32_t t : mask.lanes)
    if (t / warp != last) last = t / warp, ++count;
  return count;
}

Finding* Machine::fault(Fault kind, const Instruction& i, uint32_t lane, const Access* access) {
  Finding* f = findings_.add(kind, kernel_.name, i.statement, access ? tensor(*access).name : "");
  if (!f) return nullptr;
  if (i.statement < code_.statements.size())
    f->statement = fmt::format("statement {} ({})", i.statement, code_.statements[i.statement]);
  f->block = block_, f->thread = static_cast<int>(lane);
  if (access)
    for (Slot slot : access->coordinates)
      f->coordinates.push_back(integer_of(words(slot)[lane * stride(slot)]));
  return f;
}

} // namespace tang::interpret::simulator
