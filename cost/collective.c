/* Seconds of communication; collective.h has the formulas. */
#include "cost/collective.h"

#include "core/op/operands.h"
#include "cost/compute.h"
#include "cost/measured.h"
#include "cost/nccl/latency.h"
#include "cost/topology.h"

#include <math.h>

/* Seconds for `wire` bytes of a message of `size` bytes: wire / beta(size). */
static double wire_seconds(const struct sl_link *link, double wire, double size) {
  return size > 0 ? wire / link->bandwidth * (size + link->half_bytes) / size : 0;
}

/* Moves all bytes once over a link: alpha + S / beta(S). */
static double transfer(const struct sl_cost_rank *rank, const struct sl_link *link, double size) {
  return rank->turns * (link->latency + wire_seconds(link, size, size));
}

double sl_cost_peer(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work) {
  const struct sl_op_cost *entry = sl_cost_entry(rank, work);
  const bool inside = rank->ranks >= 2 && rank->device->kind == SL_DEVICE_CPU;
  struct sl_link attained = *link;
  attained.bandwidth = sl_cost_attained(link, 2);
  return entry != NULL && inside ? sl_cost_by_entry(rank, entry, work) : transfer(rank, &attained, work->size);
}

/* The same for NCCL, which uses the fastest protocol: LL carries 4 bytes of data in 8, LL128 120 in 128, and Simple
 * only data; only Simple has to fill a pipeline of chunks. */
static double nccl_seconds(const struct sl_link *link, const struct sl_work *work, double wire, int rings) {
  static const double shares[SL_NCCL_PROTO_COUNT] = {
      [SL_NCCL_LL] = 0.5, [SL_NCCL_LL128] = 120.0 / 128, [SL_NCCL_SIMPLE] = 1};
  const struct sl_nccl_comm comm = {.cpu = SL_NCCL_CPU_OTHER,
                                    .ranks = work->members,
                                    .nodes = link->nodes,
                                    .nvlink = link->hop != SL_HOP_PCIE,
                                    .inside_extra = link->inside_extra,
                                    .across_extra = link->across_extra};
  const enum sl_nccl_coll coll = rings == 2                                 ? SL_NCCL_ALL_REDUCE
                                 : sl_op_moves(work->kind) & SL_MOVE_REDUCE ? SL_NCCL_REDUCE_SCATTER
                                                                            : SL_NCCL_ALL_GATHER;
  const bool several = link->nodes > 1 && work->members > link->nodes && coll != SL_NCCL_ALL_REDUCE;
  const double messages = several ? (work->members - 1) * link->message : 0;
  double least = INFINITY;
  for (int proto = 0; proto < SL_NCCL_PROTO_COUNT; proto++) {
    struct sl_link used = *link;
    if (proto != SL_NCCL_SIMPLE) used.half_bytes = 0;
    const double bytes = wire_seconds(&used, wire, work->size) / shares[proto];
    const double seconds =
        sl_nccl_latency(&comm, coll, SL_NCCL_RING, (enum sl_nccl_proto)proto) + rings * fmax(bytes, messages);
    if (seconds < least) least = seconds;
  }
  return least;
}

static double ring_seconds(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work) {
  const int hops = work->members - 1;
  const double wire = work->uneven ? work->bytes : work->size * hops / work->members;
  const unsigned moves = sl_op_moves(work->kind);
  const int rings = !!(moves & SL_MOVE_REDUCE) + !!(moves & SL_MOVE_GATHER) + !!(moves & SL_MOVE_EXCHANGE);
  if (link->nodes > 0) return rank->turns * nccl_seconds(link, work, wire, rings);
  const double seconds = hops * link->latency + wire_seconds(link, wire, work->size);
  return rank->turns * (rings * seconds);
}

/* For a group of one: nothing in place, else a copy. */
static double alone_seconds(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_work copy = {.kind = SL_OP_COPY, .bytes = 2 * work->size};
  return sl_op_in_place(work->kind) ? 0 : sl_cost_elementwise(rank, &copy);
}

/* NULL if the formula applies: to a ring with another number of members than were measured, or one that leaves the
 * node. */
static const struct sl_op_cost *measured(const struct sl_cost_rank *rank, const struct sl_work *work) {
  const struct sl_op_cost *entry = sl_cost_entry(rank, work);
  return entry != NULL && entry->ranks == work->members && work->members <= rank->ranks ? entry : NULL;
}

double sl_cost_collective_by_nccl(const struct sl_cost_rank *rank, const struct sl_link *link,
                                  const struct sl_nccl_group *nccl, const struct sl_work *work) {
  if (work->members < 2 || measured(rank, work) != NULL) return sl_cost_collective(rank, link, work);
  return rank->turns * sl_nccl_group_choose(nccl, work).seconds;
}

double sl_cost_collective(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_work *work) {
  if (work->members < 2) return alone_seconds(rank, work);
  const struct sl_op_cost *entry = measured(rank, work);
  if (entry != NULL) return sl_cost_by_entry(rank, entry, work);
  const bool chain = sl_op_moves(work->kind) & SL_MOVE_CHAIN;
  return chain ? transfer(rank, link, work->size) : ring_seconds(rank, link, work);
}

double sl_cost_lost_beside(const struct sl_cost_rank *rank, const struct sl_cluster *cluster,
                           const struct sl_link *link) {
  const double nominal = link->nominal > 0 ? link->nominal : link->bandwidth;
  const bool narrow = link->hop != SL_HOP_PLAIN && nominal < cluster->link[0].bandwidth;
  return rank->kernel_costs.comm_compute_share * (narrow ? nominal / cluster->link[0].bandwidth : 1);
}

double sl_cost_call_host(const struct sl_cost_rank *rank, const struct sl_work *work, int stalled_nodes) {
  if (work->members < 2) return 0;
  const double stalls = stalled_nodes > 0 ? (stalled_nodes + 2) / 3.0 : 0;
  if (sl_work_in_call(work)) return rank->kernel_costs.host_piece;
  return rank->kernel_costs.host_collective + rank->pipeline_stall * work->members * stalls;
}

bool sl_cost_pipeline_stalls(const struct sl_cluster *cluster, int pp, int reach, int64_t blocks) {
  return pp > 1 && blocks > pp && reach > cluster->devices_per_node;
}
