/* Lanes are FIFO, and an op starts when its waits are over: the rules of the exact clock (sim/lanes.c), for one rank. */
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>

/* The issues of an action. */
struct span {
  size_t first, count;
};

/* When an action ends, when its output may be sent, where the host is then, and the least that the host alone lets the end be. */
struct run {
  double end, out, host, least;
};

struct lanes {
  const struct sl_fast_player *player;
  double *ends[SL_LANE_COUNT];   /* of the instance's ops of a lane */
  uint32_t first[SL_LANE_COUNT]; /* ops of a lane before the instance */
  uint32_t count[SL_LANE_COUNT];
  int64_t *order[SL_LANE_COUNT]; /* the instance's issues of a lane */
  uint32_t issued[SL_LANE_COUNT];
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

/* The end of an op that starts at `start`; a collective stands in the way of kernels from `ready` on, before the host calls it. */
static double end_of(struct lanes *l, const struct sl_op *op, double ready, double start, double seconds) {
  if (op->lane == SL_LANE_COMPUTE) return slowed_end(l, start, seconds);
  if (l->player->slow > 0 && seconds > 0) {
    l->beside_from = ready;
    l->beside_to = start + seconds;
  }
  return start + seconds;
}

static enum sl_status open_lanes(struct lanes *l, const struct sl_fast_player *player, const struct span *span) {
  const struct sl_program *p = player->program;
  *l = (struct lanes){.player = player, .beside_from = -INFINITY, .beside_to = -INFINITY};
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    SL_TRY(sl_calloc(&l->ends[lane], span->count + 1, sizeof(double)));
    SL_TRY(sl_calloc(&l->order[lane], span->count + 1, sizeof(int64_t)));
  }
  for (size_t i = 0; i < span->first; i++) l->first[p->ops[p->issues[i].op].lane]++;
  for (size_t i = span->first; i < span->first + span->count; i++) {
    const uint32_t lane = p->ops[p->issues[i].op].lane;
    l->order[lane][l->issued[lane]++] = (int64_t)i;
  }
  return SL_OK;
}

static void close_lanes(struct lanes *l) {
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) {
    free(l->ends[lane]);
    free(l->order[lane]);
  }
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

/* Is every op over that the next issue of a lane waits for? */
static bool may_start(const struct lanes *l, const struct sl_issue *issue) {
  for (uint32_t i = 0; i < issue->wait_count; i++) {
    const struct sl_wait *w = &l->player->program->waits[issue->wait + i];
    if (receives(w->lane) || is_transfer(w->lane) || w->count <= l->first[w->lane]) continue;
    if (w->count - l->first[w->lane] > l->count[w->lane]) return false;
  }
  return true;
}

/* The issue that starts next: the earliest, a collective before a kernel. -1: none is left. */
static int64_t next_issue(const struct lanes *l, double *start) {
  int64_t found = -1;
  for (int lane = SL_LANE_COUNT - 1; lane >= 0; lane--) {
    if (l->count[lane] == l->issued[lane]) continue;
    const int64_t issue = l->order[lane][l->count[lane]];
    if (!may_start(l, &l->player->program->issues[issue])) continue;
    const double at = start_of(l, &l->player->program->issues[issue]);
    if (found >= 0 && at >= *start) continue;
    found = issue;
    *start = at;
  }
  return found;
}

static bool waits_for_input(const struct lanes *l, const struct sl_issue *issue) {
  for (uint32_t i = 0; i < issue->wait_count; i++)
    if (receives(l->player->program->waits[issue->wait + i].lane)) return true;
  return false;
}

/* When the host has launched an issue that could start at `ready`. */
static double launched(const struct lanes *l, const struct sl_issue *issue, double ready, double *host) {
  if (l->player->host == NULL) return ready;
  if (waits_for_input(l, issue) && *host < l->arrived) *host = l->arrived;
  if (l->player->blocking && *host < ready) *host = ready;
  *host += l->player->host[issue->op];
  return *host > ready ? *host : ready;
}

/* A collective begins while a kernel runs. */
static void slow_running(struct lanes *l, double at) {
  const uint32_t count = l->count[SL_LANE_COMPUTE];
  if (l->player->slow == 0 || count == 0) return;
  double *end = &l->ends[SL_LANE_COMPUTE][count - 1];
  if (*end > at && !isinf(at)) *end = slowed_end(l, at, *end - at);
}

static enum sl_status play_from(const struct sl_fast_player *player, const struct span *span, const struct from *from,
                                const struct sl_fast_writes *writes, struct run *out) {
  enum sl_status status;
  const struct sl_program *p = player->program;
  struct lanes l;
  double ready = 0, host = from->host;
  *out = (struct run){.end = from->free_at, .least = -INFINITY};
  SL_GO(open_lanes(&l, player, span));
  l.free_at = from->free_at;
  l.arrived = from->arrived;
  for (int64_t i = next_issue(&l, &ready); i >= 0; i = next_issue(&l, &ready)) {
    const struct sl_issue *issue = &p->issues[i];
    const struct sl_op *op = &p->ops[issue->op];
    const double start = launched(&l, issue, ready, &host),
                 done = end_of(&l, op, ready, start, player->seconds[issue->op]);
    l.ends[op->lane][l.count[op->lane]++] = done;
    if (op->lane != SL_LANE_COMPUTE && player->seconds[issue->op] > 0) slow_running(&l, ready);
    if (host + player->seconds[issue->op] > out->least) out->least = host + player->seconds[issue->op];
    if (writes != NULL) note_writes(player, op, writes, start, done, isinf(from->free_at));
  }
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    if (l.count[lane] > 0 && l.ends[lane][l.count[lane] - 1] > out->end) out->end = l.ends[lane][l.count[lane] - 1];
  out->out = sent(&l, span->first + span->count);
  out->host = host;
done:
  close_lanes(&l);
  return status;
}

enum sl_status sl_fast_play(const struct sl_fast_player *player, const struct sl_instance *instance,
                            const struct sl_fast_writes *writes, struct sl_fast_played *out) {
  static const struct from device = {0, -INFINITY, -INFINITY}, input = {-INFINITY, 0, -INFINITY},
                           host = {-INFINITY, -INFINITY, 0};
  const struct sl_program *p = player->program;
  const uint32_t number = (uint32_t)(instance - p->instances);
  struct span span = {0, 0};
  struct run by_device, by_input, by_host = {-INFINITY, -INFINITY, 0, -INFINITY};
  while (span.first < p->issue_count && p->issues[span.first].instance != number) span.first++;
  while (span.first + span.count < p->issue_count && p->issues[span.first + span.count].instance == number)
    span.count++;
  SL_TRY(play_from(player, &span, &device, writes, &by_device));
  SL_TRY(play_from(player, &span, &input, NULL, &by_input));
  if (player->host != NULL && !player->blocking) SL_TRY(play_from(player, &span, &host, writes, &by_host));
  *out = (struct sl_fast_played){.end = by_device.end,
                                 .end_arrived = by_input.end,
                                 .end_hosted = by_host.end,
                                 .out = by_device.out,
                                 .out_arrived = by_input.out,
                                 .out_hosted = by_host.out,
                                 .host = by_host.host,
                                 .host_arrived = player->blocking ? -INFINITY : by_input.host,
                                 .least = by_host.least};
  return SL_OK;
}
