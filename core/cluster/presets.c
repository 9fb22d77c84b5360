/* The built-in clusters as cluster.json texts, read by the same code as a user's file. Each number says where it is
 * from: a data sheet, a measurement, or "guess". Memory is what a program sees, which is less than the data sheet's
 * figure. `shardlab calibrate` replaces guesses by measurements of the machine at hand. */
#include "core/cluster/presets.h"

#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* The text of its argument; the compiler turns line breaks into blanks. */
#define JSON(...) #__VA_ARGS__

/* clang-format off */
static const char dgx2_v100[] = JSON({
  "name": "dgx2-v100", "nodes": 0, "devices_per_node": 16,
  "device": {
    "name": "V100-SXM3-32GB", "kind": "gpu",
    "memory_GiB": 31.74, "memory_GiB_source": "PyTorch total_memory; data sheet 32 GB",
    "peak_TFLOPS": {
      "fp32": 15.7, "fp32_source": "NVIDIA V100 data sheet",
      "fp16": 125, "fp16_source": "NVIDIA V100 data sheet, tensor cores"
    },
    "memory_bandwidth_GBps": 900, "memory_bandwidth_GBps_source": "NVIDIA V100 data sheet",
    "gemm_efficiency": 0.8, "gemm_efficiency_source": "guess",
    "gemm_half_GFLOP": 0.5, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.3, "attention_efficiency_source": "guess",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 13, "host_link_GBps_source": "guess: PCIe 3.0 x16, less its protocol",
    "host_bandwidth_GBps": 256, "host_bandwidth_GBps_source": "data sheet: 2 x 6 channels of DDR4-2666",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "nvlink", "span": 16, "bandwidth_GBps": 120,
     "bandwidth_GBps_source": "NCCL 2.28.9 topo.h: 6 NVLinks of 20 GB/s; data sheet 150",
     "latency_us": 3.4, "latency_us_source": "NCCL 2.28.9 tuning.cc: NVLink hop, ring, Simple", "half_KiB": 512, "half_KiB_source": "guess"},
    {"name": "infiniband", "bandwidth_GBps": 6,
     "bandwidth_GBps_source": "NVIDIA DGX-2 data sheet: 8 x 100 Gb/s for 16 GPUs; NCCL 2.28.9 search.cc counts 12 GB/s of 12.5",
     "latency_us": 14, "latency_us_source": "NCCL 2.28.9 tuning.cc: network hop, ring, Simple", "half_KiB": 1024, "half_KiB_source": "guess"}
  ]
});

static const char dgx_a100_40g[] = JSON({
  "name": "dgx-a100-40g", "nodes": 0, "devices_per_node": 8,
  "device": {
    "name": "A100-SXM4-40GB", "kind": "gpu",
    "memory_GiB": 39.39, "memory_GiB_source": "PyTorch total_memory; data sheet 40 GB",
    "peak_TFLOPS": {
      "fp32": 19.5, "fp32_source": "NVIDIA A100 data sheet, no TF32",
      "tf32": 156, "tf32_source": "NVIDIA A100 data sheet, dense",
      "bf16": 312, "bf16_source": "NVIDIA A100 data sheet, dense",
      "fp16": 312, "fp16_source": "NVIDIA A100 data sheet, dense"
    },
    "memory_bandwidth_GBps": 1555, "memory_bandwidth_GBps_source": "NVIDIA A100 data sheet",
    "gemm_efficiency": 0.869, "gemm_efficiency_source": "stas00/ml-engineering, accelerator README: 271.2 of 312 TFLOPS",
    "gemm_half_GFLOP": 1, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.5,
    "attention_efficiency_source": "FlashAttention-2 on A100: 50 to 73 % of peak (arXiv:2307.08691, abstract); its lower end",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 26, "host_link_GBps_source": "guess: PCIe 4.0 x16, less its protocol",
    "host_bandwidth_GBps": 410, "host_bandwidth_GBps_source": "data sheet: 2 x 8 channels of DDR4-3200",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "nvlink", "span": 8, "bandwidth_GBps": 240,
     "bandwidth_GBps_source": "NCCL 2.28.9 topo.h: 12 NVLinks of 20 GB/s, of which nccl-tests reach 235; data sheet 300",
     "latency_us": 3.4, "latency_us_source": "NCCL 2.28.9 tuning.cc: NVLink hop, ring, Simple", "half_KiB": 512, "half_KiB_source": "guess"},
    {"name": "infiniband", "bandwidth_GBps": 24,
     "bandwidth_GBps_source": "NVIDIA DGX A100 data sheet: 8 x 200 Gb/s for 8 GPUs; NCCL 2.28.9 search.cc counts 24 GB/s of 25",
     "latency_us": 14, "latency_us_source": "NCCL 2.28.9 tuning.cc: network hop, ring, Simple", "half_KiB": 1024, "half_KiB_source": "guess"}
  ]
});

