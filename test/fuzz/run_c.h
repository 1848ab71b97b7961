#pragma once
// Generated C, compiled and called in this process.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tang::fuzz {

/// A loaded translation unit. Compiled in memory by TinyCC where the build found it (milliseconds a
/// program), else by `cc`.
class CompiledC {
public:
  /// Null, with the compiler's words in `error`, where it does not compile.
  static std::unique_ptr<CompiledC> compile(const std::string& source, std::string& error);
  /// The same by `cc -std=c11 -O2`, whatever is there: a second opinion.
  static std::unique_ptr<CompiledC> compile_with_cc(const std::string& source, std::string& error);
  virtual ~CompiledC() = default;
  /// The address of an external function.
  virtual void* symbol(const std::string& name) = 0;
};

/// Memory between two pages that cannot be touched, its end at the second: an access outside is a
/// signal at once. The 64 bytes before it and what alignment leaves behind it are watched.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }
  /// Whether the bytes around the memory are as they were.
  bool intact() const;

private:
  uint8_t* pages_ = nullptr;
  uint8_t* data_ = nullptr;
  size_t mapped_ = 0, bytes_ = 0;
};

/// Calls `f(context)`; false when it ended in SIGSEGV, SIGBUS or SIGFPE, or ran for seconds.
bool call_guarded(void (*f)(void*), void* context);

} // namespace tang::fuzz
