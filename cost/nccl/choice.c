/* NCCL's estimate of a call, its choice, and how many channels that uses. */
#include "cost/nccl/choice.h"

#include "cost/nccl/bandwidth.h"
#include "cost/nccl/latency.h"
#include "cost/nccl/tables.h"

#include <math.h>

enum { MAX_CHANNELS = 64 };

static int channels_of_communicator(const struct sl_nccl_comm *comm, const struct sl_nccl_graphs *graphs) {
  const struct sl_nccl_graph *ring = &graphs->of[SL_NCCL_RING], *chain = &graphs->of[SL_NCCL_COLLNET_CHAIN];
  int channels = 2 * ring->channels;
  if (chain->channels > 0 && chain->intra > chain->inter && comm->ranks > comm->nodes) channels += channels / 2;
  if (comm->gpu >= SL_NCCL_HOPPER && comm->nodes > 1 && ring->intra > 45e9 && channels < 16) channels *= 2;
  return channels < MAX_CHANNELS ? channels : MAX_CHANNELS;
}

enum sl_status sl_nccl_open(struct sl_nccl *nccl, const struct sl_nccl_comm *comm) {
  SL_TRY(sl_nccl_comm_check(comm));
  *nccl = (struct sl_nccl){.comm = *comm};
  sl_nccl_search(&nccl->graphs, comm);
  nccl->channels = channels_of_communicator(comm, &nccl->graphs);
  for (int c = 0; c < SL_NCCL_COLL_COUNT; c++)
    for (int a = 0; a < SL_NCCL_ALGO_COUNT; a++)
      for (int p = 0; p < SL_NCCL_PROTO_COUNT; p++) {
        nccl->bandwidth[c][a][p] = sl_nccl_bandwidth(comm, &nccl->graphs, c, a, p);
        nccl->latency[c][a][p] = sl_nccl_latency(comm, c, a, p);
      }
  return SL_OK;
}

double sl_nccl_latency_of_size(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                               enum sl_nccl_proto proto, int64_t bytes) {
  const struct sl_nccl_comm *comm = &nccl->comm;
  const double latency = nccl->latency[coll][algo][proto];
  const bool plateau = algo == SL_NCCL_RING && proto == SL_NCCL_SIMPLE && coll == SL_NCCL_ALL_REDUCE &&
                       comm->nodes > 1 && bytes / ((int64_t)nccl->channels * comm->ranks) >= 64;
  return plateau ? latency * (comm->gpu < SL_NCCL_AMPERE ? 1.9 : 1.4) : latency;
}

double sl_nccl_bandwidth_of_size(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                                 enum sl_nccl_proto proto, int64_t bytes) {
  const bool by_tree = algo == SL_NCCL_TREE && coll == SL_NCCL_ALL_REDUCE;
  return nccl->bandwidth[coll][algo][proto] * (by_tree ? sl_nccl_tree_share(proto, bytes) : 1);
}

double sl_nccl_seconds(const struct sl_nccl *nccl, enum sl_nccl_coll coll, enum sl_nccl_algo algo,
                       enum sl_nccl_proto proto, int64_t bytes) {
  const double bandwidth = sl_nccl_bandwidth_of_size(nccl, coll, algo, proto, bytes);
  if (bandwidth == 0) return INFINITY;
  return sl_nccl_latency_of_size(nccl, coll, algo, proto, bytes) + (double)bytes / bandwidth;
}

/* ---- channels ---- */

static int threads(const struct sl_nccl *nccl, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  const struct sl_nccl_graph *ring = &nccl->graphs.of[SL_NCCL_RING];
  if (algo != SL_NCCL_RING && algo != SL_NCCL_TREE) return 640;
  if (proto == SL_NCCL_LL128) return 640;
  const bool slow = algo == SL_NCCL_RING && proto == SL_NCCL_SIMPLE && ring->intra * ring->channels <= 12e9;
  return slow ? 256 : 512;
}

/* Bytes per thread; for CollNetDirect, if each GPU with a NIC pulls, of one thread of each. */
static double threshold(const struct sl_nccl *nccl, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  if (algo == SL_NCCL_COLLNET_DIRECT) return 512 * fmin(nccl->comm.nics, sl_nccl_local_most(&nccl->comm));
  if (algo == SL_NCCL_COLLNET_CHAIN) return 512;
  if (proto == SL_NCCL_SIMPLE) return 64;
  return proto == SL_NCCL_LL && algo == SL_NCCL_RING ? 8.0 * nccl->comm.ranks : 8;
}

/* CollNetDirect halves the bytes that it requires each time it is halfway down to 16, 8, 4 or 2 channels. */
static bool eases(enum sl_nccl_algo algo, int channels) {
  return algo == SL_NCCL_COLLNET_DIRECT && (channels == 24 || channels == 12 || channels == 6 || channels == 3);
}

static int channels_of_call(const struct sl_nccl *nccl, enum sl_nccl_algo algo, enum sl_nccl_proto proto,
                            int64_t bytes) {
  if (algo == SL_NCCL_NVLS || algo == SL_NCCL_NVLS_TREE) {
    const int most = nccl->comm.gpu < SL_NCCL_BLACKWELL ? 16 : nccl->comm.nodes > 1 ? 32 : 24;
    const bool bounded = algo == SL_NCCL_NVLS && nccl->comm.nodes > 1 && nccl->channels < most;
    return bounded ? nccl->channels : most;
  }
  double each = threads(nccl, algo, proto) * threshold(nccl, algo, proto);
  int channels = nccl->channels;
  while (channels > 1 && (double)bytes < channels * each) {
    if (eases(algo, channels)) each /= 2;
    channels--;
  }
  return channels;
}

struct sl_nccl_choice sl_nccl_choose(const struct sl_nccl *nccl, enum sl_nccl_coll coll, int64_t bytes) {
  struct sl_nccl_choice best = {.algo = SL_NCCL_RING, .proto = SL_NCCL_SIMPLE, .seconds = INFINITY};
  for (int a = 0; a < SL_NCCL_ALGO_COUNT; a++)
    for (int p = 0; p < SL_NCCL_PROTO_COUNT; p++) {
      const double seconds = sl_nccl_seconds(nccl, coll, a, p, bytes);
      if (seconds < best.seconds) best = (struct sl_nccl_choice){.algo = a, .proto = p, .seconds = seconds};
    }
  best.channels = channels_of_call(nccl, best.algo, best.proto, bytes);
  return best;
}