static const char dgx_a100_80g[] = JSON({
  "name": "dgx-a100-80g", "nodes": 0, "devices_per_node": 8,
  "device": {
    "name": "A100-SXM4-80GB", "kind": "gpu",
    "memory_GiB": 79.15, "memory_GiB_source": "PyTorch total_memory; data sheet 80 GB",
    "peak_TFLOPS": {
      "fp32": 19.5, "fp32_source": "NVIDIA A100 data sheet, no TF32",
      "tf32": 156, "tf32_source": "NVIDIA A100 data sheet, dense",
      "bf16": 312, "bf16_source": "NVIDIA A100 data sheet, dense",
      "fp16": 312, "fp16_source": "NVIDIA A100 data sheet, dense"
    },
    "memory_bandwidth_GBps": 2039, "memory_bandwidth_GBps_source": "NVIDIA A100 data sheet",
    "gemm_efficiency": 0.869, "gemm_efficiency_source": "stas00/ml-engineering, accelerator README: 271.2 of 312 TFLOPS",
    "gemm_half_GFLOP": 1, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.5,
    "attention_efficiency_source": "FlashAttention-2 on A100: 50 to 73 % of peak (arXiv:2307.08691, abstract); its lower end",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 26, "host_link_GBps_source": "guess: PCIe 4.0 x16, less its protocol",
    "host_bandwidth_GBps": 410, "host_bandwidth_GBps_source": "data sheet: 2 x 8 channels of DDR4-3200",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "nvlink", "span": 8, "bandwidth_GBps": 240,
     "bandwidth_GBps_source": "NCCL 2.28.9 topo.h: 12 NVLinks of 20 GB/s, of which nccl-tests reach 235; data sheet 300",
     "latency_us": 3.4, "latency_us_source": "NCCL 2.28.9 tuning.cc: NVLink hop, ring, Simple", "half_KiB": 512, "half_KiB_source": "guess"},
    {"name": "infiniband", "bandwidth_GBps": 24,
     "bandwidth_GBps_source": "NVIDIA DGX A100 data sheet: 8 x 200 Gb/s for 8 GPUs; NCCL 2.28.9 search.cc counts 24 GB/s of 25",
     "latency_us": 14, "latency_us_source": "NCCL 2.28.9 tuning.cc: network hop, ring, Simple", "half_KiB": 1024, "half_KiB_source": "guess"}
  ]
});

static const char dgx_h100[] = JSON({
  "name": "dgx-h100", "nodes": 0, "devices_per_node": 8,
  "device": {
    "name": "H100-SXM5-80GB", "kind": "gpu",
    "memory_GiB": 79.1, "memory_GiB_source": "PyTorch total_memory; data sheet 80 GB",
    "peak_TFLOPS": {
      "fp32": 67, "fp32_source": "NVIDIA H100 SXM data sheet, no TF32",
      "tf32": 494.7, "tf32_source": "NVIDIA H100 SXM data sheet, dense",
      "bf16": 989.4, "bf16_source": "NVIDIA H100 SXM data sheet, dense",
      "fp16": 989.4, "fp16_source": "NVIDIA H100 SXM data sheet, dense"
    },
    "memory_bandwidth_GBps": 3352, "memory_bandwidth_GBps_source": "NVIDIA H100 SXM data sheet",
    "gemm_efficiency": 0.803, "gemm_efficiency_source": "stas00/ml-engineering, accelerator README: 794.5 of 989 TFLOPS",
    "gemm_half_GFLOP": 3, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.35,
    "attention_efficiency_source": "FlashAttention-2 on H100: 35 % of peak (arXiv:2407.08608, abstract)",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 55, "host_link_GBps_source": "guess: PCIe 5.0 x16, less its protocol",
    "host_bandwidth_GBps": 614, "host_bandwidth_GBps_source": "data sheet: 2 x 8 channels of DDR5-4800",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "nvlink", "span": 8, "bandwidth_GBps": 370.8,
     "bandwidth_GBps_source": "NCCL 2.28.9 topo.h: 18 NVLinks of 20.6 GB/s, of which rings reach 365; data sheet 450",
     "latency_us": 3.4, "latency_us_source": "NCCL 2.28.9 tuning.cc: NVLink hop, ring, Simple", "half_KiB": 512, "half_KiB_source": "guess"},
    {"name": "infiniband", "bandwidth_GBps": 48,
     "bandwidth_GBps_source": "NVIDIA DGX H100 data sheet: 8 x 400 Gb/s for 8 GPUs; NCCL 2.28.9 search.cc counts 48 GB/s of 50",
     "latency_us": 14, "latency_us_source": "NCCL 2.28.9 tuning.cc: network hop, ring, Simple", "half_KiB": 1024, "half_KiB_source": "guess"}
  ]
});

