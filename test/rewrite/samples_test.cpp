// Every sample keeps its meaning through the passes and through the text form.
#include "run.h"
#include <set>

using namespace tang;
using namespace tang::rewrite;
using namespace tang::rewrite::test;

namespace {

struct Sample {
  const char* name;
  std::map<std::string, int64_t> dims;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"linear_relu", {{"M", 7}, {"K", 19}, {"N", 13}}},
      {"matmul", {{"M", 17}, {"N", 3}, {"K", 31}}},
      {"elementwise_chain", {{"M", 5}, {"N", 17}}},
      {"softmax", {{"M", 7}, {"N", 19}}},
      {"layer_norm", {{"M", 5}, {"N", 17}}},
      {"rms_norm", {{"M", 3}, {"N", 33}}},
      {"cross_entropy", {{"N", 9}, {"C", 17}}},
      {"conv2d", {{"N", 2}, {"C", 3}, {"K", 5}, {"OH", 5}, {"OW", 3}}},
      {"depthwise_conv", {{"N", 2}, {"C", 3}, {"H", 7}, {"W", 5}}},
      {"transposed_conv", {{"N", 2}, {"C", 3}, {"K", 2}, {"H", 5}, {"W", 3}}},
      {"resnet_block", {{"N", 1}, {"C", 3}, {"H", 7}, {"W", 5}}},
      {"attention", {{"B", 1}, {"H", 3}, {"Sq", 5}, {"Sk", 17}}},
      {"gqa_causal", {{"B", 1}, {"Sq", 3}, {"Sk", 7}}},
      {"sliding_window", {{"B", 1}, {"S", 19}, {"H", 2}, {"W", 3}}},
      {"alibi", {{"B", 2}, {"S", 7}, {"H", 3}}},
      {"rope", {{"B", 2}, {"T", 5}, {"H", 3}}},
      {"swiglu_mlp", {{"T", 5}, {"C", 17}, {"F", 33}}},
      {"transformer_block", {{"B", 2}, {"T", 3}, {"C", 17}, {"F", 19}, {"KV", 1}, {"G", 2}}},
      {"transformer_36", {{"B", 1}, {"T", 3}, {"V", 7}, {"C", 9}, {"F", 5}, {"KV", 1}, {"G", 1}}},
      {"embedding", {{"B", 2}, {"T", 5}, {"V", 11}, {"C", 7}}},
      {"paged_kv", {{"B", 3}, {"P", 5}, {"R", 3}, {"KV", 2}, {"G", 3}}},
      {"kv_append", {{"B", 3}, {"S", 5}, {"KV", 2}, {"D", 7}}},
      {"moe", {{"T", 5}, {"E", 5}, {"F", 7}, {"HB", 1}}},
      {"lstm_cell", {{"B", 3}, {"I", 5}, {"H", 7}}},
      {"lstm_sequence", {{"T", 9}, {"B", 3}, {"I", 2}, {"H", 5}}},
      {"gru_sequence", {{"T", 7}, {"B", 2}, {"I", 3}, {"H", 5}}},
      {"prefix_sum", {{"B", 3}, {"T", 37}}},
      {"selective_scan", {{"B", 2}, {"T", 17}, {"D", 3}, {"N", 5}}},
      {"linear_recurrence", {{"B", 2}, {"T", 13}}},
      {"ssd", {{"B", 1}, {"T", 70}, {"H", 1}}},
      {"gated_delta", {{"B", 1}, {"T", 70}, {"H", 1}}},
      {"gated_delta_scan", {{"B", 1}, {"T", 9}, {"H", 2}}},
      {"kmeans_step", {{"P", 33}, {"K", 5}, {"D", 3}}},
      {"nbody_step", {{"N", 17}}},
      {"int8_matmul", {{"M", 3}, {"N", 5}, {"K", 67}}},
      {"stencil3x3", {{"H", 7}, {"W", 9}}},
  };
  return all;
}

} // namespace

TEST_CASE("samples keep their meaning", "[samples]") {
  for (const Sample& sample : samples()) {
    INFO(sample.name);
    Graph g = graph_of(file_text(std::string("samples/") + sample.name + ".tg"));
    std::vector<int64_t> dims;
    for (const Dim& dim : g.dims) dims.push_back(sample.dims.at(dim.name));
    Graph after = rewritten(g);
    std::string text = to_text(after);
    INFO(text);
    CHECK(difference(g, after, dims) == "");
    // The text says the same, before and after.
    CHECK(difference(g, graph_of(to_text(g)), dims) == "");
    CHECK(difference(g, graph_of(text), dims) == "");
    // Only a scan in chunks takes more kernels than equations.
    bool chunks = text.find("# chunk_scans") != std::string::npos;
    CHECK(chunks == std::set<std::string>{"ssd", "gated_delta"}.contains(sample.name));
    if (!chunks) CHECK(after.nodes.size() <= g.nodes.size());
  }
}
