/* Lanes are FIFO, and an op starts when its waits are over: the rules of the exact clock (sim/lanes.c), for one rank. */
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>

/* ---- taking a track ---- */

struct taking {
  struct sl_fast_track *track;
  const struct sl_program *program;
  const struct sl_fast_wanted *wanted;
  int32_t *beat_of[SL_LANE_COUNT]; /* of the instance's ops of a lane */
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

/* What the issue waits for. Of what came before the instance only the input may be late. */
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

/* Tensors whose gradient the op writes. */
static enum sl_status take_writes(struct taking *t, const struct sl_op *op, struct sl_fast_range *out) {
  *out = (struct sl_fast_range){(int32_t)t->track->index_count, 0};
  if (t->wanted == NULL) return SL_OK;
  const struct sl_slice *slices = sl_op_slices(t->program, op);
  const struct sl_pp_rank *rank = t->wanted->pp_rank;
  const int32_t buffer = t->wanted->rank_class->role[SL_ROLE_GRAD].buffer;
  const int64_t element = sl_dtype_bytes(t->wanted->rank_class->buffers[buffer].dtype);
  for (int i = 0; i < op->slice_count; i++) {
    const struct sl_slice *s = &slices[i];
    if (s->buffer != buffer || !(s->access & SL_WRITE)) continue;
    for (int k = 0; k < rank->tensor_count; k++) {
      const int64_t lo = rank->tensors[k].flat * element, hi = lo + rank->tensors[k].numel * element;
      if (s->offset >= hi || lo >= s->offset + s->bytes || t->wanted->tensor[k] < 0) continue;
      SL_TRY(add_index(t->track, out, t->wanted->tensor[k]));
    }
  }
  return SL_OK;
}

static enum sl_status take_beat(struct taking *t, const struct sl_issue *issue, const int32_t *work_of, int32_t beat) {
  const struct sl_op *op = &t->program->ops[issue->op];
  const uint32_t before = t->count[op->lane];
  struct sl_fast_beat *b = &t->track->beats[beat];
  *b = (struct sl_fast_beat){.work = work_of[issue->op], .before = before > 0 ? t->beat_of[op->lane][before - 1] : -1};
  SL_TRY(take_waits(t, issue, &b->waits));
  SL_TRY(take_writes(t, op, &b->writes));
  t->beat_of[op->lane][t->count[op->lane]++] = beat;
  return SL_OK;
}

/* What the first send behind the action waits for. */
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

/* When all that is waited for is over. */
static double waited(const struct sl_fast_track *t, struct sl_fast_range waits, double arrived) {
  double at = -INFINITY;
  for (int32_t i = waits.first; i < waits.first + waits.count; i++) {
    const double end = t->index[i] < 0 ? arrived : t->ends[t->index[i]];
    if (end > at) at = end;
  }
  return at;
}

/* With the device free at `free_at` and the input there at `arrived`; the end of the last op. */
static double play_from(struct sl_fast_track *t, const double *seconds, double free_at, double arrived,
                        struct sl_fast_written *written) {
  double last = free_at;
  for (size_t i = 0; i < t->count; i++) {
    const struct sl_fast_beat *b = &t->beats[i];
    const double ready = waited(t, b->waits, arrived);
    const double lane_free = b->before < 0 ? free_at : t->ends[b->before];
    const double start = ready > lane_free ? ready : lane_free, end = start + seconds[b->work];
    t->ends[i] = end;
    if (end > last) last = end;
    for (int32_t k = b->writes.first; written != NULL && k < b->writes.first + b->writes.count; k++)
      written[t->index[k]] = (struct sl_fast_written){start, end};
  }
  return last;
}

double sl_fast_play_end(struct sl_fast_track *track, const double *seconds) {
  return play_from(track, seconds, 0, -INFINITY, NULL);
}

void sl_fast_play(struct sl_fast_track *track, const double *seconds, struct sl_fast_written *written,
                  struct sl_fast_played *out) {
  out->end = play_from(track, seconds, 0, -INFINITY, written);
  out->out = waited(track, track->sent, -INFINITY);
  out->end_arrived = play_from(track, seconds, -INFINITY, 0, NULL);
  out->out_arrived = waited(track, track->sent, 0);
}
