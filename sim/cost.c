/* Seconds of one op; the formulas stand in cost.h. */
#include "sim/cost.h"
#include "core/op/wire.h"

static double max2(double a, double b) {
  return a > b ? a : b;
}

static enum sl_status check_device(const struct sl_device *d) {
  const struct {
    const char *key;
    double value;
  } needed[] = {
      {"memory_bandwidth_GBps", d->memory_bandwidth},
      {"gemm_efficiency", d->gemm_efficiency},
      {"attention_efficiency", d->attention_efficiency},
      {"elementwise_efficiency", d->elementwise_efficiency},
      {"cores", d->kind == SL_DEVICE_CPU ? d->cores : 1},
      {"cache_bandwidth_GBps", d->cache_bytes > 0 ? d->cache_bandwidth : 1},
  };
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    if (!(needed[i].value > 0)) {
      return sl_fail(SL_ERR_INPUT, "device '%s': %s is %g, expected more than 0", d->name, needed[i].key,
                     needed[i].value);
    }
  }
  if (!(d->comm_cpu_share >= 0 && d->comm_cpu_share < 1)) {
    return sl_fail(SL_ERR_INPUT, "device '%s': comm_cpu_share is %g, expected 0 <= share < 1", d->name,
                   d->comm_cpu_share);
  }
  return SL_OK;
}

/* Ranks on the fullest node: the world fills the nodes in order; where it does not fit, nodes take more than they have
 * devices. */
static int64_t ranks_of_node(const struct sl_cluster *cluster, int64_t world) {
  int64_t per_node = cluster->devices_per_node > 0 ? cluster->devices_per_node : world;
  if (cluster->nodes > 0 && cluster->nodes * per_node < world) return (world + cluster->nodes - 1) / cluster->nodes;
  return per_node < world ? per_node : world;
}

enum sl_status sl_cost_share(struct sl_cost_rank *rank, const struct sl_cluster *cluster, int world) {
  const struct sl_device *d = &cluster->device;
  SL_TRY(check_device(d));
  int64_t ranks = ranks_of_node(cluster, world);
  double share = 1; /* of the node's memory bandwidth and cache */
  *rank = (struct sl_cost_rank){.device = d, .threads = 1, .turns = 1};
  if (d->kind == SL_DEVICE_CPU) {
    if (d->cores > ranks) rank->threads = (int)(d->cores / ranks);
    if (ranks > d->cores) rank->turns = (double)ranks / d->cores;
    share = 1.0 / (double)ranks;
  } else if (cluster->devices_per_node > 0 && ranks > cluster->devices_per_node) {
    rank->turns = (double)ranks / (double)cluster->devices_per_node;
    share = 1 / rank->turns;
  }
  for (int i = 0; i < SL_DTYPE_COUNT; i++) rank->peak[i] = d->peak[i] * rank->threads / rank->turns;
  /* a CPU without 16-bit products converts and multiplies in fp32; its ops' bytes have the copies in them */
  for (int i = SL_BF16; i <= SL_F16 && d->kind == SL_DEVICE_CPU; i++)
    if (rank->peak[i] == 0) rank->peak[i] = rank->peak[SL_F32];
  rank->memory_bandwidth = d->memory_bandwidth * share * d->elementwise_efficiency;
  rank->cache_bytes = (double)d->cache_bytes * share;
  rank->cache_bandwidth = d->cache_bandwidth * share;
  rank->launch = d->launch_latency * rank->turns;
  rank->costs = &cluster->op_costs;
  rank->ranks = (int)ranks;
  return SL_OK;
}

const struct sl_op_cost *sl_cost_measured(const struct sl_cost_rank *rank, const struct sl_program *program,
                                          const struct sl_op *op, int members, double quantity[SL_TERM_COUNT]) {
  const int ranks = members > 0 ? members : rank->ranks;
  if (rank->costs == NULL || rank->costs->count == 0) return NULL;
  const enum sl_variant variant = sl_op_variant(op, sl_op_slices(program, op));
  /* a send is measured by the one who receives it */
  const enum sl_op_kind kind = op->kind == SL_OP_SEND ? SL_OP_RECV : op->kind;
  const struct sl_op_cost *cost = sl_op_cost_find(rank->costs, (int)kind, variant, op->dtype, ranks);
  if (cost == NULL) return NULL;
  const double cache = (double)rank->device->cache_bytes / (cost->ranks > 0 ? cost->ranks : 1);
  const enum sl_op_class op_class = sl_op_class_of(op->kind);
  double bytes = op_class == SL_CLASS_P2P ? (double)sl_op_comm_bytes(op) : sl_op_bytes(op, sl_op_slices(program, op));
  if (op_class == SL_CLASS_COLLECTIVE) bytes = sl_op_most_wire_bytes(op, sl_op_slices(program, op), members);
  sl_op_quantities(op, bytes, cache, quantity);
  return cost;
}

