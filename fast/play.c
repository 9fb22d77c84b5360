/* Lanes are FIFO, and an op starts when its waits are over: the same rules as the exact clock's (sim/lanes.c), for one
 * rank. */
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>

/* ---- taking a track ---- */

struct taking {
  struct sl_fast_track *track;
  const struct sl_program *program;
  const struct sl_fast_wanted *wanted;
  int32_t *beat_of[SL_LANE_COUNT]; /* beats of the instance's ops, by lane */
  uint32_t first[SL_LANE_COUNT];   /* ops of a lane before the instance */
  uint32_t count[SL_LANE_COUNT];
};

static bool is_transfer(uint32_t lane) {
  return lane >= SL_LANE_SEND_F && lane <= SL_LANE_RECV_B;
}

static bool receives(uint32_t lane) {
  return lane == SL_LANE_RECV_F || lane == SL_LANE_RECV_B;
}

static enum sl_status add_index(struct sl_fast_track *t, struct sl_fast_range *range, int32_t what) {
  SL_TRY(sl_grow(&t->index, &t->index_capacity, t->index_count + 1, sizeof *t->index));
  t->index[t->index_count++] = what;
  range->count++;
  return SL_OK;
}

/* Keeps what the issue waits for. Of the ops before the instance, only the receive of its input may be incomplete. */
static enum sl_status take_waits(struct taking *t, const struct sl_issue *issue, struct sl_fast_range *out) {
  *out = (struct sl_fast_range){(int32_t)t->track->index_count, 0};
  for (uint32_t i = 0; i < issue->wait_count; i++) {
    const struct sl_wait *w = &t->program->waits[issue->wait + i];
    if (receives(w->lane)) {
      SL_TRY(add_index(t->track, out, -1));
    } else if (w->count > t->first[w->lane] && !is_transfer(w->lane)) {
      const uint32_t own = w->count - t->first[w->lane];
      if (own <= t->count[w->lane]) SL_TRY(add_index(t->track, out, t->beat_of[w->lane][own - 1]));
    }
  }
  return SL_OK;
}

bool sl_fast_writes_gradient(const struct sl_class *c, const struct sl_slice *slice) {
  return slice->buffer == c->role[SL_ROLE_GRAD].buffer && (slice->access & SL_WRITE);
}

bool sl_fast_touches(const struct sl_class *c, const struct sl_slice *slice, const struct sl_placed *tensor) {
  const int64_t element = sl_dtype_bytes(c->buffers[slice->buffer].dtype);
  const int64_t lo = tensor->flat * element, hi = lo + tensor->numel * element;
  return slice->offset < hi && lo < slice->offset + slice->bytes;
}

/* Keeps the tensors whose gradient the op writes. */
static enum sl_status take_writes(struct taking *t, const struct sl_op *op, struct sl_fast_range *out) {
  *out = (struct sl_fast_range){(int32_t)t->track->index_count, 0};
  if (t->wanted == NULL) return SL_OK;
  const struct sl_slice *slices = sl_op_slices(t->program, op);
  const struct sl_pp_rank *rank = t->wanted->pp_rank;
  for (int i = 0; i < op->slice_count; i++) {
    if (!sl_fast_writes_gradient(t->wanted->rank_class, &slices[i])) continue;
    for (int k = 0; k < rank->tensor_count; k++)
      if (t->wanted->tensor[k] >= 0 && sl_fast_touches(t->wanted->rank_class, &slices[i], &rank->tensors[k]))
        SL_TRY(add_index(t->track, out, t->wanted->tensor[k]));
  }
  return SL_OK;
}

static enum sl_status take_beat(struct taking *t, const struct sl_issue *issue, const int32_t *work_of, int32_t beat) {
  const struct sl_op *op = &t->program->ops[issue->op];
  const uint32_t before = t->count[op->lane];
  struct sl_fast_beat *b = &t->track->beats[beat];
  *b = (struct sl_fast_beat){.work = work_of[issue->op],
                             .before = before > 0 ? t->beat_of[op->lane][before - 1] : -1,
                             .lane = (int32_t)op->lane,
                             .kernel = op->lane == SL_LANE_COMPUTE};
  SL_TRY(take_waits(t, issue, &b->waits));
  SL_TRY(take_writes(t, op, &b->writes));
  t->beat_of[op->lane][t->count[op->lane]++] = beat;
  return SL_OK;
}

/* Keeps what the first send after the action waits for. */
static enum sl_status take_sent(struct taking *t, size_t from) {
  const struct sl_program *p = t->program;
  for (size_t i = from; i < p->issue_count; i++) {
    const enum sl_lane lane = p->ops[p->issues[i].op].lane;
    if (lane == SL_LANE_SEND_F || lane == SL_LANE_SEND_B) return take_waits(t, &p->issues[i], &t->track->sent);
    if (lane == SL_LANE_COMPUTE) break;
  }
  return SL_OK;
}

