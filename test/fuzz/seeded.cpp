// A fuzz target as an ordinary program: mutates its corpus for some seconds from a stated seed.
//
//   fuzz_parser [--seed N] [--seconds S] [--runs N] [FILE...]
//
// The same seed runs the same inputs in the same order. With files it runs just those. A fault
// prints the input, made smaller, and how to run it again; exit 1.
#include "fuzz.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

namespace {

using tang::fuzz::Bytes;

constexpr unsigned seconds_per_input = 30;

/// What runs now, for the handler of signals, which may not allocate.
const uint8_t* running_data = nullptr;
size_t running_size = 0;

void say(const char* text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

extern "C" void on_signal(int number) {
  say(number == SIGALRM ? "\nan input runs for more than 30 s" : "\na signal stopped an input");
  say("; it is in fault.input, run it again by naming that file\n");
  if (std::FILE* file = std::fopen("fault.input", "wb")) {
    std::fwrite(running_data, 1, running_size, file);
    std::fclose(file);
  }
  _exit(1);
}

std::string run(const Bytes& input) {
  running_data = input.data(), running_size = input.size();
  alarm(seconds_per_input);
  std::string fault = tang::fuzz::fault_of(input);
  alarm(0);
  return fault;
}

class Mutator {
public:
  Mutator(uint64_t seed)
      : random_(seed), corpus_(tang::fuzz::initial_corpus()), words_(tang::fuzz::dictionary()) {}

  Bytes next() {
    if (corpus_.empty()) {
      Bytes bytes(pick(16, 600));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
      return bytes;
    }
    Bytes bytes = corpus_[pick(0, corpus_.size() - 1)];
    // Often a part of a file: small inputs reach as far, sooner.
    if (pick(0, 2) == 0 && bytes.size() > 400) cut_to_part(bytes);
    for (size_t k = size_t{1} << pick(0, 4); k > 0; --k) mutate(bytes);
    return bytes;
  }

private:
  size_t pick(size_t lo, size_t hi) { return lo + static_cast<size_t>(random_() % (hi - lo + 1)); }

  void cut_to_part(Bytes& bytes) {
    size_t begin = pick(0, bytes.size() - 200), end = begin + pick(50, 200);
    Bytes part(bytes.begin(), bytes.begin() + 5); // the first statement, in most files
    part.insert(part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                bytes.begin() + static_cast<std::ptrdiff_t>(end));
    bytes = std::move(part);
  }

  static bool in_word(uint8_t c) { return std::isalnum(c) || c == '_'; }

  /// A word, a number or a single character around a random place.
  std::pair<size_t, size_t> token(const Bytes& bytes) {
    size_t begin = pick(0, bytes.size() - 1), end = begin + 1;
    if (in_word(bytes[begin])) {
      while (begin > 0 && in_word(bytes[begin - 1])) --begin;
      while (end < bytes.size() && in_word(bytes[end])) ++end;
    }
    return {begin, end};
  }
  std::pair<size_t, size_t> line(const Bytes& bytes) {
    size_t begin = pick(0, bytes.size() - 1), end = begin;
    while (begin > 0 && bytes[begin - 1] != '\n') --begin;
    while (end < bytes.size() && bytes[end] != '\n') ++end;
    return {begin, std::min(end + 1, bytes.size())};
  }

  template <class Text>
  static void replace(Bytes& bytes, std::pair<size_t, size_t> range, const Text& text) {
    auto at = bytes.begin() + static_cast<std::ptrdiff_t>(range.first);
    at = bytes.erase(at, bytes.begin() + static_cast<std::ptrdiff_t>(range.second));
    bytes.insert(at, text.begin(), text.end());
  }
  static Bytes copy(const Bytes& bytes, std::pair<size_t, size_t> range) {
    return {bytes.begin() + static_cast<std::ptrdiff_t>(range.first),
            bytes.begin() + static_cast<std::ptrdiff_t>(range.second)};
  }

  void mutate(Bytes& bytes) {
    if (bytes.empty()) bytes.push_back('x');
    const Bytes& other = corpus_[pick(0, corpus_.size() - 1)];
    std::string word = words_.empty() ? "x" : words_[pick(0, words_.size() - 1)];
    auto here = token(bytes);
    switch (pick(0, 11)) {
    case 0: bytes[pick(0, bytes.size() - 1)] = static_cast<uint8_t>(random_()); break;
    case 1: replace(bytes, here, std::string()); break;
    case 2: replace(bytes, here, word); break;
    case 3: replace(bytes, {here.first, here.first}, word + " "); break;
    case 4: replace(bytes, here, copy(bytes, token(bytes))); break;
    case 5: replace(bytes, here, copy(other, token(other))); break;
    case 6: replace(bytes, line(bytes), std::string()); break;
    case 7: replace(bytes, line(bytes), copy(other, line(other))); break;
    case 8: {
      size_t at = line(bytes).first;
      replace(bytes, {at, at}, copy(other, line(other)));
      break;
    }
    case 9: {
      size_t at = line(bytes).first;
      replace(bytes, {at, at}, copy(bytes, line(bytes)));
      break;
    }
    case 10: {
      Bytes again = copy(bytes, here), many;
      for (size_t k = pick(2, 40); k > 0; --k) many.insert(many.end(), again.begin(), again.end());
      replace(bytes, here, many);
      break;
    }
    default: replace(bytes, here, std::to_string(pick(0, 40))); break;
    }
    if (bytes.size() > 20000) bytes.resize(20000);
  }

  std::mt19937_64 random_;
  std::vector<Bytes> corpus_;
  std::vector<std::string> words_;
};

/// Drops ever smaller parts while anything still goes wrong.
Bytes smaller(Bytes input) {
  for (size_t size = input.size() / 2; size > 0; size /= 2)
    for (size_t begin = 0; begin + size <= input.size();) {
      Bytes less = input;
      auto at = less.begin() + static_cast<std::ptrdiff_t>(begin);
      less.erase(at, at + static_cast<std::ptrdiff_t>(size));
      if (run(less).empty())
        begin += size;
      else
        input = std::move(less);
    }
  return input;
}

int report(Bytes input, std::string fault) {
  if (tang::fuzz::shrinks_by_bytes()) {
    input = smaller(std::move(input));
    fault = run(input);
  }
  std::ofstream("fault.input", std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
  std::printf("%s\nthe input is in fault.input; run it again by naming that file\n", fault.c_str());
  return 1;
}

int run_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::printf("cannot read %s\n", file.c_str());
      return 2;
    }
    std::string text{std::istreambuf_iterator<char>(in), {}};
    std::string fault = run(Bytes(text.begin(), text.end()));
    if (!fault.empty()) {
      std::printf("%s: %s\n", file.c_str(), fault.c_str());
      return 1;
    }
  }
  std::printf("%zu files, no fault\n", files.size());
  return 0;
}

} // namespace

void tang::fuzz::still_alive() {
  alarm(seconds_per_input);
}

int main(int argc, char** argv) {
  uint64_t seed = 1, runs = UINT64_MAX;
  double seconds = 15;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool has_value = i + 1 < argc;
    if (word == "--seed" && has_value)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (word == "--seconds" && has_value)
      seconds = std::strtod(argv[++i], nullptr);
    else if (word == "--runs" && has_value)
      runs = std::strtoull(argv[++i], nullptr, 10);
    else
      files.push_back(word);
  }
  for (int number : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(number, on_signal);
  if (!files.empty()) return run_files(files);

  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  Mutator mutator(seed);
  uint64_t count = 0;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  for (; count < runs; ++count) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    Bytes input = mutator.next();
    std::string fault = run(input);
    if (fault.empty()) continue;
    std::printf("input %llu of seed %llu:\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(seed));
    return report(std::move(input), std::move(fault));
  }
  std::printf("%llu inputs, no fault; %s\n", static_cast<unsigned long long>(count),
              tang::fuzz::statistics().c_str());
  return count > 0 ? 0 : 1;
}
