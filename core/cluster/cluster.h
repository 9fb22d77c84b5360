/* The cluster: nodes, devices per node, the device profile and the link levels between devices.
 *
 * Units stand in the key names of the file (bandwidth_GBps, memory_GiB, latency_us) and are turned to SI once, in
 * sl_cluster_load: everything in these structs is bytes, seconds, flop/s and byte/s. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/op/measured.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sl_device_kind { SL_DEVICE_CPU, SL_DEVICE_GPU };
/* Kernels of attention that form no matrix of scores: FlashAttention 1 (arXiv:2205.14135), 2 (arXiv:2307.08691) and 3
 * (arXiv:2407.08608), and cuDNN's. */
enum sl_flash { SL_FLASH_1, SL_FLASH_2, SL_FLASH_3, SL_FLASH_CUDNN, SL_FLASH_COUNT };

/* One device (a GPU; or one rank's share of a CPU: `cores` are shared by the ranks of a node). Of a cpu, `peak` is of one core, and memory, its
 * bandwidth and the cache are of one node. A peak of 0: the device does not compute in that type. */
struct sl_device {
  char name[64];
  enum sl_device_kind kind;
  int64_t memory;                /* bytes: memory_GiB */
  int64_t device_memory;         /* bytes that a rank's arena may take; 0 = not given: device_memory_GiB */
  double peak[SL_DTYPE_COUNT];   /* flop/s of dense matrix products by input type: peak_TFLOPS {"fp32":..,"bf16":..} */
  double memory_bandwidth;       /* byte/s: memory_bandwidth_GBps */
  double gemm_efficiency;        /* share of peak that a large GEMM reaches */
  double gemm_half_flops;        /* flops at which a GEMM reaches half of that efficiency: eff(f) = e f / (f + half) */
  double attention_efficiency;   /* share of peak for the attention op */
  double elementwise_efficiency; /* share of memory bandwidth for everything else */
  double launch_latency;         /* seconds per op: launch_us */
  double step_overhead;          /* seconds per optimizer step outside the ops */
  /* gpu only, for costs by the structure of its kernels (cost/gemm.h, cost/attention.h); 0 = not given: by flops alone */
  int sm_count;                               /* streaming multiprocessors, or AMD's compute units */
  double compute_capability;                  /* NVIDIA's: 8.0 for an A100, 9.0 for an H100 */
  double batched_gemm_efficiency;             /* share of peak for the products of materialised attention */
  double unaligned_gemm_slowdown;             /* their time where a row is no multiple of 16 bytes; at least 1 */
  double flash_efficiency[SL_FLASH_COUNT][2]; /* share of peak, forward and backward: flash2_forward_efficiency */
  double flash_half_tokens;                   /* of a sequence, at which flash attention is half as fast */
  /* for offload; 0 = not given */
  double
      host_link; /* byte/s between one device and host memory, each way: host_link_GBps. Of a cpu, whose two memories are
                            one, copies are held to it */
  double host_link_pageable;    /* the same where that memory is not pinned; 0: as fast: host_link_pageable_GBps */
  double host_bandwidth;        /* gpu only: byte/s of a node's host memory: host_bandwidth_GBps */
  double nvme_read, nvme_write; /* byte/s of a node's NVMe: nvme_read_GBps, nvme_write_GBps */
  double nvme_read_latency, nvme_write_latency; /* seconds that a block takes beside: nvme_read_us, nvme_write_us */
  /* cpu only */
  int cores;             /* of one node */
  double comm_cpu_share; /* share of a transfer's time that the compute of the same core loses */
  int64_t context_bytes; /* memory outside the arena, per process: libraries, MPI or CUDA context */
  int64_t
      communicator_bytes; /* and for each communicator of the collective library (plan/communicators.h): communicator_MiB */
  /* cache-resident small buffers on a CPU; 0 bytes = not modelled */
  int64_t cache_bytes;
  double cache_bandwidth;
  double run_noise;       /* see sl_device_run_noise; 0: not known */
  double run_noise_slope; /* 0 to 0.5 */
  int rounds;             /* of the calibration, of which the costs are medians; 0: not known */
  double error_scale;     /* by which whole steps missed more than the errors of their entries say; 0 = 1 */
  double
      formula_scatter; /* standard deviation of ln(step time) by which steps missed that formulas priced; 0: not known */
  double installation_scatter; /* the same of steps on installations to which nothing was fitted; 0: not known */
};

/* What NCCL takes the links of a level for, by which it knows their latencies: nccl_hop, "nvlink", "pcie" or "network". PLAIN:
 * collectives over the level are not NCCL's, or were measured; they have latency_us for every step. */
enum sl_hop { SL_HOP_PLAIN, SL_HOP_NVLINK, SL_HOP_PCIE, SL_HOP_NETWORK, SL_HOP_COUNT };

