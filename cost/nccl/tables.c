/* The constants of NCCL's tuning model: each .inc file is a table of rows, included here once for every set of
 * columns. */
#include "cost/nccl/tables.h"

static const double microsecond = 1e-6, gigabyte = 1e9;

/* Columns by the number of nodes. */
enum { ONE_NODE, TWO_NODES, MORE_NODES, NODE_COLUMNS };

static int node_column(int nodes) {
  return nodes > TWO_NODES + 1 ? MORE_NODES : nodes - 1;
}

/* clang-format off */
#define ROW_BASE(algo, ...) [SL_NCCL_##algo] = {__VA_ARGS__},
#define ROW_HOP(hop, algo, ...) [SL_NCCL_HOP_##hop][SL_NCCL_##algo] = {__VA_ARGS__},
#define NO_ROW(...)

static const double base_latency[SL_NCCL_ALGO_COUNT][SL_NCCL_PROTO_COUNT] = {
#define BASE ROW_BASE
#define HOP NO_ROW
#include "cost/nccl/latency.inc"
#undef BASE
#undef HOP
};

static const double hop_latency[SL_NCCL_HOP_COUNT][SL_NCCL_ALGO_COUNT][SL_NCCL_PROTO_COUNT] = {
#define BASE NO_ROW
#define HOP ROW_HOP
#include "cost/nccl/latency.inc"
#undef BASE
#undef HOP
};

/* All of caps.inc, one member for each kind of row. */
static const struct {
  double channel[SL_NCCL_CAP_COUNT][SL_NCCL_GPU_COUNT][NODE_COLUMNS];
  double ll_one_node[SL_NCCL_GPU_COUNT];
  double ll_nodes[SL_NCCL_CPU_OTHER + 1][NODE_COLUMNS - 1];
  double nvls_share[SL_NCCL_GPU_COUNT];
} caps = {
#define CAP(cap, gpu, ...) .channel[SL_NCCL_CAP_##cap][SL_NCCL_##gpu] = {__VA_ARGS__},
#define LL_ONE_NODE(gpu, value) .ll_one_node[SL_NCCL_##gpu] = value,
#define LL_NODES(cpu, ...) .ll_nodes[SL_NCCL_CPU_##cpu] = {__VA_ARGS__},
#define NVLS_SHARE(gpu, value) .nvls_share[SL_NCCL_##gpu] = value,
#include "cost/nccl/caps.inc"
};

enum { ONE, SEVERAL, MAX_SPEEDS = 20 }; /* a list ends with a 0, for which every row leaves room */
static const struct {
  double list[SL_NCCL_GPU_COUNT][SEVERAL + 1][MAX_SPEEDS];
} speeds = {
#define SPEEDS(gpu, nodes, ...) .list[SL_NCCL_##gpu][nodes] = {__VA_ARGS__, 0},
#include "cost/nccl/speeds.inc"
};

static const struct {
  int64_t bytes;
  double share[SL_NCCL_PROTO_COUNT];
} tree[] = {
#define TREE(bytes, ...) {bytes, {__VA_ARGS__}},
#include "cost/nccl/corrections.inc"
};
/* clang-format on */

double sl_nccl_base_latency(enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  return base_latency[algo][proto] * microsecond;
}

double sl_nccl_hop_latency(enum sl_nccl_hop hop, enum sl_nccl_algo algo, enum sl_nccl_proto proto) {
  return hop_latency[hop][algo][proto] * microsecond;
}

double sl_nccl_cap(const struct sl_nccl_comm *comm, enum sl_nccl_cap cap) {
  return caps.channel[cap][comm->gpu][node_column(comm->nodes)] * gigabyte;
}

double sl_nccl_ll_cap(const struct sl_nccl_comm *comm) {
  const int column = node_column(comm->nodes);
  return (column == ONE_NODE ? caps.ll_one_node[comm->gpu] : caps.ll_nodes[comm->cpu][column - 1]) * gigabyte;
}

double sl_nccl_nvls_share(enum sl_nccl_gpu gpu) {
  return caps.nvls_share[gpu];
}

double sl_nccl_tree_share(enum sl_nccl_proto proto, int64_t bytes) {
  const int rows = sizeof tree / sizeof tree[0];
  for (int i = rows - 1; i >= 0; i--)
    if (bytes >= tree[i].bytes) return bytes < 2 * tree[i].bytes ? tree[i].share[proto] : 1;
  return 1;
}

double sl_nccl_speed(const struct sl_nccl_comm *comm, int i) {
  return speeds.list[comm->gpu][comm->nodes > 1 ? SEVERAL : ONE][i] * gigabyte;
}
