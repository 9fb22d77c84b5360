/* The cluster: nodes, devices per node, the device profile and the link levels between devices.
 *
 * Units are part of the key names in the file (bandwidth_GBps, memory_GiB, latency_us) and are converted to SI once, in
 * sl_cluster_load: everything in these structs is in bytes, seconds, flop/s and byte/s. cluster.c has the file format,
 * cluster/provenance.h the sources of the numbers. */
#pragma once

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/op/measured.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum sl_device_kind { SL_DEVICE_CPU, SL_DEVICE_GPU };
/* Attention kernels that do not form the matrix of scores: FlashAttention 1 (arXiv:2205.14135), 2 (arXiv:2307.08691)
 * and 3 (arXiv:2407.08608), and cuDNN's. */
enum sl_flash { SL_FLASH_1, SL_FLASH_2, SL_FLASH_3, SL_FLASH_CUDNN, SL_FLASH_COUNT };

/* One device (a GPU; or one rank's share of a CPU, whose `cores` are shared by the ranks of a node). For a cpu, `peak`
 * is of one core; memory, its bandwidth and the cache are of one node. Peak 0: the device does not compute in that
 * type. */
struct sl_device {
  char name[64];
  enum sl_device_kind kind;
  int64_t memory;                /* bytes: memory_GiB */
  int64_t device_memory;         /* bytes that a rank's arena may use; 0 = not given: device_memory_GiB */
  double peak[SL_DTYPE_COUNT];   /* flop/s of dense matrix products by input type: peak_TFLOPS {"fp32":..,"bf16":..} */
  double memory_bandwidth;       /* byte/s: memory_bandwidth_GBps */
  double gemm_efficiency;        /* share of peak that a large GEMM reaches */
  double gemm_half_flops;        /* flops at which a GEMM reaches half of that efficiency: eff(f) = e f / (f + half) */
  double attention_efficiency;   /* share of peak that attention reaches */
  double elementwise_efficiency; /* share of memory bandwidth that everything else reaches */
  double launch_latency;         /* seconds per op: launch_us */
  double step_overhead;          /* seconds per optimizer step outside the ops */
  /* gpu only, for costs by the structure of its kernels (cost/gemm.h, cost/attention.h); 0 = not given: costs by
   * flops */
  int sm_count;                               /* streaming multiprocessors, or AMD's compute units */
  double compute_capability;                  /* NVIDIA's: 8.0 for an A100, 9.0 for an H100 */
  double batched_gemm_efficiency;             /* share of peak for the products of materialised attention */
  /* factors on the time of products, at least 1 (cost/gemm.h): where a row is a multiple of 4 bytes but not of 16, and
   * where it is not even that; odd_gemm_slowdown 0: as the other */
  double unaligned_gemm_slowdown, odd_gemm_slowdown;
  double flash_efficiency[SL_FLASH_COUNT][2]; /* share of peak, forward and backward: flash2_forward_efficiency */
  double flash_half_tokens;                   /* sequence length at which flash attention is half as fast */
  /* for offload; 0 = not given */
  /* byte/s between one device and host memory, each way: host_link_GBps. For a cpu, whose two memories are one, copies
   * are limited by it */
  double host_link;
  double host_link_pageable;    /* the same if that memory is not pinned; 0: as fast: host_link_pageable_GBps */
  double host_bandwidth;        /* gpu only: byte/s of a node's host memory: host_bandwidth_GBps */
  double nvme_read, nvme_write; /* byte/s of a node's NVMe: nvme_read_GBps, nvme_write_GBps */
  double nvme_read_latency, nvme_write_latency; /* additional seconds per block: nvme_read_us, nvme_write_us */
  /* cpu only */
  int cores;             /* of one node */
  double comm_cpu_share; /* share of a transfer's time that is lost to compute on the same core */
  int64_t context_bytes; /* memory outside the arena, per process: libraries, MPI or CUDA context */
  int64_t
      communicator_bytes; /* and per communicator of the collective library (plan/communicators.h): communicator_MiB */
  /* small buffers on a CPU that stay in the cache; 0 bytes = not modelled */
  int64_t cache_bytes;
  double cache_bandwidth;
  double run_noise;       /* see sl_device_run_noise; 0: unknown */
  double run_noise_slope; /* 0 to 0.5 */
  int rounds;             /* rounds of the calibration, of which the costs are medians; 0: unknown */
  double error_scale;     /* factor by which the errors of whole steps exceeded those of their entries; 0 = 1 */
  /* standard deviation of ln(predicted / measured) of steps that were priced by formulas; 0: unknown */
  double formula_scatter;
  /* the same for steps on installations to which nothing was fitted; 0: unknown */
  double installation_scatter;
};

/* How NCCL classifies the links of a level, which determines its latencies: nccl_hop, "nvlink", "pcie" or "network".
 * PLAIN: collectives over the level do not use NCCL, or were measured; every step has latency_us. Otherwise a hop has
 * NCCL's own figure if latency_us is that (nvlink 3.4, pcie 5.7, network 14), and as much more or less as it differs. */
enum sl_hop { SL_HOP_PLAIN, SL_HOP_NVLINK, SL_HOP_PCIE, SL_HOP_NETWORK, SL_HOP_COUNT };

/* One level of the interconnect. Ranks in a unit of this level communicate at this bandwidth (byte/s per device and
 * direction; a ring through several members of a unit leaves it over the links of all) and latency (s per message).
 * Level 0 is the innermost (NVLink, or shared memory on a CPU node). */
