// Measures what the rows of a device file call `achievable`, and the least launch time and memory
// latency.
//   nvcc -O3 -arch=native measure_roofs.cu -o measure_roofs && ./measure_roofs
// Every figure is the best of several runs. Rates in bytes per second, times in seconds.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    cudaError_t status = (call);                                                                   \
    if (status != cudaSuccess) {                                                                   \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                              \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

__global__ void nothing() {}

__global__ void copy(const uint4* from, uint4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    to[i] = from[i];
}

// Reads `count` vectors `rounds` times, past the first-level cache.
__global__ void read(const uint4* from, size_t count, int rounds, unsigned* sink) {
  unsigned sum = 0;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
      uint4 v = __ldcg(from + i);
      sum += v.x ^ v.y ^ v.z ^ v.w;
    }
  if (sum == 0x12345678u) *sink = sum;
}

// Follows a chain of `steps` dependent loads; writes the shortest single step in clocks.
__global__ void chase(const unsigned* next, int steps, unsigned* shortest, unsigned* end) {
  unsigned at = 0, best = ~0u;
  for (int i = 0; i < steps; ++i) {
    unsigned before = clock();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(next + at) : "memory");
    if (at == ~0u) break; // waits for the load
    unsigned after = clock();
    best = min(best, after - before);
  }
  *shortest = best;
  *end = at;
}

template <class F>
double best_of(int runs, F&& f) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    CHECK(cudaEventRecord(begin));
    f();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms * 1e-3);
  }
  return best;
}

double graph_seconds(int nodes) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < nodes; ++i) nothing<<<1, 32, 0, stream>>>();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return best_of(50, [&] { CHECK(cudaGraphLaunch(exec, 0)); });
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int clock_khz, memory_khz;
  CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0));
  printf("%s: %d SMs, %d kHz, memory %d kHz x %d bits, L2 %d bytes, shared %zu per SM, %zu per "
         "block\n",
         p.name, p.multiProcessorCount, clock_khz, memory_khz, p.memoryBusWidth, p.l2CacheSize,
         p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin);
  size_t bytes = size_t(4) << 30, count = bytes / 16;
  uint4 *a, *b;
  unsigned* out;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc(&out, 64));
  CHECK(cudaMemset(a, 0, bytes));
  int grid = p.multiProcessorCount * 8;
  printf("dram copy   %.4g\n",
         2.0 * bytes / best_of(10, [&] { copy<<<grid * 16, 256>>>(a, b, count); }));
  printf("dram read   %.4g\n",
         1.0 * bytes / best_of(10, [&] { read<<<grid * 16, 256>>>(a, count, 1, out); }));
  for (size_t mib : {4, 8, 16, 24, 32, 48}) {
    size_t n = (mib << 20) / 16;
    double s = best_of(10, [&] { read<<<grid, 256>>>(a, n, 100, out); });
    printf("l2 read     %.4g at %zu MiB\n", 100.0 * n * 16 / s, mib);
  }
  // Steps of 4 KiB + 256 B reach a cold line each time; the pages' translations are mostly at hand.
  size_t words = bytes / 4, step = (4096 + 256) / 4;
  std::vector<unsigned> next(words, 0);
  size_t at = 0;
  for (int i = 0; i < 1500; ++i) next[at] = unsigned((at + step) % words), at = (at + step) % words;
  CHECK(cudaMemcpy(a, next.data(), bytes, cudaMemcpyHostToDevice));
  unsigned host[2];
  unsigned dram = ~0u, l2 = ~0u;
  for (int i = 0; i < 20; ++i) {
    CHECK(cudaMemset(b, i, bytes));
    chase<<<1, 1>>>((unsigned*)a, 1400, out, out + 1);
    CHECK(cudaMemcpy(host, out, 8, cudaMemcpyDeviceToHost));
    dram = std::min(dram, host[0]);
  }
  for (int i = 0; i < 20; ++i) {
    chase<<<1, 1>>>((unsigned*)a, 1, out, out + 1);
    CHECK(cudaMemcpy(host, out, 8, cudaMemcpyDeviceToHost));
    l2 = std::min(l2, host[0]);
  }
  printf("latency     dram %u clocks, l2 %u clocks; %.4g s and %.4g s at %d kHz\n", dram, l2,
         dram / (clock_khz * 1e3), l2 / (clock_khz * 1e3), clock_khz);
  printf("launch      one %.4g, stream step %.4g, graph node %.4g\n",
         best_of(1000, [] { nothing<<<1, 32>>>(); }),
         (best_of(50,
                  [] {
                    for (int i = 0; i < 1000; ++i) nothing<<<1, 32>>>();
                  })) /
             1000,
         (graph_seconds(2000) - graph_seconds(1000)) / 1000);
  return 0;
}