/* An entry whose ranks took turns already knows of those. */
static double turns_beyond(const struct sl_cost_rank *rank, const struct sl_op_cost *cost) {
  const double own = (double)cost->ranks / (rank->device->cores > 0 ? rank->device->cores : 1);
  return rank->turns > 1 && rank->turns > own ? rank->turns / (own > 1 ? own : 1) : 1;
}

/* Seconds of what an epilogue moves beside the product's own operands: rows that it reads or writes, or a row of sums. */
static double epilogue_seconds(const struct sl_cost_rank *rank, const struct sl_op *op) {
  const struct sl_op epilogue = sl_op_epilogue(op);
  if (epilogue.kind == SL_OP_COUNT) return 0;
  const int64_t count = epilogue.dim[1] * (epilogue.kind == SL_OP_BIAS_BWD ? 1 : epilogue.dim[0]);
  return (double)(count * sl_dtype_bytes(op->dtype)) / rank->memory_bandwidth;
}

bool sl_cost_stands_in(const struct sl_op_cost *cost, const struct sl_program *program, const struct sl_op *op) {
  const bool epilogue =
      sl_op_epilogue(op).kind != SL_OP_COUNT && cost->variant != sl_op_variant(op, sl_op_slices(program, op));
  return epilogue || (cost->dtype != op->dtype && !sl_op_cost_moves(cost->kind));
}

double sl_cost_gemm(const struct sl_cost_rank *rank, enum sl_dtype dtype, double flops, double bytes) {
  const struct sl_device *d = rank->device;
  double arithmetic = (flops + d->gemm_half_flops) / (rank->peak[dtype] * d->gemm_efficiency);
  return rank->launch + max2(arithmetic, bytes / rank->memory_bandwidth);
}

double sl_cost_attention(const struct sl_cost_rank *rank, enum sl_dtype dtype, double flops, double bytes) {
  double arithmetic = flops / (rank->peak[dtype] * rank->device->attention_efficiency);
  return rank->launch + max2(arithmetic, bytes / rank->memory_bandwidth);
}

double sl_cost_elementwise(const struct sl_cost_rank *rank, double bytes) {
  double cached = bytes < rank->cache_bytes ? bytes : rank->cache_bytes;
  double seconds = rank->launch + (bytes - cached) / rank->memory_bandwidth;
  return cached > 0 ? seconds + cached / rank->cache_bandwidth : seconds;
}

/* Offload on a GPU: copies over the link to host memory, and updates that run there. On a CPU both are one memory. */
static enum sl_status offload_seconds(const struct sl_cost_rank *rank, const struct sl_program *program,
                                      const struct sl_op *op, double *seconds) {
  const struct sl_device *d = rank->device;
  if (!(d->host_link > 0) || !(d->host_bandwidth > 0)) {
    return sl_fail(SL_ERR_INPUT,
                   "device '%s': host_link_GBps and host_bandwidth_GBps are not given, which offload needs", d->name);
  }
  if (op->lane == SL_LANE_HOST) {
    *seconds = rank->launch + sl_op_bytes(op, sl_op_slices(program, op)) * rank->ranks / d->host_bandwidth;
    return SL_OK;
  }
  const int64_t from = program->slices[op->slice].bytes, to = program->slices[op->slice + 1].bytes;
  *seconds = rank->launch + (double)(from > to ? from : to) / d->host_link;
  return SL_OK;
}