enum sl_status sl_fast_track_take(struct sl_fast_track *out, const struct sl_program *p, const int32_t *work_of,
                                  const struct sl_instance *instance, const struct sl_fast_wanted *wanted) {
  enum sl_status status;
  const uint32_t number = (uint32_t)(instance - p->instances);
  struct taking t = {.track = out, .program = p, .wanted = wanted};
  size_t first = 0;
  *out = (struct sl_fast_track){0};
  for (; first < p->issue_count && p->issues[first].instance != number; first++)
    t.first[p->ops[p->issues[first].op].lane]++;
  while (first + out->count < p->issue_count && p->issues[first + out->count].instance == number) out->count++;
  for (int lane = 0; lane < SL_LANE_COUNT; lane++)
    SL_GO(sl_calloc(&t.beat_of[lane], out->count + 1, sizeof *t.beat_of[lane]));
  SL_GO(sl_calloc(&out->beats, out->count + 1, sizeof *out->beats));
  SL_GO(sl_calloc(&out->ends, out->count + 1, sizeof *out->ends));
  for (size_t i = 0; i < out->count; i++) SL_GO(take_beat(&t, &p->issues[first + i], work_of, (int32_t)i));
  SL_GO(take_sent(&t, first + out->count));
done:
  for (int lane = 0; lane < SL_LANE_COUNT; lane++) free(t.beat_of[lane]);
  return status;
}

void sl_fast_track_free(struct sl_fast_track *t) {
  free(t->beats);
  free(t->ends);
  free(t->index);
  *t = (struct sl_fast_track){0};
}

/* ---- playing it ---- */

/* When everything waited for is complete. */
static double waited(const struct sl_fast_track *t, struct sl_fast_range waits, double arrived) {
  double at = -INFINITY;
  for (int32_t i = waits.first; i < waits.first + waits.count; i++) {
    const double end = t->index[i] < 0 ? arrived : t->ends[t->index[i]];
    if (end > at) at = end;
  }
  return at;
}

/* When the device is free, when the input arrives, and when the host reaches the action. */
struct from {
  double free_at, arrived, host;
};

/* The state of a play. */
struct playing {
  struct sl_fast_track *track;
  const struct sl_fast_beats *with;
  struct from from;
  double host, least; /* when the host has finished its launches so far; the earliest end by the host alone */
  double beside_from, beside_to; /* start and end of the last collective of the action */
  int32_t kernel;                /* the last one, -1 if none yet */
  double kernel_start;
};

static bool waits_for_input(const struct sl_fast_track *t, struct sl_fast_range waits) {
  for (int32_t i = waits.first; i < waits.first + waits.count; i++)
    if (t->index[i] < 0) return true;
  return false;
}

/* When the host has launched a beat that could start at `ready`. */
static double launched(struct playing *p, const struct sl_fast_beat *b, double ready) {
  if (p->with->host == NULL) return ready;
  if (p->host < p->from.arrived && waits_for_input(p->track, b->waits)) p->host = p->from.arrived;
  if (p->with->blocking && p->host < ready) p->host = ready;
  p->host += p->with->host[b->work];
  const double least = p->host + p->with->seconds[b->work];
  if (least > p->least) p->least = least;
  return p->host > ready ? p->host : ready;
}

/* The end of a kernel that has `seconds` of work left at `start` and is slowed while the collective runs. */
static double slowed_end(const struct playing *p, double start, double seconds) {
  const double lead = p->beside_from > start ? p->beside_from - start : 0, left = seconds - lead;
  if (left <= 0 || p->beside_to <= start) return start + seconds;
  const double speed = 1 - p->with->slow, span = p->beside_to - (start + lead);
  return left <= span * speed ? start + lead + left / speed : p->beside_to + (left - span * speed);
}

/* Notes a collective from `ready`, even before the host calls it, to `end`; the kernel that is running is slowed
 * too. */
static void stand_beside(struct playing *p, double ready, double end) {
  const double from = ready <= p->beside_to ? p->beside_from : ready; /* collectives that follow each other count as
                                                                       * one */
  p->beside_from = ready;
  p->beside_to = end;
  if (p->kernel >= 0 && !isinf(ready)) {
    double *running = &p->track->ends[p->kernel];
    const double at = ready > p->kernel_start ? ready : p->kernel_start;
    if (*running > at) *running = slowed_end(p, at, *running - at);
  }
  p->beside_from = from;
}

