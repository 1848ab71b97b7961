#include "base/sha256.h"
#include <catch2/catch.hpp>

using tang::sha256_hex;

TEST_CASE("the examples of FIPS 180-4", "[sha256]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("messages that end near the end of a block", "[sha256]") {
  // From Python's hashlib.
  const std::pair<size_t, std::string> digests[] = {
      {55, "7f3f4ffc5fd34d4c82882ac3ceb07f91f024a89e9acf17ddfa1adfc5414ca462"},
      {56, "af30120523cd128747c4677e319a794c0fed388b93eff8dfaff816e62d554d0b"},
      {63, "0a199f3d6d83d12a62bb2ab8206397322cfed4897b6047bf87bf30c3af81a4fe"},
      {64, "43feb5ce5c853639814437c560a65ee04e9f82401d130e3ea419b7d017a8212c"},
      {65, "75146349a825a55f25a2d165cdf85ccd0c7c3b25a80a9d09b11051e6dba17881"},
      {119, "aa44a2157df6fc73ea18a1a8dcc51050a5507f3f77df2fdd7671457139a89445"},
      {120, "fb8bc8388c49d0c35823851d40f68b6aad6f3acc09076c9beb5b0ce9666bfac7"},
      {128, "26a08d2b095e454d827a35715a64ccde115731d5526a02ee5c2b28ce93295ede"}};
  for (const auto& [size, digest] : digests) {
    std::string message;
    for (size_t i = 0; i < size; ++i) message += static_cast<char>(i * 7 + 250);
    CHECK(sha256_hex(message) == digest);
  }
}
