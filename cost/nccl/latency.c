/* The latencies of NCCL's tuning model; latency.h has the formulas. */
#include "cost/nccl/latency.h"

#include "cost/nccl/tables.h"

#include <math.h>

static enum sl_nccl_hop hop_inside(const struct sl_nccl_comm *comm) {
  return comm->nvlink > 0 ? SL_NCCL_HOP_NVLINK : SL_NCCL_HOP_PCIE;
}

/* Seconds of a hop that `extra` more than NCCL's figure for a ring with Simple were measured of. */
static double measured(enum sl_nccl_hop hop, enum sl_nccl_algo algo, enum sl_nccl_proto proto, double extra) {
  const double own = sl_nccl_hop_latency(hop, algo, proto);
  if (extra >= 0) return own + extra;
  return own * fmax(0, 1 + extra / sl_nccl_hop_latency(hop, SL_NCCL_RING, SL_NCCL_SIMPLE));
}

/* Seconds of a hop between two GPUs of a node. */
static double inside_hop(const struct sl_nccl_comm *comm, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  return measured(hop_inside(comm), algo, proto, comm->inside_extra);
}

/* Seconds of a hop between two nodes, with what the NIC adds. */
static double across_hop(const struct sl_nccl_comm *comm, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  const bool alone = comm->nodes == comm->ranks;
  const double hop = measured(SL_NCCL_HOP_NETWORK, alone ? SL_NCCL_TREE : algo, proto, comm->across_extra);
  return hop + comm->nic_latency * (proto == SL_NCCL_SIMPLE ? 2 : 1);
}

/* Seconds to post one message to a NIC; no step of a ring is faster. */
static double post(const struct sl_nccl_comm *comm, enum sl_nccl_proto proto) {
  if (comm->nodes == 1) return 0;
  return (comm->cpu == SL_NCCL_CPU_AMD ? 2e-6 : 1e-6) * (proto == SL_NCCL_SIMPLE ? 3 : 1);
}

static double around(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_proto proto) {
  const int across = (coll == SL_NCCL_ALL_REDUCE ? 2 : 1) * (comm->nodes - 1);
  const int inside = sl_nccl_steps(comm, coll) - across;
  return inside * fmax(inside_hop(comm, SL_NCCL_RING, proto), post(comm, proto)) +
         across * across_hop(comm, SL_NCCL_RING, proto);
}

static double down_the_ring(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_proto proto) {
  const enum sl_nccl_hop hop = comm->nodes > 1 ? SL_NCCL_HOP_NETWORK : hop_inside(comm);
  const double extra = comm->nodes > 1 ? comm->across_extra : comm->inside_extra;
  const bool one_order = comm->nodes == 1 || comm->nics == 1 || comm->nodes == comm->ranks;
  if (one_order) return measured(hop, SL_NCCL_RING, proto, extra);
  const enum sl_nccl_algo whose = proto == SL_NCCL_SIMPLE ? SL_NCCL_TREE : SL_NCCL_RING;
  return sl_nccl_steps(comm, coll) * measured(hop, whose, proto, extra);
}

static double ring(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_proto proto) {
  const bool rooted = coll == SL_NCCL_BROADCAST || coll == SL_NCCL_REDUCE;
  return rooted ? down_the_ring(comm, coll, proto) : around(comm, coll, proto);
}

double sl_nccl_latency(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                       enum sl_nccl_proto proto) {
  const double base = sl_nccl_base_latency(algo, proto);
  const double inside = inside_hop(comm, algo, proto), across = across_hop(comm, algo, proto);
  const int chain = sl_nccl_local_floor(comm) - 1, levels = sl_nccl_log2(comm->nodes);
  switch (algo) {
  case SL_NCCL_RING:
    return base + ring(comm, coll, proto);
  case SL_NCCL_TREE:
    return base + 2 * (chain * inside + levels * across);
  case SL_NCCL_COLLNET_DIRECT:
    return base + 2 * ((chain > 0 ? inside : 0) + chain * 0.4e-6) + across;
  case SL_NCCL_COLLNET_CHAIN:
    return base + 2 * chain * inside + across;
  case SL_NCCL_NVLS:
    return inside + (comm->nodes > 1 ? across : 0);
  case SL_NCCL_NVLS_TREE:
    return base + inside + 2 * levels * across;
  default:
    return base + levels * across / 3.5 + 2.8e-6 * comm->ranks; /* PAT */
  }
}
