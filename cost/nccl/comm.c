/* A communicator: names, counts, and which ones are impossible. */
#include "cost/nccl/comm.h"

#include <math.h>

#define X(name, text) text,
const char *sl_nccl_algo_name(enum sl_nccl_algo algo) {
  static const char *const names[] = {SL_NCCL_ALGO_MAP(X)};
  return names[algo];
}

const char *sl_nccl_proto_name(enum sl_nccl_proto proto) {
  static const char *const names[] = {SL_NCCL_PROTO_MAP(X)};
  return names[proto];
}

#undef X

double sl_nccl_ranks_per_node(const struct sl_nccl_comm *comm) {
  return (double)comm->ranks / comm->nodes;
}

int sl_nccl_local_floor(const struct sl_nccl_comm *comm) {
  return comm->ranks / comm->nodes;
}

int sl_nccl_local_most(const struct sl_nccl_comm *comm) {
  return (comm->ranks - 1) / comm->nodes + 1;
}

double sl_nccl_inside(const struct sl_nccl_comm *comm) {
  return comm->nvlink > 0 ? comm->nvlink : comm->pcie;
}

bool sl_nccl_is_gather_or_scatter(enum sl_nccl_coll coll) {
  return coll == SL_NCCL_ALL_GATHER || coll == SL_NCCL_REDUCE_SCATTER;
}

int sl_nccl_steps(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll) {
  if (coll == SL_NCCL_ALL_REDUCE) return 2 * (comm->ranks - 1);
  return sl_nccl_is_gather_or_scatter(coll) ? comm->ranks - 1 : comm->ranks;
}

int sl_nccl_log2(int64_t value) {
  int log = 0;
  while ((value >>= 1) > 0) log++;
  return log;
}

static enum sl_status check_counts(const struct sl_nccl_comm *comm) {
  if (comm->ranks < 2) return sl_fail(SL_ERR_INPUT, "NCCL communicator: ranks is %d, expected 2 or more", comm->ranks);
  if (comm->ranks > 1 << 24) return sl_fail(SL_ERR_INPUT, "NCCL communicator: ranks is %d, too many", comm->ranks);
  if (comm->nodes < 1 || comm->nodes > comm->ranks)
    return sl_fail(SL_ERR_INPUT, "NCCL communicator: nodes is %d, expected 1 to %d", comm->nodes, comm->ranks);
  if (comm->nodes > 1 && (comm->nics < 1 || comm->nics > 1 << 16))
    return sl_fail(SL_ERR_INPUT, "NCCL communicator: nics is %d, expected 1 to 65536", comm->nics);
  return SL_OK;
}

/* A required number must be above 0, any other may be 0. */
static enum sl_status check_number(const char *name, double value, bool asked) {
  if (isfinite(value) && (asked ? value > 0 : value >= 0)) return SL_OK;
  return sl_fail(SL_ERR_INPUT, "NCCL communicator: %s is %g, expected %s", name, value,
                 asked ? "above 0" : "0 or more");
}

enum sl_status sl_nccl_comm_check(const struct sl_nccl_comm *comm) {
  SL_TRY(check_counts(comm));
  const bool inside = sl_nccl_local_most(comm) > 1;
  SL_TRY(check_number("nvlink", comm->nvlink, false));
  SL_TRY(check_number("pcie", comm->pcie, inside && comm->nvlink == 0));
  SL_TRY(check_number("nic", comm->nic, comm->nodes > 1));
  return check_number("nic_latency", comm->nic_latency, false);
}