struct sl_link {
  char name[32];
  int64_t span;     /* devices in one unit of this level; INT64_MAX: all (no "span" in the file) */
  double bandwidth; /* bandwidth_GBps */
  double latency;   /* latency_us: of a message, and of a hop of NCCL's rings (by its protocol Simple) */
  /* seconds per message of a ring on a unit's way out, one message after the other; only of a network: message_us */
  double message;
  /* message size that reaches half of the bandwidth, a ramp in addition to alpha-beta's latency; 0 = none */
  double half_bytes;
  /* share of the bandwidth that a collective reaches between two units of the next inner level (0 is read as 1) ... */
  double bandwidth_share;
  double bandwidth_decay; /* ... in a job of N nodes it falls as (N / 2)^-decay; 0: constant */
  enum sl_hop hop;        /* for a ring over several levels: that of the innermost level it crosses */
  int nodes;              /* for a ring of NCCL: number of nodes it visits; else 0 */
  /* for a ring of NCCL: seconds that latency_us has beyond NCCL's own hop (cost/topology.h), a hop within nodes and
   * between them; below 0: fewer */
  double inside_extra, across_extra;
  /* for a ring: its bandwidth by data sheets, independent of the share it reaches; 0: the same as `bandwidth` */
  double nominal;
};

enum { SL_MAX_LINKS = 4 };

struct sl_cluster {
  char name[64];
  /* The framework of an installation that is known for its own one: rows of a table of measurements that say "megatron"
   * mean this framework, which follows Megatron's parallelism (table/inputs.h). "" (no "framework" in the file):
   * Megatron itself. */
  char framework[32];
  int64_t nodes, devices_per_node; /* nodes 0 = as many as the world needs */
  int64_t host_memory, nvme;       /* bytes per node, beside its GPUs: host_memory_GiB, nvme_GiB; 0: unknown */
  struct sl_device device;
  int n_link;
  struct sl_link link[SL_MAX_LINKS];
  /* The host's seconds for a call over those of a kernel set (cluster/kernel_costs.h), which are those of an H100's
   * hosts where they were fitted: host_slowdown. 0 is read as 1. */
  double host_slowdown;
  /* seconds that a host loses at each tensor-parallel collective while a pipeline crosses nodes: pipeline_stall_us */
  double pipeline_stall;
  struct sl_op_costs op_costs; /* owned; measured ops, used instead of the formulas for the device and the links */
  /* Where each number of the device and the links comes from (cluster/provenance.h), as the file says, or that it does
   * not say. Owned; NULL if no file was read. Code that changes a number records it here with sl_annotation_set. */
  json_t *annotations;
};

/* Loads a cluster. `spec`: a preset ("localhost", "dgx-a100-80g", ...), a device ("h100-sxm", ...) for its usual
 * cluster, the path or the text of a cluster.json, or the name of a profile next to the program (profiles/README.md).
 * "localhost" takes cores and memory from this machine. On failure nothing is allocated; otherwise free it with
 * sl_cluster_free. Errors: SL_ERR_INPUT with place and key or, for an unknown name, with similar ones; SL_ERR_IO if the
 * file cannot be read; SL_ERR_MEMORY. */
enum sl_status sl_cluster_load(struct sl_cluster *cluster, const char *spec);
/* Does `spec` name a preset, a file or a profile? Its contents may still be invalid. */
bool sl_cluster_is_known(const char *spec);
enum sl_status sl_cluster_from_json(struct sl_cluster *cluster, const struct sl_json *doc);
/* Standard deviation of ln(median step time of a run) from run to run, for steps of `step_s` seconds:
 *   run_noise (step_s / 0.1 s)^-run_noise_slope, at least 0.5 %; 0 if run_noise is 0
 * A disturbance much shorter than a step averages out over it, as 1 / sqrt(step_s): slope 0.5; a state that outlasts
 * the step does not: slope 0. */
double sl_device_run_noise(const struct sl_device *device, double step_s);
/* byte/s of a copy between device and host memory by an op with `flags`; 0: no link is given. */
double sl_device_copy_rate(const struct sl_device *device, unsigned flags);
/* The same for the median of `n` runs at different times (below 1: of one): times sqrt(pi / (2 n + pi - 2)). That is 1
 * for one run and the theoretical value for many normal ones; in between it is 1 % too small for 3 and 5, 11 % too
 * large for 2. */
double sl_device_median_noise(const struct sl_device *device, double step_s, int64_t n);
/* Changes the devices per node, for a job that uses part of every node or a table's installation with other nodes. Links
 * that ended with the node still do. One that joins several nodes joins as many where only a part of each is used; one
 * inside a node joins as many devices as divide both sizes. */
void sl_cluster_resize_nodes(struct sl_cluster *cluster, int64_t devices);
/* Divides a job of `world` devices evenly over the domains of a link that joins several nodes, where it needs more than
 * one: a scheduler is told to keep as many nodes together as divide the job's (Slurm's --segment; Megatron Bridge's
 * scripts/performance/utils/executors.py of 067f987 takes the most that do). So 32 nodes of NVL72 are two domains of
 * 16, not 18 and 14, and a stage of 32 devices lies in one. Where no number of nodes from half a domain up divides the
 * job's, domains are filled one by one, and so they are where the job has a part of a node. An outer link joins whole
 * inner domains. */
void sl_cluster_align(struct sl_cluster *cluster, int64_t world);
/* Frees the measured ops and the annotations; accepts a zeroed cluster. */
void sl_cluster_free(struct sl_cluster *cluster);
/* The slowest link within a group of devices first, first+stride, ... (`count` of them), numbered node by node. */
const struct sl_link *sl_cluster_link(const struct sl_cluster *cluster, int64_t first, int64_t stride, int64_t count);
/* The cluster as a cluster.json, with a "<key>_source" beside each number of the device and the links, and a
 * "<key>_stderr" where one is known; a new reference. */
json_t *sl_cluster_to_json(const struct sl_cluster *cluster);
const char *sl_cluster_preset_name(int i);
