/* Captures and graphs of the stand-in; see graph.h. */
#include "tests/stand_ins/graph.h"

#include "tests/stand_ins/stand_in.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 64 };

struct node {
  const struct stand_in_work *work;
  void *context;
  int lane;
  struct stand_in_set after;
};

struct CUgraph_st {
  int holders; /* who captured it, who made it executable, and its launches */
  struct node *nodes;
  size_t count;
  int lanes;
};

struct CUgraphExec_st {
  struct CUgraph_st *graph;
};

static struct {
  bool open, spoilt;
  int number; /* of captures so far */
  pthread_t owner;
  struct CUgraph_st *graph;
  cudaStream_t streams[LANES];      /* the first began it */
  struct stand_in_set after[LANES]; /* what a stream's next piece comes after */
} capture;
static int graphs, graph_nodes, graph_kernels;

int stand_in_graphs(void) {
  return graphs;
}

int stand_in_graph_nodes(void) {
  return graph_nodes;
}

int stand_in_graph_kernels(void) {
  return graph_kernels;
}

/* --- sets --- */

void stand_in_set_free(struct stand_in_set *set) {
  free(set->at);
  *set = (struct stand_in_set){0};
}

static bool contains(const struct stand_in_set *set, size_t number) {
  for (size_t i = 0; i < set->count; i++)
    if (set->at[i] == number) return true;
  return false;
}

static void add(struct stand_in_set *set, const struct stand_in_set *more) {
  set->at = realloc(set->at, (set->count + more->count + 1) * sizeof *set->at);
  for (size_t i = 0; i < more->count; i++)
    if (!contains(set, more->at[i])) set->at[set->count++] = more->at[i];
}

static void drop(struct CUgraph_st *graph) {
  if (__atomic_fetch_sub(&graph->holders, 1, __ATOMIC_ACQ_REL) > 1) return;
  for (size_t i = 0; i < graph->count; i++) {
    stand_in_forget(graph->nodes[i].work, graph->nodes[i].context);
    stand_in_set_free(&graph->nodes[i].after);
  }
  free(graph->nodes);
  free(graph);
}

/* --- captures --- */

static int lane_of(cudaStream_t stream) {
  for (int i = 0; capture.open && stream && i < capture.graph->lanes; i++)
    if (capture.streams[i] == stream) return i;
  return -1;
}

bool stand_in_is_capturing(cudaStream_t stream) {
  return lane_of(stream) >= 0;
}

int stand_in_open_capture(void) {
  return capture.open && pthread_equal(capture.owner, pthread_self()) ? capture.number : 0;
}

cudaError_t stand_in_spoil(cudaError_t code) {
  capture.spoilt = true;
  return code;
}

static int new_lane(cudaStream_t stream) {
  if (capture.graph->lanes == LANES) abort();
  capture.streams[capture.graph->lanes] = stream;
  return capture.graph->lanes++;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  STAND_IN_ENTER();
  if (!stream) return cudaErrorStreamCaptureUnsupported; /* the default stream */
  if (capture.open || mode == cudaStreamCaptureModeRelaxed) return cudaErrorIllegalState;
  capture.open = true;
  capture.spoilt = false;
  capture.number++;
  capture.owner = pthread_self();
  capture.graph = calloc(1, sizeof *capture.graph);
  capture.graph->holders = 1;
  new_lane(stream);
  return cudaSuccess;
}

cudaError_t stand_in_capture(cudaStream_t stream, const struct stand_in_work *work, void *context) {
  struct CUgraph_st *g = capture.graph;
  const int lane = lane_of(stream);
  if (!work->again) capture.spoilt = true;
  if (capture.spoilt) {
    stand_in_forget(work, context);
    return work->again ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnsupported;
  }
  g->nodes = realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
  g->nodes[g->count] = (struct node){work, context, lane, capture.after[lane]};
  capture.after[lane] = (struct stand_in_set){0};
  add(&capture.after[lane], &(struct stand_in_set){&g->count, 1});
  g->count++;
  return cudaSuccess;
}

struct stand_in_set stand_in_captured(cudaStream_t stream) {
  struct stand_in_set set = {0};
  add(&set, &capture.after[lane_of(stream)]);
  return set;
}

void stand_in_join_capture(cudaStream_t stream, const struct stand_in_set *after) {
  const int lane = lane_of(stream);
  add(&capture.after[lane >= 0 ? lane : new_lane(stream)], after);
}

