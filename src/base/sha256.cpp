// FIPS 180-4, section 6.2. Inputs are small; a library would cost more to load than this to run.
#include "base/sha256.h"
#include <array>
#include <bit>
#include <cstdint>
#include <fmt/format.h>

namespace tang {

namespace {

constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr size_t block_bytes = 64, length_bytes = 8;

class Sha256 {
public:
  /// Takes the next 64 bytes.
  void block(std::string_view bytes) {
    std::array<uint32_t, 64> w{};
    for (size_t i = 0; i < block_bytes; ++i)
      w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(bytes[i]);
    for (size_t i = 16; i < w.size(); ++i) {
      uint32_t near = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      uint32_t far = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      w[i] = near + w[i - 7] + far + w[i - 16];
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < w.size(); ++i) {
      uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
      uint32_t sum_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      uint32_t sum_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      uint32_t first = h + sum_e + choice + round_constants[i] + w[i];
      h = g, g = f, f = e, e = d + first;
      d = c, c = b, b = a, a = first + sum_a + majority;
    }
    const std::array<uint32_t, 8> after = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < after.size(); ++i) state_[i] += after[i];
  }

  std::string hex() const {
    std::string text;
    for (uint32_t word : state_) text += fmt::format("{:08x}", word);
    return text;
  }

private:
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

} // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  uint64_t bits = uint64_t{bytes.size()} * 8;
  for (; bytes.size() >= block_bytes; bytes.remove_prefix(block_bytes)) hash.block(bytes);
  // The rest, a one bit, zeros up to the last eight bytes of a block, the length.
  std::string last(bytes);
  last += '\x80';
  last.resize(last.size() > block_bytes - length_bytes ? 2 * block_bytes : block_bytes);
  for (size_t i = 1; i <= length_bytes; ++i, bits >>= 8)
    last[last.size() - i] = static_cast<char>(bits & 0xff);
  for (size_t at = 0; at < last.size(); at += block_bytes)
    hash.block(std::string_view(last).substr(at));
  return hash.hex();
}

} // namespace tang
