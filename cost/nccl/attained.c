/* What a measured network adds to NCCL's estimate; attained.h has the formulas. */
#include "cost/nccl/attained.h"

#include "cost/nccl/latency.h"
#include "cost/nccl/tables.h"

#include <math.h>

const struct sl_nccl_attained sl_nccl_as_estimated = {.inside = 1, .across = 1};

/* How many times the bytes of a collective cross the link of one of `n` participants. */
static double crossings(enum sl_nccl_coll coll, bool switches_reduce, int n) {
  if (coll == SL_NCCL_ALL_REDUCE) return switches_reduce ? 1 : 2.0 * (n - 1) / n;
  return sl_nccl_is_gather_or_scatter(coll) ? (n - 1.0) / n : 1;
}

static double link_bandwidth(const struct sl_nccl_comm *comm, enum sl_nccl_coll coll, enum sl_nccl_algo algo) {
  const bool by_network = algo == SL_NCCL_COLLNET_DIRECT || algo == SL_NCCL_COLLNET_CHAIN || algo == SL_NCCL_NVLS;
  const bool by_nvswitch = algo == SL_NCCL_NVLS || algo == SL_NCCL_NVLS_TREE || algo == SL_NCCL_COLLNET_DIRECT;
  const bool inside = sl_nccl_local_most(comm) > 1, across = comm->nodes > 1;
  const double link = sl_nccl_inside(comm) / crossings(coll, by_nvswitch, sl_nccl_local_most(comm));
  const double nics = comm->nics * comm->nic / crossings(coll, by_network, comm->nodes);
  return fmin(inside ? link : INFINITY, across ? nics : INFINITY);
}

static double estimated(const struct sl_nccl *nccl, enum sl_nccl_coll coll, const struct sl_nccl_choice *choice,
                        int64_t bytes) {
  const struct sl_nccl_comm *comm = &nccl->comm;
  if (choice->algo == SL_NCCL_NVLS && coll == SL_NCCL_ALL_REDUCE && comm->nodes == 1) {
    const struct sl_nccl_graph *ring = &nccl->graphs.of[SL_NCCL_RING];
    return sl_nccl_nvls_share(comm->gpu) * ring->channels * ring->intra * comm->ranks / (comm->ranks + 1);
  }
  return sl_nccl_bandwidth_of_size(nccl, coll, choice->algo, choice->proto, bytes);
}

static double latency(const struct sl_nccl *nccl, const struct sl_nccl_attained *attained, enum sl_nccl_coll coll,
                      const struct sl_nccl_choice *choice, int64_t bytes) {
  const double own = sl_nccl_latency_of_size(nccl, coll, choice->algo, choice->proto, bytes);
  struct sl_nccl_comm comm = nccl->comm;
  comm.inside_extra = attained->inside_extra, comm.across_extra = attained->across_extra;
  if (comm.inside_extra == 0 && comm.across_extra == 0) return own;
  return own + sl_nccl_latency(&comm, coll, choice->algo, choice->proto) -
         nccl->latency[coll][choice->algo][choice->proto];
}

struct sl_nccl_choice sl_nccl_attain(const struct sl_nccl *nccl, const struct sl_nccl_attained *attained,
                                     enum sl_nccl_coll coll, int64_t bytes) {
  struct sl_nccl_choice choice = sl_nccl_choose(nccl, coll, bytes);
  const int nodes = nccl->comm.nodes;
  const double share = nodes == 1 ? attained->inside : attained->across * pow(nodes, -attained->fall);
  const double bandwidth =
      fmin(share * estimated(nccl, coll, &choice, bytes), link_bandwidth(&nccl->comm, coll, choice.algo));
  const double moved = (double)bytes + (choice.proto == SL_NCCL_SIMPLE ? attained->fill : 0);
  choice.seconds = attained->launch + latency(nccl, attained, coll, &choice, bytes) + moved / bandwidth;
  return choice;
}
