#pragma once
// Internal to machine.cpp, arithmetic.cpp, accesses.cpp and atoms.cpp: what executes flat code.
#include "interpret/kernel/code.h"
#include "interpret/kernel/findings.h"
#include "interpret/kernel/storage.h"
#include <deque>

namespace tang::interpret::simulator {

/// Storage of one buffer of the program.
struct BufferState {
  Storage* memory = nullptr;
  size_t begin = 0; ///< its first byte
  ElemType type = ElemType::f32;
  int64_t elements = 0;
  int align = 16;
  uint8_t tag = 0;
  std::vector<Cell> cells; ///< per element
};

/// A buffer as a launch binds it to a parameter.
struct Bound {
  BufferState* buffer = nullptr;
  int64_t offset = 0;  ///< elements
  bool shared = false; ///< the launch reads and writes the buffer
};

struct LaunchArguments {
  std::vector<Bound> bound; ///< per Kernel::params
  std::vector<int64_t> scalars, blocks;
  uint32_t number = 1; ///< of the launch, from 1
};

/// The active threads, ascending.
struct Mask {
  std::vector<uint32_t> lanes;
  bool all = true; ///< every thread of the block
};

class Machine {
public:
  Machine(const CompiledKernel& code, Findings& findings, Counts& counts);
  void launch(const LaunchArguments& arguments);

private:
  /// Where each lane's access lies, in elements of its tensor.
  struct Resolved {
    const Access* access = nullptr;
    const Word* offsets = nullptr;
    size_t stride = 0;
    const Mask* lanes = nullptr; ///< those in range
    int64_t operator()(size_t lane) const { return integer_of(offsets[lane * stride]); }
  };
  /// Asynchronous moves of a thread: cells of shared memory, in groups.
  using Cells = std::pair<uint32_t, uint32_t>; ///< first, end
  struct Flights {
    std::deque<std::vector<Cells>> closed;
    std::vector<Cells> open;
  };
  /// What an element holds, as its type's register does.
  struct Held {
    Word word = 0;
    bool written = false;
  };

  // machine.cpp
  void begin_block(int64_t number);
  void run(uint32_t body, const Mask& mask);
  void execute(const Instruction& i, const Mask& mask);
  void loop(const Instruction& i, const Mask& mask);
  void branch(const Instruction& i, const Mask& mask);
  void filter(const Mask& mask, Slot condition, bool wanted, Mask& out) const;
  void delinearize(const Instruction& i, const Mask& mask);
  void shuffle(const Instruction& i, const Mask& mask);
  void barrier(const Instruction& i, const Mask& mask);
  int64_t warps_of(const Mask& mask) const;
  Finding* fault(Fault fault, const Instruction& i, uint32_t lane, const Access* access = nullptr);
  Mask& new_mask();

  Word* words(Slot slot) { return &words_[slot.at]; }
  const Word* words(Slot slot) const { return &words_[slot.at]; }
  int64_t uniform(Slot slot) const { return integer_of(words_[slot.at]); }
  static size_t stride(Slot slot) { return slot.varies ? 1 : 0; }
  /// Runs `f` for the lanes of a mask, or once for all with lane 0.
  template <class F>
  void each(const Mask& mask, bool varies, F&& f) const {
    if (!varies)
      f(size_t{0});
    else if (mask.all)
      for (size_t t = 0; t < threads_; ++t) f(t);
    else
      for (uint32_t t : mask.lanes) f(size_t{t});
  }
  template <class F>
  void map1(const Instruction& i, const Mask& mask, F&& f);
  template <class F>
  void map2(const Instruction& i, const Mask& mask, F&& f);

  // arithmetic.cpp
  void unary(const Instruction& i, const Mask& mask);
  void binary(const Instruction& i, const Mask& mask);
  void binary_real(const Instruction& i, const Mask& mask);
  void binary_integer(const Instruction& i, const Mask& mask);
  void select(const Instruction& i, const Mask& mask);
  void convert(const Instruction& i, const Mask& mask);
  void round(const Instruction& i, const Mask& mask);

  // accesses.cpp
  const kernel::Tensor& tensor(const Access& access) const { return kernel_[access.tensor]; }
  Resolved resolve(const Instruction& i, uint32_t access, const Mask& mask, int width);
  bool is_outside(const Access& access, size_t lane, int width) const;
  int64_t room(const Access& access) const;
  const Mask& guarded(Slot predicate, const Mask& mask);
  void element(const Instruction& i, const Mask& mask);
  void load(const Instruction& i, const Mask& mask);
  void store(const Instruction& i, const Mask& mask);
  void copy(const Instruction& i, const Mask& mask);
  void allocate(const Instruction& i, const Mask& mask);
  size_t register_at(const Access& access, size_t lane, int64_t element) const {
    return static_cast<size_t>(code_.places[access.tensor.value].begin + element) * threads_ + lane;
  }

  // visits.cpp
  Held fetch(const Instruction& i, const Access& access, size_t lane, int64_t element);
  void put(const Instruction& i, const Access& access, size_t lane, int64_t element, Held held);
  Held read_global(const Instruction& i, const Access& access, size_t lane, int64_t element);
  void write_global(const Instruction& i, const Access& access, size_t lane, int64_t element,
                    Held held);
  Held read_shared(const Instruction& i, const Access& access, size_t lane, int64_t element);
  void write_shared(const Instruction& i, const Access& access, size_t lane, int64_t element,
                    Held held);
  Cells cells_of(const Access& access, int64_t element) const;
  /// Counts an access of `width` elements a lane, and checks that vectors are aligned.
  void count(const Instruction& i, const Resolved& at, int width, bool write);
  void check_alignment(const Instruction& i, const Resolved& at, int64_t bytes);
  int64_t address(const Access& access, int64_t element) const;

  // atoms.cpp
  void atom(const Instruction& i, const Mask& mask);
  void commit(const AtomUse& use, const Mask& mask);
  void wait(const AtomUse& use, const Mask& mask);
  void move(const Instruction& i, const AtomUse& use, const Mask& mask);
  void matmul(const Instruction& i, const AtomUse& use, const Mask& mask);
  /// Operands of which only some lanes give an address: those lanes.
  const Mask& givers(const AtomUse& use, size_t operand, const Mask& mask);
  bool gather(const Instruction& i, const AtomUse& use, size_t operand, const Resolved& at,
              const RowMap::Box& box, uint32_t first, std::vector<double>& dense);
  const Mask& whole_groups(const Instruction& i, const AtomUse& use, const Mask& mask);
  void take_off(const AtomUse& use, const Access& access, size_t lane, int64_t element, int count);

  const CompiledKernel& code_;
  const kernel::Kernel& kernel_;
  Findings& findings_;
  Counts& counts_;
  size_t threads_;
  std::vector<Word> words_;
  std::vector<Word> registers_;
  std::vector<uint8_t> register_written_;
  Storage shared_;
  std::vector<Cell> shared_cells_;
  std::vector<uint32_t> copied_by_; ///< per cell: thread + 1 of a copy under way
  std::vector<Flights> flights_;    ///< by token, then thread
  std::vector<Bound> bound_;        ///< by tensor
  Mask everybody_;
  std::deque<Mask> masks_; ///< in use, by nesting
  size_t masks_used_ = 0;
  std::vector<double> dense_[3];
  Visitor visitor_;
  uint32_t block_run_ = 0;
  int64_t block_ = 0;
};

} // namespace tang::interpret::simulator