enum sl_status sl_cost_compute(const struct sl_cost_rank *rank, const struct sl_program *program,
                               const struct sl_op *op, double *seconds) {
  enum sl_op_class op_class = sl_op_class_of(op->kind);
  double quantity[SL_TERM_COUNT];
  const bool host_side = op->lane == SL_LANE_H2D || op->lane == SL_LANE_D2H || op->lane == SL_LANE_HOST;
  if (host_side && rank->device->kind == SL_DEVICE_GPU) return offload_seconds(rank, program, op, seconds);
  const struct sl_op_cost *measured = sl_cost_measured(rank, program, op, 0, quantity);
  if (measured != NULL) {
    *seconds = rank->launch + turns_beyond(rank, measured) * sl_op_cost_seconds(measured, quantity);
    if (measured->variant != sl_op_variant(op, sl_op_slices(program, op))) *seconds += epilogue_seconds(rank, op);
    return SL_OK;
  }
  if ((op_class == SL_CLASS_GEMM || op_class == SL_CLASS_ATTENTION) && !(rank->peak[op->dtype] > 0)) {
    return sl_fail(SL_ERR_INPUT, "device '%s': peak_TFLOPS has no '%s', which %s needs", rank->device->name,
                   sl_dtype_name(op->dtype), sl_op_name(op->kind));
  }
  switch (op_class) {
  case SL_CLASS_GEMM:
    *seconds = sl_cost_gemm(rank, op->dtype, sl_op_flops(op), sl_op_bytes(op, sl_op_slices(program, op)));
    break;
  case SL_CLASS_ATTENTION:
    *seconds = sl_cost_attention(rank, op->dtype, sl_op_flops(op), sl_op_bytes(op, sl_op_slices(program, op)));
    break;
  case SL_CLASS_ELEMENTWISE:
  case SL_CLASS_OPTIMIZER:
    *seconds = sl_cost_elementwise(rank, sl_op_bytes(op, sl_op_slices(program, op)));
    break;
  default:
    *seconds = rank->launch;
    if (op->kind == SL_OP_JOIN && program->kind == SL_PROGRAM_STEP) *seconds += rank->device->step_overhead;
  }
  return SL_OK;
}

/* Seconds for `wire` bytes of a message of `size` bytes: wire / beta(size). */
static double wire_seconds(const struct sl_link *link, double wire, double size) {
  return size > 0 ? wire / link->bandwidth * (size + link->half_bytes) / size : 0;
}

double sl_cost_peer(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_program *program,
                    const struct sl_op *op) {
  double quantity[SL_TERM_COUNT];
  const struct sl_op_cost *measured = sl_cost_measured(rank, program, op, 2, quantity);
  const bool inside = rank->ranks >= 2 && rank->device->kind == SL_DEVICE_CPU;
  if (measured != NULL && inside) return turns_beyond(rank, measured) * sl_op_cost_seconds(measured, quantity);
  return sl_cost_transfer(rank, link, (double)sl_op_comm_bytes(op));
}

double sl_cost_transfer(const struct sl_cost_rank *rank, const struct sl_link *link, double bytes) {
  return rank->turns * (link->latency + wire_seconds(link, bytes, bytes));
}

double sl_cost_collective(const struct sl_cost_rank *rank, const struct sl_link *link, const struct sl_program *program,
                          const struct sl_op *op, int members) {
  bool in_place = op->kind == SL_OP_ALL_REDUCE || op->kind == SL_OP_BROADCAST;
  double bytes = (double)sl_op_comm_bytes(op);
  double quantity[SL_TERM_COUNT];
  if (members < 2) return in_place ? 0 : sl_cost_elementwise(rank, 2 * bytes);
  const struct sl_op_cost *measured = sl_cost_measured(rank, program, op, members, quantity);
  /* a ring of other members, or one that leaves the node, is what the formula is for */
  if (measured != NULL && measured->ranks == members && members <= rank->ranks)
    return turns_beyond(rank, measured) * sl_op_cost_seconds(measured, quantity);
  if (op->kind == SL_OP_BROADCAST) return sl_cost_transfer(rank, link, bytes);
  int hops = members - 1;
  double wire = op->flags & SL_OP_SHARE_RANGE ? sl_op_most_wire_bytes(op, sl_op_slices(program, op), members)
                                              : bytes * hops / members;
  double seconds = hops * link->latency + wire_seconds(link, wire, bytes);
  return rank->turns * (op->kind == SL_OP_ALL_REDUCE ? 2 * seconds : seconds);
}