static double end_of(struct playing *p, int32_t beat, double ready, double start) {
  const struct sl_fast_beat *b = &p->track->beats[beat];
  const double seconds = p->with->seconds[b->work];
  if (b->kernel) {
    p->kernel = beat;
    p->kernel_start = start;
    return p->with->slow > 0 ? slowed_end(p, start, seconds) : start + seconds;
  }
  if (p->with->slow > 0 && seconds > 0) stand_beside(p, ready, start + seconds);
  return start + seconds;
}

/* When a beat's waits are over and its lane is free; NAN if something that it waits for has not begun. */
static double ready_of(const struct playing *p, const struct sl_fast_beat *b) {
  const struct sl_fast_track *t = p->track;
  for (int32_t i = b->waits.first; i < b->waits.first + b->waits.count; i++)
    if (t->index[i] >= 0 && isnan(t->ends[t->index[i]])) return NAN;
  const double waits = waited(t, b->waits, p->from.arrived);
  const double lane_free = b->before < 0 ? p->from.free_at : t->ends[b->before];
  return waits > lane_free ? waits : lane_free;
}

/* The beat that starts next: the earliest of those at the heads of the lanes, a collective before a kernel, so that the
 * running kernel is known when a collective begins. `first` is the first beat that has not begun. */
static size_t next_beat(const struct playing *p, size_t first, double *ready) {
  const struct sl_fast_track *t = p->track;
  uint32_t seen = 0;
  size_t found = first;
  bool any = false;
  for (size_t i = first; i < t->count && i < first + 64; i++) {
    const struct sl_fast_beat *b = &t->beats[i];
    if (!isnan(t->ends[i]) || (seen & UINT32_C(1) << b->lane)) continue;
    seen |= UINT32_C(1) << b->lane;
    const double at = ready_of(p, b);
    if (isnan(at) || (any && !(at < *ready || (at == *ready && t->beats[found].kernel)))) continue;
    any = true;
    found = i;
    *ready = at;
  }
  return found;
}

static void note(const struct playing *p, const struct sl_fast_beat *b, double start, double end,
                 struct sl_fast_written *written) {
  for (int32_t k = b->writes.first; k < b->writes.first + b->writes.count; k++) {
    struct sl_fast_written *w = &written[p->track->index[k]];
    *w = isinf(p->from.free_at) ? (struct sl_fast_written){w->begin, w->end, end}
                                : (struct sl_fast_written){start, end, -INFINITY};
  }
}

static double play_from(struct playing *p, const struct sl_fast_beats *with, struct from from,
                        struct sl_fast_written *written) {
  struct sl_fast_track *t = p->track;
  double last = from.free_at, ready = 0;
  p->with = with, p->from = from, p->host = from.host, p->kernel = -1;
  p->least = p->beside_from = p->beside_to = -INFINITY;
  for (size_t i = 0; i < t->count; i++) t->ends[i] = NAN;
  for (size_t first = 0; first < t->count;) {
    const size_t i = with->slow > 0 ? next_beat(p, first, &ready) : first;
    if (with->slow == 0) ready = ready_of(p, &t->beats[i]);
    const double start = launched(p, &t->beats[i], ready);
    t->ends[i] = end_of(p, (int32_t)i, ready, start);
    if (written != NULL) note(p, &t->beats[i], start, t->ends[i], written);
    while (first < t->count && !isnan(t->ends[first])) first++;
  }
  for (size_t i = 0; i < t->count; i++)
    if (t->ends[i] > last) last = t->ends[i];
  return last;
}

double sl_fast_play_end(struct sl_fast_track *track, const double *seconds) {
  struct playing p = {.track = track};
  return play_from(&p, &(struct sl_fast_beats){.seconds = seconds}, (struct from){0, -INFINITY, -INFINITY}, NULL);
}

void sl_fast_play(struct sl_fast_track *track, const struct sl_fast_beats *beats, struct sl_fast_written *written,
                  struct sl_fast_played *out) {
  struct playing p = {.track = track};
  out->end = play_from(&p, beats, (struct from){0, -INFINITY, -INFINITY}, written);
  out->out = waited(track, track->sent, -INFINITY);
  out->end_arrived = play_from(&p, beats, (struct from){-INFINITY, 0, -INFINITY}, NULL);
  out->out_arrived = waited(track, track->sent, 0);
  out->host_arrived = beats->blocking || beats->host == NULL ? -INFINITY : p.host;
  out->end_hosted = out->out_hosted = out->least = -INFINITY;
  out->host = 0;
  if (beats->host == NULL || beats->blocking) return;
  out->end_hosted = play_from(&p, beats, (struct from){-INFINITY, -INFINITY, 0}, written);
  out->out_hosted = waited(track, track->sent, -INFINITY);
  out->host = p.host;
  out->least = p.least;
}
