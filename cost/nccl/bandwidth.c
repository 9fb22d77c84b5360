/* The bandwidths of NCCL's tuning model; bandwidth.h has the formulas. */
#include "cost/nccl/bandwidth.h"

#include "cost/nccl/tables.h"

#include <math.h>

enum { MAX_COLLNET_LOCAL = 9, MAX_NVLS_LOCAL = 32 };

/* ---- which algorithms are offered ---- */

static bool has_algorithm(enum sl_nccl_coll coll, enum sl_nccl_algo algo) {
  if (algo == SL_NCCL_RING) return true;
  if (sl_nccl_is_gather_or_scatter(coll))
    return algo == SL_NCCL_PAT || algo == SL_NCCL_NVLS || algo == SL_NCCL_COLLNET_DIRECT;
  return coll == SL_NCCL_ALL_REDUCE && algo != SL_NCCL_PAT;
}

static bool is_collnet(enum sl_nccl_algo algo) {
  return algo == SL_NCCL_COLLNET_DIRECT || algo == SL_NCCL_COLLNET_CHAIN;
}

static bool can_collnet(const struct sl_nccl_comm *comm) {
  return comm->collnet && comm->nodes > 1 && sl_nccl_local_most(comm) <= MAX_COLLNET_LOCAL;
}

/* If the network's switches gather or scatter, every GPU needs a NIC of its own. */
static bool can_nvls(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll) {
  const bool whole = coll == SL_NCCL_ALL_REDUCE;
  if (!whole && sl_nccl_local_most(comm) > MAX_NVLS_LOCAL) return false;
  return comm->nodes == 1 || (comm->collnet && (whole || comm->nics >= sl_nccl_local_most(comm)));
}

static bool can_run(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_algo algo) {
  switch (algo) {
  case SL_NCCL_COLLNET_DIRECT:
    return can_collnet(comm) && (coll == SL_NCCL_ALL_REDUCE || comm->nics >= sl_nccl_local_most(comm));
  case SL_NCCL_COLLNET_CHAIN:
    return can_collnet(comm);
  case SL_NCCL_NVLS:
    return can_nvls(comm, coll);
  case SL_NCCL_NVLS_TREE:
    return comm->nodes > 1;
  case SL_NCCL_PAT:
    return comm->nodes == comm->ranks;
  default:
    return true;
  }
}

static bool can_ll128(const struct sl_nccl_comm *comm) {
  const bool inside = sl_nccl_local_most(comm) == 1 || comm->nvlink > 0;
  return inside && (comm->nodes == 1 || comm->ll128);
}

static bool has_protocol(const struct sl_nccl_comm *comm, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  if (proto == SL_NCCL_SIMPLE) return true;
  if (algo != SL_NCCL_RING && algo != SL_NCCL_TREE) return false;
  return proto == SL_NCCL_LL || can_ll128(comm);
}

/* ---- bus bandwidth of each algorithm ---- */

/* The inputs of the formulas. */
struct view {
  const struct sl_nccl_comm *comm;
  const struct sl_nccl_graph *graph;
  enum sl_nccl_coll coll;
  enum sl_nccl_proto proto;
  double channels; /* of the graph */
  double total;    /* C s */
};

static double channel_cap(const struct view *v, enum sl_nccl_cap cap) {
  return v->channels * sl_nccl_cap(v->comm, cap);
}

static double ring(const struct view *v) {
  if (v->proto == SL_NCCL_LL) return fmin(sl_nccl_ll_cap(v->comm), v->total * 0.5);
  if (v->proto == SL_NCCL_LL128) return fmin(v->total * 0.92, channel_cap(v, SL_NCCL_CAP_RING_LL128));
  return v->total;
}

static double tree(const struct view *v) {
  const double lined = v->comm->nodes == 1 ? 7.0 / 9 : 120.0 / 128;
  const double plain = v->comm->nodes == v->comm->ranks ? 0.85 : 1;
  double bandwidth = fmin(v->total * 0.92, channel_cap(v, SL_NCCL_CAP_TREE));
  if (v->proto == SL_NCCL_LL) bandwidth = fmin(bandwidth / 3.8, sl_nccl_ll_cap(v->comm));
  if (v->proto == SL_NCCL_LL128) bandwidth = fmin(bandwidth * lined, channel_cap(v, SL_NCCL_CAP_TREE_LL128));
  return bandwidth * plain;
}

static double nvls_inside(const struct view *v) {
  const double local = sl_nccl_ranks_per_node(v->comm);
  const double pulled = v->graph->intra * sl_nccl_nvls_share(v->comm->gpu) * (v->channels - 1) / v->channels;
  return pulled * (v->coll == SL_NCCL_ALL_REDUCE ? 2 : (local - 1) / local);
}

static double nvls(const struct view *v) {
  return v->channels < 2 ? 0 : v->channels * fmin(nvls_inside(v), v->graph->inter);
}

static double nvls_tree(const struct view *v) {
  if (v->channels < 2) return 0;
  const double between = v->graph->inter * (v->comm->nodes == 2 ? 2 : 1);
  return v->channels * fmin(fmin(nvls_inside(v), between), sl_nccl_cap(v->comm, SL_NCCL_CAP_NVLS_TREE));
}

static double collnet_direct(const struct view *v) {
  const double local = sl_nccl_ranks_per_node(v->comm);
  if (v->coll != SL_NCCL_ALL_REDUCE) return local * fmin(v->graph->intra, 0.9 * v->graph->inter);
  const double gpus_per_nic = (v->channels + local) / (2 * v->channels);
  return v->total / gpus_per_nic * (v->comm->gpu >= SL_NCCL_HOPPER ? 0.85 : 1);
}

static double bus_bandwidth(const struct view *v, enum sl_nccl_algo algo) {
  switch (algo) {
  case SL_NCCL_RING:
    return ring(v);
  case SL_NCCL_TREE:
    return tree(v);
  case SL_NCCL_NVLS:
    return nvls(v);
  case SL_NCCL_NVLS_TREE:
    return nvls_tree(v);
  case SL_NCCL_COLLNET_DIRECT:
    return collnet_direct(v);
  case SL_NCCL_COLLNET_CHAIN:
    return v->total;
  default:
    return v->total * 0.75; /* PAT */
  }
}

/* ---- bandwidth of the collective ---- */

static double of_collective(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_algo algo) {
  if (algo != SL_NCCL_RING && sl_nccl_is_gather_or_scatter(coll)) return 1;
  const bool is_ring = algo == SL_NCCL_RING || algo == SL_NCCL_NVLS || algo == SL_NCCL_NVLS_TREE;
  return is_ring ? (double)comm->ranks / sl_nccl_steps(comm, coll) : 0.5;
}

double sl_nccl_bandwidth(const struct sl_nccl_comm *comm, const struct sl_nccl_graphs *graphs, enum sl_nccl_coll coll,
                         enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  const struct sl_nccl_graph *graph = &graphs->of[algo];
  if (graph->channels == 0 || !has_algorithm(coll, algo) || !can_run(comm, coll, algo)) return 0;
  if (!has_protocol(comm, algo, proto)) return 0;
  const double speed = comm->nodes <= 2 || is_collnet(algo) ? graph->intra : graph->inter;
  const struct view view = {.comm = comm,
                            .graph = graph,
                            .coll = coll,
                            .proto = proto,
                            .channels = graph->channels,
                            .total = graph->channels * speed};
  return bus_bandwidth(&view, algo) * of_collective(comm, coll, algo);
}
