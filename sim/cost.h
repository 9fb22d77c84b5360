/* Seconds of one op, from the device profile and the link levels of a cluster.
 *
 * Compute, f flops and b bytes of an op that a rank runs alone:
 *   gemm                     launch + max((f + half) / (peak e_gemm), b / (bw e_elem))   [efficiency e_gemm f / (f + half)]
 *   attention                launch + max(f / (peak e_attn), b / (bw e_elem))
 *   elementwise, optimizer   launch + min(b, cache) / cache_bw + max(0, b - cache) / (bw e_elem)   [cache 0: no such term]
 *   copy to or from host memory    launch + b / host_link, b the larger side
 *   on the host's own lane         launch + b / (host_bw / devices of a node)   [an offloaded optimizer is bound by bytes]
 *   control                  launch; the JOIN that ends a step program adds step_overhead
 * f and b are sl_op_flops and sl_op_bytes: what the kernel does, not what the model needs.
 *
 * Measured ops. Where the cluster has op_costs (a calibrated profile) with an entry for an op's kind and type, the entry
 * replaces the formula: launch + sum of its terms (core/op/measured.h), the entry being that of the number of ranks nearest to
 * those of the node (of a communication op: to its members). More ranks than cores take turns beyond the entry's own.
 * A gemm with an epilogue that has no entry of its own: that of the plain product + b' / (bw e_elem), b' the bytes that the
 * epilogue moves beside the product's operands.
 *
 * Sharing of a CPU node. The profile's `peak` is of ONE core; `memory_bandwidth`, `cache_bytes` and `cache_bandwidth`
 * are of the whole node. With r ranks on a node of c cores, a rank has max(1, c / r) threads, so peak x threads; it has
 * 1/r of the node's bandwidth and cache, since all ranks run the same program at the same time. r > c: the ranks take
 * turns, and everything that a core does (flops, launches, transfers) takes r / c times as long. A GPU's numbers are of
 * one GPU.
 *
 * Communication, S bytes (nccl-tests size) over n members, alpha and beta of the ring through them:
 *   ring all_reduce                 2 (n-1) alpha + 2 (n-1)/n S / beta(S)
 *   all_gather, reduce_scatter        (n-1) alpha +   (n-1)/n S / beta(S)
 *   the same with SL_OP_SHARE_RANGE   (n-1) alpha + W / beta(S), W = the most that any member puts on the wire
 *   broadcast, send                       alpha   +         S / beta(S)
 *   beta(S) = beta S / (S + half_bytes)
 * The ring visits the members of a unit (a node) before it goes on, and leaves and enters a unit by the links of all its
 * members there (NCCL: as many rings as there are rails; on a CPU node, one ring with the whole network card). With u_k
 * units of level k that hold members (u_-1 = n), of which the emptiest holds m_k (m_-1 = 1):
 *   beta  = min over the levels that the ring crosses of m_(k-1) beta_k, with the half_bytes of that level
 *   alpha = sum over levels of (u_(k-1) - u_k) alpha_k / (n-1)
 * A send has the slowest link between the two.
 * Group of one: an in-place op is free, a gather or scatter is a copy (2 S bytes of elementwise cost). Links are not
 * shared between groups. Sources: Thakur, Rabenseifner, Gropp 2005 (ring); Hockney 1994 (half-size ramp); NCCL 2.28.9
 * src/graph/tuning.cc (ring: bandwidth of all channels; n - N hops inside nodes, N - 1 between them). */
#ifndef SL_SIM_COST_H
#define SL_SIM_COST_H

#include "core/cluster/cluster.h"
#include "core/program/program.h"

/* What one rank has of its device; filled once per run by sl_cost_share. SI units. */
struct sl_cost_rank {
  const struct sl_device *device; /* borrowed */
  double peak[SL_DTYPE_COUNT];    /* flop/s of this rank */
  double memory_bandwidth;        /* byte/s of this rank, elementwise_efficiency included */
  double cache_bytes, cache_bandwidth;
  double launch;                   /* seconds per op */
  double turns;                    /* >= 1: ranks per core or GPU, which stretches transfers too */
  int threads;                     /* of this rank; 1 for a GPU */
  const struct sl_op_costs *costs; /* borrowed; measured ops */
  int ranks;                       /* on this rank's node */
};

/* The share of one rank when `world` ranks fill the nodes in order. Errors: SL_ERR_INPUT naming the device's key whose
 * value no cost can be computed from. */
enum sl_status sl_cost_share(struct sl_cost_rank *rank, const struct sl_cluster *cluster, int world);

/* The measured cost of `op`, NULL where there is none; `members` of a communication op, else 0. The quantities that it
 * multiplies go to `quantity`. */
const struct sl_op_cost *sl_cost_measured(const struct sl_cost_rank *rank, const struct sl_program *program,
                                          const struct sl_op *op, int members, double quantity[SL_TERM_COUNT]);

/* Was the entry measured on other ops than `op`: of another type, where that matters, or without its epilogue? */
bool sl_cost_stands_in(const struct sl_op_cost *cost, const struct sl_program *program, const struct sl_op *op);

double sl_cost_gemm(const struct sl_cost_rank *rank, enum sl_dtype dtype, double flops, double bytes);
double sl_cost_attention(const struct sl_cost_rank *rank, enum sl_dtype dtype, double flops, double bytes);
double sl_cost_elementwise(const struct sl_cost_rank *rank, double bytes);
/* Seconds of an op that is not communication. A CPU without a 16-bit peak computes such ops at its fp32 rate.
 * Errors: SL_ERR_INPUT when the device has no peak for the op's type. */
enum sl_status sl_cost_compute(const struct sl_cost_rank *rank, const struct sl_program *program,
                               const struct sl_op *op, double *seconds);

/* Seconds of a send or receive: the measured ones, else those of the link. */
double sl_cost_peer(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_program *program,
                    const struct sl_op *op);
/* Seconds of moving `bytes` once over a link: alpha + S / beta(S). */
double sl_cost_transfer(const struct sl_cost_rank *rank, const struct sl_link *link, double bytes);
/* Seconds of collective `op` over `members` ranks whose ring is like `link` to each (may be NULL for one member). */
double sl_cost_collective(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_program *program,
                          const struct sl_op *op, int members);

#endif
