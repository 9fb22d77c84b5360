/* Runs actions of all stages one by one, each as soon as its input is available; see schedule.h. */
#include "fast/schedule.h"

#include <stdlib.h>

struct runner {
  const struct sl_fast_pipeline *p;
  double *arrived_f, *arrived_b; /* per stage and micro-batch: when the input of its action arrives; < 0: not yet
                                  * known */
  double *free_at;               /* per stage */
  double *host; /* per stage: when the host has finished its launches so far; it waits for each message */
  double *rate; /* per stage: the host's seconds per second of the last action */
  double *sent_from, *sent_to;   /* per stage: the last message that it sent */
  int64_t *forwards, *backwards; /* per stage: how many are done */
};

static size_t cell(const struct runner *r, int stage, int64_t micro_batch) {
  return (size_t)stage * (size_t)r->p->micro_batches + (size_t)micro_batch;
}

/* Whether the next action of a stage is a forward. */
static bool forward_next(const struct runner *r, int stage) {
  const struct sl_fast_pipeline *p = r->p;
  const int64_t f = r->forwards[stage], b = r->backwards[stage];
  if (f == p->micro_batches) return false;
  return p->schedule == SL_FAST_GPIPE || f - b < p->stages - stage;
}

static double later(double a, double b) {
  return a > b ? a : b;
}

/* The seconds that an action from `begin` to `end` loses to the stage's last message. */
static double lost(const struct runner *r, int stage, double begin, double end) {
  const double from = later(r->sent_from[stage], begin), to = r->sent_to[stage] < end ? r->sent_to[stage] : end;
  return to > from ? r->p->slow * (to - from) : 0;
}

/* Runs an action whose input arrives at `there`; returns when its output is complete. The host waits for the end of the
 * stage's last message, which may come while it launches the action: it has then launched, and the device has run, a
 * part of it. */
static double run_action(struct runner *r, int stage, const struct sl_fast_timed *t, double there) {
  const double free_at = r->free_at[stage], sent = r->sent_to[stage];
  const double begin = later(free_at + t->end, there + t->end_arrived) - t->end; /* what it recomputes may come first */
  const bool leads = t->host < t->end;
  const double rate = leads ? t->host / t->end : 1, pace = leads && t->end_hosted > 0 ? t->end_hosted / t->end : 1;
  double host = r->host[stage], from = host; /* from where the host, and the ops that it launches, could have begun */
  if (sent <= begin) {
    host = from = later(host, sent);
  } else if (sent < begin + t->end) {
    host = later(host, sent - rate * (sent - begin));
    from = later(from, sent - pace * (sent - begin));
  }
  const double end = later(later(free_at + t->end, there + t->end_arrived), from + t->end_hosted);
  const double out = later(later(free_at + t->out, there + t->out_arrived), from + t->out_hosted);
  const double held = lost(r, stage, begin, end);
  r->free_at[stage] = end + held;
  r->rate[stage] = rate;
  r->host[stage] = later(later(host + t->host, there + t->host_arrived), sent < begin + t->end ? 0 : sent);
  return out + held;
}

/* Sends the message of stage `from` that is ready at `out`; returns when it arrives at `to`. */
static double send(struct runner *r, int from, int to, double out) {
  const double arrives = out + r->p->transfer[from < to ? from : to];
  const double beside = (r->free_at[to] < arrives ? r->free_at[to] : arrives) - out;
  if (beside > 0) r->free_at[to] += r->p->slow * beside;
  if (arrives < r->free_at[to]) r->host[to] = later(r->host[to], arrives + r->rate[to] * (r->free_at[to] - arrives));
  r->sent_from[from] = out;
  r->sent_to[from] = arrives;
  return arrives;
}

static bool run_forward(struct runner *r, int stage) {
  const struct sl_fast_pipeline *p = r->p;
  const int64_t i = r->forwards[stage];
  const double there = stage == 0 ? 0 : r->arrived_f[cell(r, stage, i)];
  if (there < 0) return false;
  const double out = run_action(r, stage, &p->stage[stage]->forward, there);
  if (stage + 1 < p->stages) r->arrived_f[cell(r, stage + 1, i)] = send(r, stage, stage + 1, out);
  r->forwards[stage]++;
  return true;
}

static const struct sl_fast_timed *backward_of(const struct sl_fast_pipeline *p, int stage, int64_t i) {
  const struct sl_fast_stage_cost *c = p->stage[stage];
  if (i == p->micro_batches - 1) return &c->last[i == 0];
  return i == 0 ? &c->first : &c->next;
}

static bool run_backward(struct runner *r, int stage) {
  const struct sl_fast_pipeline *p = r->p;
  const int64_t i = r->backwards[stage];
  const double there = stage == p->stages - 1 ? 0 : r->arrived_b[cell(r, stage, i)];
  if (there < 0) return false;
  const double out = run_action(r, stage, backward_of(p, stage, i), there);
  if (stage > 0) r->arrived_b[cell(r, stage - 1, i)] = send(r, stage, stage - 1, out);
  r->backwards[stage]++;
  return true;
}

static void run_all(struct runner *r) {
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < r->p->stages; s++) {
      while (r->backwards[s] < r->p->micro_batches && (forward_next(r, s) ? run_forward(r, s) : run_backward(r, s)))
        progress = true;
    }
  }
}

enum sl_status sl_fast_run_pipeline(const struct sl_fast_pipeline *p, double *ends, double *hosts) {
  enum sl_status status;
  const size_t stages = (size_t)p->stages, cells = stages * (size_t)p->micro_batches;
  struct runner r = {.p = p};
  SL_GO(sl_calloc(&r.arrived_f, cells, sizeof(double)));
  SL_GO(sl_calloc(&r.arrived_b, cells, sizeof(double)));
  SL_GO(sl_calloc(&r.free_at, stages, sizeof(double)));
  SL_GO(sl_calloc(&r.host, stages, sizeof(double)));
  SL_GO(sl_calloc(&r.rate, stages, sizeof(double)));
  SL_GO(sl_calloc(&r.sent_from, stages, sizeof(double)));
  SL_GO(sl_calloc(&r.sent_to, stages, sizeof(double)));
  SL_GO(sl_calloc(&r.forwards, stages, sizeof(int64_t)));
  SL_GO(sl_calloc(&r.backwards, stages, sizeof(int64_t)));
  for (size_t i = 0; i < cells; i++) r.arrived_f[i] = r.arrived_b[i] = -1;
  run_all(&r);
  for (size_t i = 0; i < stages; i++) {
    ends[i] = r.free_at[i];
    if (hosts != NULL) hosts[i] = r.host[i];
  }
done:
  free(r.arrived_f);
  free(r.arrived_b);
  free(r.free_at);
  free(r.host);
  free(r.rate);
  free(r.sent_from);
  free(r.sent_to);
  free(r.forwards);
  free(r.backwards);
  return status;
}

bool sl_fast_messages_keep_up(const struct sl_fast_pipeline *p) {
  for (int i = 0; i + 1 < p->stages; i++)
    for (int s = i; s <= i + 1; s++) {
      const double backward = backward_of(p, s, 0)->end;
      if (2 * p->transfer[i] > p->stage[s]->forward.end || 2 * p->transfer[i] > backward) return false;
    }
  return true;
}

bool sl_fast_hides_little(const struct sl_fast_pipeline *p, double seconds) {
  for (int s = 0; s < p->stages; s++)
    if (p->stage[s]->hidden[p->micro_batches == 1] > 5e-3 * seconds) return false;
  return true;
}
