/* Lanes are FIFO, and an op starts when its waits are over: the rules of the exact clock (sim/lanes.c), for one rank. */
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>

struct lanes {
  const struct sl_fast_player *player;
  double *ends[SL_LANE_COUNT];   /* of the instance's ops of a lane */
  uint32_t first[SL_LANE_COUNT]; /* ops of a lane before the instance */
  uint32_t count[SL_LANE_COUNT];
  double free_at, arrived; /* the device; the input */
};

static bool is_transfer(uint32_t lane) {
  return lane >= SL_LANE_SEND_F && lane <= SL_LANE_RECV_B;
}

static bool receives(uint32_t lane) {
  return lane == SL_LANE_RECV_F || lane == SL_LANE_RECV_B;
}

/* When the first `count` ops of a lane are over. Of what came before only the input may be late. */
static double over(const struct lanes *l, uint32_t lane, uint32_t count) {
  if (receives(lane)) return l->arrived;
  if (count <= l->first[lane] || is_transfer(lane)) return -INFINITY;
  const uint32_t own = count - l->first[lane];
  return own <= l->count[lane] ? l->ends[lane][own - 1] : -INFINITY;
}

/* When the waits of an issue are over. */
static double waited(const struct lanes *l, const struct sl_issue *issue) {
  double at = -INFINITY;
  for (uint32_t i = 0; i < issue->wait_count; i++) {
    const struct sl_wait *w = &l->player->program->waits[issue->wait + i];
    const double end = over(l, w->lane, w->count);
    if (end > at) at = end;
  }
  return at;
}

/* When an issue starts. */
static double start_of(const struct lanes *l, const struct sl_issue *issue) {
  const uint32_t lane = l->player->program->ops[issue->op].lane;
  const double ready = waited(l, issue);
  const double lane_free = l->count[lane] > 0 ? l->ends[lane][l->count[lane] - 1] : l->free_at;
  return ready > lane_free ? ready : lane_free;
}

static enum sl_status open_lanes(struct lanes *l, const struct sl_fast_player *player, size_t first, size_t count) {
  const struct sl_program *p = player->program;
  *l = (struct lanes){.player = player};
  for (size_t i = 0; i < first; i++) l->first[p->ops[p->issues[i].op].lane]++;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) SL_TRY(sl_calloc(&l->ends[lane], count + 1, sizeof(double)));
  return SL_OK;
}

static void close_lanes(struct lanes *l) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(l->ends[lane]);
}

/* Tensors whose gradient the op writes. */
static void note_writes(const struct sl_fast_player *player, const struct sl_op *op, const struct sl_fast_writes *w,
                        double begin, double end) {
  const struct sl_slice *slices = sl_op_slices(player->program, op);
  const int32_t buffer = w->rank_class->role[SL_ROLE_GRAD].buffer;
  const int64_t element = sl_dtype_bytes(w->rank_class->buffers[buffer].dtype);
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &slices[i];
    if (s->buffer != buffer || !(s->access & SL_WRITE)) continue;
    for (int t = 0; t < w->pp_rank->tensor_count; t++) {
      const int64_t lo = w->pp_rank->tensors[t].flat * element, hi = lo + w->pp_rank->tensors[t].numel * element;
      if (s->offset >= hi || lo >= s->offset + s->bytes) continue;
      w->begins[t] = begin;
      w->ends[t] = end;
    }
  }
}

/* When the send of what the action makes may start: the first send behind it. */
static double sent(const struct lanes *l, size_t from) {
  const struct sl_program *p = l->player->program;
  for (size_t i = from; i < p->issue_count; i++) {
    const enum sl_lane lane = p->ops[p->issues[i].op].lane;
    if (lane == SL_LANE_SEND_F || lane == SL_LANE_SEND_B) return waited(l, &p->issues[i]);
    if (lane == SL_LANE_COMPUTE) break;
  }
  return -INFINITY;
}

/* With the device free at `free_at` and the input there at `arrived`. */
static enum sl_status play_from(const struct sl_fast_player *player, size_t first, size_t count, double free_at,
                                double arrived, const struct sl_fast_writes *writes, double *end, double *out) {
  enum sl_status status;
  const struct sl_program *p = player->program;
  struct lanes l;
  *end = free_at;
  SL_GO(open_lanes(&l, player, first, count));
  l.free_at = free_at;
  l.arrived = arrived;
  for (size_t i = first; i < first + count; i++) {
    const struct sl_issue *issue = &p->issues[i];
    const struct sl_op *op = &p->ops[issue->op];
    const double start = start_of(&l, issue), done = start + player->seconds[issue->op];
    l.ends[op->lane][l.count[op->lane]++] = done;
    if (done > *end) *end = done;
    if (writes != NULL) note_writes(player, op, writes, start, done);
  }
  *out = sent(&l, first + count);
done:
  close_lanes(&l);
  return status;
}

enum sl_status sl_fast_play(const struct sl_fast_player *player, const struct sl_instance *instance,
                            const struct sl_fast_writes *writes, struct sl_fast_played *out) {
  const struct sl_program *p = player->program;
  const uint32_t number = (uint32_t)(instance - p->instances);
  size_t first = 0, count = 0;
  while (first < p->issue_count && p->issues[first].instance != number) first++;
  while (first + count < p->issue_count && p->issues[first + count].instance == number) count++;
  SL_TRY(play_from(player, first, count, 0, -INFINITY, writes, &out->end, &out->out));
  return play_from(player, first, count, -INFINITY, 0, NULL, &out->end_arrived, &out->out_arrived);
}
