/* The search for channels; graph.h has its results. */
#include "cost/nccl/graph.h"

#include "cost/nccl/tables.h"

#include <math.h>

enum { MAX_RING_CHANNELS = 32, MAX_NVLS_HEADS = 32, MAX_DIRECT_HEADS = 9 };

static int least(int a, int b) {
  return a < b ? a : b;
}

/* How many times `part` goes into `whole`, as decimal numbers: 41.2 goes into 370.8 nine times. */
static int times(double whole, double part) {
  return (int)fmin(floor(whole / part * (1 + 1e-6)), 1 << 24);
}

static bool fits(double part, double whole) {
  return part <= whole * (1 + 1e-6);
}

/* The bandwidth that channels which are chains within a node may use together: the last GPU of a chain passes nothing
 * on, and each GPU is the last of equally many chains if each has a NIC by which its chains leave. */
static double chains_link(const struct sl_nccl_comm *comm) {
  const int local = sl_nccl_local_most(comm);
  if (local == 1) return INFINITY;
  const bool each_ends = comm->nodes > 1 && comm->nics >= local;
  return sl_nccl_inside(comm) * (each_ends ? (double)local / (local - 1) : 1);
}

static int ring_channels(const struct sl_nccl_comm *comm, double speed) {
  int channels = least(MAX_RING_CHANNELS, times(chains_link(comm), speed));
  if (comm->nodes > 1) channels = (int)fmin(channels, (double)comm->nics * times(comm->nic, speed));
  return channels;
}

static struct sl_nccl_graph of_speed(int channels, double speed) {
  return (struct sl_nccl_graph){.channels = channels, .intra = speed, .inter = speed};
}

static double total(const struct sl_nccl_graph *graph) {
  return graph->channels * graph->inter;
}

/* Goes down the list until the link is full, or until a speed is 0.49 of the one found or less. */
static struct sl_nccl_graph widest_ring(const struct sl_nccl_comm *comm) {
  struct sl_nccl_graph best = {0};
  const bool inside = sl_nccl_local_most(comm) > 1;
  for (int i = 0; sl_nccl_speed(comm, i) > 0; i++) {
    const double speed = sl_nccl_speed(comm, i);
    if (best.channels > 0 && speed / best.inter <= 0.49) break;
    const struct sl_nccl_graph found = of_speed(ring_channels(comm, speed), speed);
    if (total(&found) > total(&best) * (1 + 1e-6)) best = found;
    if (inside && fits(sl_nccl_inside(comm), total(&best))) break;
  }
  return best;
}

static void double_fast_channels(struct sl_nccl_graph *graph, const struct sl_nccl_comm *comm, int most) {
  const bool is_late = comm->gpu >= SL_NCCL_HOPPER;
  if (graph->channels == 0 || graph->intra < 25e9) return;
  if (is_late && graph->intra < 50e9 && graph->channels > 4) return;
  const int channels = least(2 * graph->channels, most);
  const int parts = (channels - 1) / graph->channels + 1;
  *graph = (struct sl_nccl_graph){channels, graph->intra / parts, graph->inter / parts};
}

static struct sl_nccl_graph search_ring(const struct sl_nccl_comm *comm) {
  struct sl_nccl_graph ring = widest_ring(comm);
  if (ring.channels == 0) return of_speed(1, 0.1e9);
  double_fast_channels(&ring, comm, MAX_RING_CHANNELS);
  for (int i = 0; sl_nccl_speed(comm, i) > ring.inter; i++)
    if (ring_channels(comm, sl_nccl_speed(comm, i)) >= ring.channels)
      ring = of_speed(ring.channels, sl_nccl_speed(comm, i));
  return ring;
}

/* Steps to the next faster speed of the list while the current one is below twice `other` and the next is within
 * `limit`. */
static double raised(const struct sl_nccl_comm *comm, double speed, double other, double limit) {
  int i = 0;
  while (sl_nccl_speed(comm, i) > speed) i++;
  while (i > 0 && speed < 2 * other && fits(sl_nccl_speed(comm, i - 1), limit)) speed = sl_nccl_speed(comm, --i);
  return speed;
}

static struct sl_nccl_graph search_tree(const struct sl_nccl_comm *comm, const struct sl_nccl_graph *ring) {
  struct sl_nccl_graph tree = *ring;
  if (comm->nodes > 1) tree.intra = raised(comm, tree.intra, tree.inter, chains_link(comm) / tree.channels);
  return tree;
}

/* The fastest speed at which each of `heads` channels has a NIC, if one is needed, and at most `streams` of them fit
 * into a GPU's link. */
static double head_speed(const struct sl_nccl_comm *comm, int streams) {
  int i = 0;
  for (; sl_nccl_speed(comm, i) > 0; i++) {
    const double speed = sl_nccl_speed(comm, i);
    if (fits(streams * speed, sl_nccl_inside(comm)) && (comm->nodes == 1 || fits(speed, comm->nic))) break;
  }
  return sl_nccl_speed(comm, i);
}

static struct sl_nccl_graph search_nvls(const struct sl_nccl_comm *comm) {
  const int local = sl_nccl_local_most(comm);
  if (!comm->nvls || comm->nvlink == 0 || comm->gpu < SL_NCCL_HOPPER || local < 2) return (struct sl_nccl_graph){0};
  const int heads = least(least(local, MAX_NVLS_HEADS), comm->nodes > 1 ? comm->nics : MAX_NVLS_HEADS);
  struct sl_nccl_graph nvls = of_speed(heads, head_speed(comm, heads + 1));
  if (nvls.intra == 0) return (struct sl_nccl_graph){0};
  nvls.inter = raised(comm, nvls.inter, nvls.intra, comm->nodes > 1 ? comm->nic : INFINITY);
  return nvls;
}

static struct sl_nccl_graph search_direct(const struct sl_nccl_comm *comm) {
  const int local = sl_nccl_local_most(comm), most = least(local, MAX_DIRECT_HEADS);
  if (!comm->collnet || comm->nodes == 1 || local < 2 || comm->nvlink == 0) return (struct sl_nccl_graph){0};
  struct sl_nccl_graph direct = of_speed(least(most, comm->nics), head_speed(comm, 2));
  if (direct.intra == 0) return (struct sl_nccl_graph){0};
  double_fast_channels(&direct, comm, most);
  direct.intra = raised(comm, direct.intra, direct.inter, comm->nvlink / 2);
  return direct;
}

void sl_nccl_search(struct sl_nccl_graphs *graphs, const struct sl_nccl_comm *comm) {
  const struct sl_nccl_graph none = {0}, ring = search_ring(comm), tree = search_tree(comm, &ring);
  const struct sl_nccl_graph nvls = search_nvls(comm);
  *graphs = (struct sl_nccl_graphs){.of = {
                                        [SL_NCCL_RING] = ring,
                                        [SL_NCCL_TREE] = tree,
                                        [SL_NCCL_PAT] = tree,
                                        [SL_NCCL_COLLNET_DIRECT] = search_direct(comm),
                                        [SL_NCCL_COLLNET_CHAIN] = comm->collnet && comm->nodes > 1 ? tree : none,
                                        [SL_NCCL_NVLS] = nvls,
                                        [SL_NCCL_NVLS_TREE] = comm->nodes > 1 ? nvls : none,
                                    }};
}