/* Is all that was captured before the end of the stream that began it? */
static bool is_joined(const struct CUgraph_st *g) {
  bool *before = calloc(g->count + 1, sizeof *before), all = true;
  for (size_t i = 0; i < capture.after[0].count; i++) before[capture.after[0].at[i]] = true;
  for (size_t i = g->count; i-- > 0;) {
    all &= before[i];
    for (size_t k = 0; before[i] && k < g->nodes[i].after.count; k++) before[g->nodes[i].after.at[k]] = true;
  }
  free(before);
  return all;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  STAND_IN_ENTER();
  struct CUgraph_st *g = capture.graph;
  *out = NULL;
  if (!stand_in_is_capturing(stream)) return cudaErrorIllegalState;
  if (stream != capture.streams[0]) return stand_in_spoil(cudaErrorStreamCaptureUnmatched);
  const cudaError_t code = capture.spoilt  ? cudaErrorStreamCaptureInvalidated
                           : !is_joined(g) ? cudaErrorStreamCaptureUnjoined
                                           : cudaSuccess;
  for (int i = 0; i < g->lanes; i++) stand_in_set_free(&capture.after[i]);
  capture.open = false;
  if (code == cudaSuccess)
    *out = g;
  else
    drop(g);
  return code;
}

/* --- graphs --- */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  STAND_IN_ENTER();
  if (!graph || flags != 0) return cudaErrorInvalidValue;
  if (getenv("SHARDLAB_STAND_IN_NO_GRAPH")) return cudaErrorNotSupported;
  *out = malloc(sizeof **out);
  (*out)->graph = graph;
  graph->holders++;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  STAND_IN_ENTER_UNCAPTURED();
  return exec && stream ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  STAND_IN_ENTER();
  drop(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  STAND_IN_ENTER();
  drop(exec->graph);
  free(exec);
  return cudaSuccess;
}

/* A launch. */
struct run {
  struct CUgraph_st *graph;
  void **contexts;
  bool *over;
  size_t left, next[LANES]; /* of each lane; the count of nodes: none is left */
  uint64_t priority[LANES];
};

static size_t next_of(const struct CUgraph_st *g, int lane, size_t from) {
  while (from < g->count && g->nodes[from].lane != lane) from++;
  return from;
}

static bool is_ready(const struct run *run, size_t number) {
  const struct stand_in_set *after = &run->graph->nodes[number].after;
  for (size_t i = 0; i < after->count; i++)
    if (!run->over[after->at[i]]) return false;
  return true;
}

/* The lane of highest priority that can go on and was not asked; -1: none. */
static int choose(const struct run *run, const bool *asked) {
  int best = -1;
  for (int lane = 0; lane < run->graph->lanes; lane++)
    if (!asked[lane] && run->next[lane] < run->graph->count && is_ready(run, run->next[lane]) &&
        (best < 0 || run->priority[lane] > run->priority[best]))
      best = lane;
  return best;
}

static void end_run(struct run *run) {
  drop(run->graph);
  free(run->contexts);
  free(run->over);
  free(run);
}

static bool take_run(void *context) {
  struct run *run = context;
  struct CUgraph_st *g = run->graph;
  bool asked[LANES] = {false};
  for (int lane = 0; run->left == g->count && lane < g->lanes; lane++) run->priority[lane] = stand_in_draw();
  for (int lane; (lane = choose(run, asked)) >= 0;) {
    const size_t number = run->next[lane];
    const struct stand_in_work *work = g->nodes[number].work;
    asked[lane] = true;
    if (stand_in_faults(work)) return false;
    if (!work->turn(run->contexts[number])) continue;
    memset(asked, 0, sizeof asked);
    run->over[number] = true;
    run->next[lane] = next_of(g, lane, number + 1);
    run->left--;
    if (stand_in_draw() % 16 == 0) run->priority[lane] = stand_in_draw();
  }
  if (run->left > 0) return false;
  end_run(run);
  return true;
}

static const struct stand_in_work a_run = {STAND_IN_OTHER, take_run, NULL, NULL};

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  STAND_IN_ENTER();
  struct CUgraph_st *g = exec->graph;
  struct run *run = calloc(1, sizeof *run);
  run->graph = g;
  run->left = g->count;
  run->contexts = calloc(g->count + 1, sizeof *run->contexts);
  run->over = calloc(g->count + 1, sizeof *run->over);
  __atomic_fetch_add(&g->holders, 1, __ATOMIC_RELAXED);
  for (size_t i = 0; i < g->count; i++) run->contexts[i] = g->nodes[i].work->again(g->nodes[i].context);
  for (int lane = 0; lane < g->lanes; lane++) run->next[lane] = next_of(g, lane, 0);
  graphs++;
  graph_nodes = (int)g->count;
  graph_kernels = 0;
  for (size_t i = 0; i < g->count; i++) graph_kernels += g->nodes[i].work->kind != STAND_IN_OTHER;
  return stand_in_put(stream, &a_run, run);
}
