/* Lanes are FIFO, and an op starts when its waits are over: the rules of the exact clock (sim/lanes.c), for one rank. */
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>

struct lanes {
  const struct sl_fast_player *player;
  double *ends[SL_LANE_COUNT];   /* of the instance's ops of a lane */
  uint32_t first[SL_LANE_COUNT]; /* ops of a lane before the instance */
  uint32_t count[SL_LANE_COUNT];
  double free_at, arrived;       /* the device; the input */
  double beside_from, beside_to; /* the last collective of the action's own */
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

/* The end of a kernel that runs from `start` and is slowed while the collective beside it lasts. */
static double slowed_end(const struct lanes *l, double start, double seconds) {
  const double lead = l->beside_from > start ? l->beside_from - start : 0, left = seconds - lead;
  if (left <= 0 || l->beside_to <= start) return start + seconds;
  const double speed = 1 - l->player->slow, span = l->beside_to - (start + lead);
  return left <= span * speed ? start + lead + left / speed : l->beside_to + (left - span * speed);
}

/* The end of an op that starts at `start`. */
static double end_of(struct lanes *l, const struct sl_op *op, double start, double seconds) {
  if (op->lane == SL_LANE_COMPUTE) return slowed_end(l, start, seconds);
  if (l->player->slow > 0 && seconds > 0) {
    l->beside_from = start;
    l->beside_to = start + seconds;
  }
  return start + seconds;
}

static enum sl_status open_lanes(struct lanes *l, const struct sl_fast_player *player, size_t first, size_t count) {
  const struct sl_program *p = player->program;
  *l = (struct lanes){.player = player, .beside_from = -INFINITY, .beside_to = -INFINITY};
  for (size_t i = 0; i < first; i++) l->first[p->ops[p->issues[i].op].lane]++;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) SL_TRY(sl_calloc(&l->ends[lane], count + 1, sizeof(double)));
  return SL_OK;
}

static void close_lanes(struct lanes *l) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(l->ends[lane]);
}

/* Tensors whose gradient the op writes. */
static void note_writes(const struct sl_fast_player *player, const struct sl_op *op, const struct sl_fast_writes *w,
                        double begin, double end, bool by_host) {
  const struct sl_slice *slices = sl_op_slices(player->program, op);
  const int32_t buffer = w->rank_class->role[SL_ROLE_GRAD].buffer;
  const int64_t element = sl_dtype_bytes(w->rank_class->buffers[buffer].dtype);
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &slices[i];
    if (s->buffer != buffer || !(s->access & SL_WRITE)) continue;
    for (int t = 0; t < w->pp_rank->tensor_count; t++) {
      const int64_t lo = w->pp_rank->tensors[t].flat * element, hi = lo + w->pp_rank->tensors[t].numel * element;
      if (s->offset >= hi || lo >= s->offset + s->bytes) continue;
      if (by_host) {
        w->hosted[t] = end;
        continue;
      }
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

/* From when the device is free, the input there, and the host at the first launch. */
struct from {
  double free_at, arrived, host;
};

static enum sl_status play_from(const struct sl_fast_player *player, size_t first, size_t count, struct from from,
                                const struct sl_fast_writes *writes, double *end, double *out) {
  enum sl_status status;
  const struct sl_program *p = player->program;
  struct lanes l;
  *end = from.free_at;
  SL_GO(open_lanes(&l, player, first, count));
  l.free_at = from.free_at;
  l.arrived = from.arrived;
  for (size_t i = first; i < first + count; i++) {
    const struct sl_issue *issue = &p->issues[i];
    const struct sl_op *op = &p->ops[issue->op];
    double start = start_of(&l, issue);
    if (player->host != NULL) from.host += player->host[issue->op];
    if (from.host > start) start = from.host;
    const double done = end_of(&l, op, start, player->seconds[issue->op]);
    l.ends[op->lane][l.count[op->lane]++] = done;
    if (done > *end) *end = done;
    if (writes != NULL) note_writes(player, op, writes, start, done, !isinf(from.host));
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
  static const struct from device = {0, -INFINITY, -INFINITY}, input = {-INFINITY, 0, -INFINITY},
                           host = {-INFINITY, -INFINITY, 0};
  SL_TRY(play_from(player, first, count, device, writes, &out->end, &out->out));
  SL_TRY(play_from(player, first, count, input, NULL, &out->end_arrived, &out->out_arrived));
  out->end_hosted = out->out_hosted = -INFINITY;
  out->host = 0;
  if (player->host == NULL) return SL_OK;
  for (size_t i = first; i < first + count; i++) out->host += player->host[p->issues[i].op];
  return play_from(player, first, count, host, writes, &out->end_hosted, &out->out_hosted);
}