static const char dgx_h200[] = JSON({
  "name": "dgx-h200", "nodes": 0, "devices_per_node": 8,
  "device": {
    "name": "H200-SXM5-141GB", "kind": "gpu",
    "memory_GiB": 139.8, "memory_GiB_source": "PyTorch total_memory; data sheet 141 GB",
    "peak_TFLOPS": {
      "fp32": 67, "fp32_source": "NVIDIA H100 SXM data sheet, no TF32",
      "tf32": 494.7, "tf32_source": "NVIDIA H100 SXM data sheet, dense",
      "bf16": 989.4, "bf16_source": "NVIDIA H100 SXM data sheet, dense",
      "fp16": 989.4, "fp16_source": "NVIDIA H100 SXM data sheet, dense"
    },
    "memory_bandwidth_GBps": 4800, "memory_bandwidth_GBps_source": "NVIDIA H200 data sheet",
    "gemm_efficiency": 0.803, "gemm_efficiency_source": "stas00/ml-engineering, accelerator README: 794.5 of 989 TFLOPS",
    "gemm_half_GFLOP": 3, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.35,
    "attention_efficiency_source": "FlashAttention-2 on H100: 35 % of peak (arXiv:2407.08608, abstract)",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 55, "host_link_GBps_source": "guess: PCIe 5.0 x16, less its protocol",
    "host_bandwidth_GBps": 614, "host_bandwidth_GBps_source": "data sheet: 2 x 8 channels of DDR5-4800",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "nvlink", "span": 8, "bandwidth_GBps": 370.8,
     "bandwidth_GBps_source": "NCCL 2.28.9 topo.h: 18 NVLinks of 20.6 GB/s, of which rings reach 365; data sheet 450",
     "latency_us": 3.4, "latency_us_source": "NCCL 2.28.9 tuning.cc: NVLink hop, ring, Simple", "half_KiB": 512, "half_KiB_source": "guess"},
    {"name": "infiniband", "bandwidth_GBps": 48,
     "bandwidth_GBps_source": "NVIDIA DGX H100 data sheet: 8 x 400 Gb/s for 8 GPUs; NCCL 2.28.9 search.cc counts 48 GB/s of 50",
     "latency_us": 14, "latency_us_source": "NCCL 2.28.9 tuning.cc: network hop, ring, Simple", "half_KiB": 1024, "half_KiB_source": "guess"}
  ]
});