/* One level of the interconnect: ranks that share a unit of this level talk at this bandwidth (per device and direction,
 * byte/s; a ring through several members of a unit leaves it by the links of all) and latency (s per message). Level 0
 * is the innermost (NVLink, or shared memory on a CPU node). */
struct sl_link {
  char name[32];
  int64_t span;     /* devices inside one unit of this level; INT64_MAX: all (no "span" in the file) */
  double bandwidth; /* bandwidth_GBps */
  double latency;   /* latency_us */
  double message; /* seconds that a unit's way out takes for each message of a ring, one after the other: message_us */
  double half_bytes; /* message size at half of the bandwidth: the ramp of alpha-beta beyond latency; 0 = none */
  double
      bandwidth_share; /* of the bandwidth that a collective attains between two units of the level inside (0 is read as 1) ... */
  double bandwidth_decay; /* ... with N nodes in the job it falls as (N / 2)^-decay; 0: not at all */
  enum sl_hop hop;        /* of a ring over several levels: the innermost one that it crosses */
  int nodes;              /* of a ring by NCCL: nodes that it visits; else 0 */
  double nominal;         /* of a ring: its bandwidth by data sheets, whatever it attains; 0: that is `bandwidth` */
};

enum { SL_MAX_LINKS = 4 };

struct sl_cluster {
  char name[64];
  /* What ran there, of an installation that is known for its own framework: what its rows of a table of measurements mean by
   * "megatron", whose parallelism it follows (table/inputs.h). "" (no "framework" in the file): they mean what they say. */
  char framework[32];
  int64_t nodes, devices_per_node; /* nodes 0 = as many as the world needs */
  int64_t host_memory, nvme;       /* bytes of a node, beside its GPUs: host_memory_GiB, nvme_GiB; 0: not known */
  struct sl_device device;
  int n_link;
  struct sl_link link[SL_MAX_LINKS];
  double
      pipeline_stall; /* seconds that a host loses at a tensor-parallel collective while a pipeline crosses nodes: pipeline_stall_us */
  struct sl_op_costs op_costs; /* owned; measured ops, which the formulas of the device and the links stand in for */
  /* Where each number of the device and the links comes from (cluster/provenance.h): what the file says, or that it says
   * nothing. Owned; NULL where no file was read. Who changes a number says so here, with sl_annotation_set. */
  json_t *annotations;
};

/* `spec`: a preset ("localhost", "dgx-a100-80g", ...), a device ("h100-sxm", ...) for the usual cluster of it, the path of a cluster.json, or the name of a profile beside the
 * program (profiles/README.md). "localhost" takes cores and memory from this machine. On failure nothing is held. */
enum sl_status sl_cluster_load(struct sl_cluster *cluster, const char *spec);
/* Is `spec` one of these? What it names may still be wrong. */
bool sl_cluster_is_known(const char *spec);
enum sl_status sl_cluster_from_json(struct sl_cluster *cluster, const struct sl_json *doc);
/* Standard deviation of ln(median step time of a run), from run to run, of steps of `step_s` seconds:
 *   run_noise (step_s / 0.1 s)^-run_noise_slope, at least 0.5 %; 0 where run_noise is
 * What disturbs a machine for much less than a step averages out over it, as 1 / sqrt(step_s): slope 0.5; a state that
 * outlasts the step does not: slope 0. */
double sl_device_run_noise(const struct sl_device *device, double step_s);
/* byte/s of a copy between device and host memory whose op has `flags`; 0: no link is given. */
double sl_device_copy_rate(const struct sl_device *device, unsigned flags);
/* The same of the median of `n` runs at different times (below 1: of one): times sqrt(pi / (2 n + pi - 2)). That
 * is 1 for one run and what theory has for many normal ones; between, 1 % too small for 3 and 5, 11 % too large for 2. */
double sl_device_median_noise(const struct sl_device *device, double step_s, int64_t n);
/* Nodes of `devices` each, as where a job takes a part of every node, or a table's installation has others: links that ended with the node end with it. */
void sl_cluster_resize_nodes(struct sl_cluster *cluster, int64_t devices);
/* Free the measured ops and the annotations; a zeroed cluster is fine. */
void sl_cluster_free(struct sl_cluster *cluster);
/* The slowest link that a group spans: devices first, first+stride, ... (count of them) numbered node by node. */
const struct sl_link *sl_cluster_link(const struct sl_cluster *cluster, int64_t first, int64_t stride, int64_t count);
/* As a cluster.json, with a "<key>_source" beside each number of the device and the links, and a "<key>_stderr" where one is
 * known; new reference. */
json_t *sl_cluster_to_json(const struct sl_cluster *cluster);
const char *sl_cluster_preset_name(int i);