/* One GPU. Several ranks on it meet through sockets on the loopback device, since NCCL refuses its faster ways there. */
static const char h200x1[] = JSON({
  "name": "h200x1", "nodes": 1, "devices_per_node": 1,
  "device": {
    "name": "H200-SXM5-141GB", "kind": "gpu",
    "memory_GiB": 139.8, "memory_GiB_source": "PyTorch total_memory; data sheet 141 GB",
    "peak_TFLOPS": {
      "fp32": 67, "fp32_source": "NVIDIA H100 SXM data sheet, no TF32",
      "tf32": 494.7, "tf32_source": "NVIDIA H100 SXM data sheet, dense",
      "bf16": 989.4, "bf16_source": "NVIDIA H100 SXM data sheet, dense",
      "fp16": 989.4, "fp16_source": "NVIDIA H100 SXM data sheet, dense"
    },
    "memory_bandwidth_GBps": 4800, "memory_bandwidth_GBps_source": "NVIDIA H200 data sheet",
    "gemm_efficiency": 0.803, "gemm_efficiency_source": "stas00/ml-engineering, accelerator README: 794.5 of 989 TFLOPS",
    "gemm_half_GFLOP": 3, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.35,
    "attention_efficiency_source": "FlashAttention-2 on H100: 35 % of peak (arXiv:2407.08608, abstract)",
    "elementwise_efficiency": 0.8, "elementwise_efficiency_source": "guess",
    "launch_us": 4, "launch_us_source": "guess",
    "host_link_GBps": 55, "host_link_GBps_source": "guess: PCIe 5.0 x16, less its protocol",
    "host_bandwidth_GBps": 614, "host_bandwidth_GBps_source": "data sheet: 2 x 8 channels of DDR5-4800",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "context_MiB": 1500, "context_MiB_source": "guess: CUDA context, cuBLAS and NCCL"
  },
  "links": [
    {"name": "loopback", "bandwidth_GBps": 2, "bandwidth_GBps_source": "guess",
     "latency_us": 30, "latency_us_source": "guess", "half_KiB": 256, "half_KiB_source": "guess"}
  ]
});

/* A printf format: devices per node, GiB, GB/s, cores. */
static const char localhost[] = JSON({
  "name": "localhost", "nodes": 1, "devices_per_node": %d,
  "device": {
    "name": "this machine", "kind": "cpu",
    "memory_GiB": %.6f, "memory_GiB_source": "sysconf, or the limit of the control group",
    "peak_TFLOPS": {
      "fp32": 0.112, "fp32_source": "guess: 32 flop per cycle (AVX2 FMA) at 3.5 GHz, one core",
      "fp64": 0.056, "fp64_source": "guess: 16 flop per cycle at 3.5 GHz, one core"
    },
    "memory_bandwidth_GBps": %d, "memory_bandwidth_GBps_source": "guess: 10 GB/s per core",
    "gemm_efficiency": 0.8, "gemm_efficiency_source": "guess",
    "gemm_half_GFLOP": 0.001, "gemm_half_GFLOP_source": "guess",
    "attention_efficiency": 0.3, "attention_efficiency_source": "guess",
    "elementwise_efficiency": 0.7, "elementwise_efficiency_source": "guess",
    "launch_us": 2, "launch_us_source": "guess",
    "step_overhead_ms": 0, "step_overhead_ms_source": "guess",
    "cores": %d, "cores_source": "sched_getaffinity",
    "comm_cpu_share": 0.5, "comm_cpu_share_source": "guess",
    "context_MiB": 48, "context_MiB_source": "guess: MPI and BLAS"
  },
  "links": [
    {"name": "shared memory", "bandwidth_GBps": 5, "bandwidth_GBps_source": "guess",
     "latency_us": 3, "latency_us_source": "guess", "half_KiB": 64, "half_KiB_source": "guess"}
  ]
});
/* clang-format on */

const struct sl_cluster_preset sl_cluster_presets[] = {
    {"localhost", NULL},
    {"dgx2-v100", dgx2_v100},
    {"dgx-a100-40g", dgx_a100_40g},
    {"dgx-a100-80g", dgx_a100_80g},
    {"dgx-h100", dgx_h100},
    {"dgx-h200", dgx_h200},
    {"h200x1", h200x1},
    {NULL, NULL},
};

static int count_cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set); /* what this process may use */
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (int)cores : 1;
}

/* Memory of the machine, or of the container where that is less. */
static double memory_bytes(void) {
  double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  FILE *file = fopen("/sys/fs/cgroup/memory.max", "r");
  if (file == NULL) return bytes;
  int64_t limit;
  if (fscanf(file, "%" SCNd64, &limit) == 1 && (double)limit < bytes) bytes = (double)limit;
  fclose(file);
  return bytes;
}

void sl_cluster_localhost(char *out, size_t size) {
  const int cores = count_cores();
  snprintf(out, size, localhost, cores, memory_bytes() / 0x1p30, 10 * cores, cores);
}
