/* Longest paths; see paths.h. */
#include "fast/paths.h"

static double later(double a, double b) {
  return a > b ? a : b;
}

static const struct sl_fast_stage_cost *at(const struct sl_fast_pipeline *p, int stage) {
  return p->stage[stage];
}

static const struct sl_fast_timed *last_backward(const struct sl_fast_pipeline *p, int stage) {
  return &at(p, stage)->last[p->micro_batches == 1];
}

/* When the first micro-batch reaches each stage; it reaches the first stage at 0. */
static void go_down(const struct sl_fast_pipeline *p, double *reached) {
  double out = at(p, 0)->forward.out;
  reached[0] = 0;
  for (int s = 1; s < p->stages; s++) {
    reached[s] = out + p->transfer[s - 1];
    out = reached[s] + at(p, s)->forward.out_arrived;
  }
}

/* The first forward of a stage, from the time in `reached`. */
static double first_end(const struct sl_fast_pipeline *p, int stage) {
  return stage == 0 ? at(p, 0)->forward.end : at(p, stage)->forward.end_arrived;
}

static double first_out(const struct sl_fast_pipeline *p, int stage) {
  return stage == 0 ? at(p, 0)->forward.out : at(p, stage)->forward.out_arrived;
}

/* All backwards of a stage except the last, one after the other. */
static double backwards_before_last(const struct sl_fast_pipeline *p, int stage) {
  const double m = (double)p->micro_batches;
  return m < 2 ? 0 : at(p, stage)->first.end + (m - 2) * at(p, stage)->next.end;
}

/* begins[s]: when stage s could begin its last backward without waiting for the stage after it. ends[s]: when it ends
 * that backward, having waited. */
static void go_up(const struct sl_fast_pipeline *p, const double *begins, double *ends) {
  double arrived = -1;
  for (int s = p->stages - 1; s >= 0; s--) {
    const struct sl_fast_timed *b = last_backward(p, s);
    double out = begins[s] + b->out;
    ends[s] = begins[s] + b->end;
    if (arrived >= 0) {
      ends[s] = later(ends[s], arrived + b->end_arrived);
      out = later(out, arrived + b->out_arrived);
    }
    if (s > 0) arrived = out + p->transfer[s - 1];
  }
}

/* ---- gpipe ---- */

/* When the last stage has ended all forwards. */
static double forwards_end(const struct sl_fast_pipeline *p, const double *reached) {
  const double more = (double)(p->micro_batches - 1);
  double arrived = 0, end = 0; /* the last micro-batch, at stage s */
  for (int s = 0; s < p->stages; s++) {
    const struct sl_fast_timed *f = &at(p, s)->forward;
    const double begins = reached[s] + (more > 0 ? first_end(p, s) + (more - 1) * f->end : 0);
    double out = more > 0 ? begins + f->out : reached[s] + first_out(p, s);
    end = more > 0 ? begins + f->end : reached[s] + first_end(p, s);
    if (s > 0) {
      out = later(out, arrived + f->out_arrived);
      end = later(end, arrived + f->end_arrived);
    }
    if (s + 1 < p->stages) arrived = out + p->transfer[s];
  }
  return end;
}

static void sum_gpipe(const struct sl_fast_pipeline *p, double *ends) {
  double reached[SL_FAST_MAX_STAGES], begins[SL_FAST_MAX_STAGES];
  const bool one = p->micro_batches == 1;
  go_down(p, reached);
  double arrived = forwards_end(p, reached);
  for (int s = p->stages - 1; s >= 0; s--) {
    const struct sl_fast_timed *b = one ? last_backward(p, s) : &at(p, s)->first;
    const bool bottom = s == p->stages - 1;
    const double more = (double)(p->micro_batches - 2);
    begins[s] =
        one ? (bottom ? arrived : -1e30) : arrived + (bottom ? b->end : b->end_arrived) + more * at(p, s)->next.end;
    if (s > 0) arrived += (bottom ? b->out : b->out_arrived) + p->transfer[s - 1];
  }
  go_up(p, begins, ends);
}

/* ---- 1f1b ---- */

/* A forward and a backward of a stage in the steady state, by themselves and at the two ends of a cycle. */
static double slot_of(const struct sl_fast_pipeline *p, int s) {
  return at(p, s)->forward.end + at(p, s)->next.end;
}

static double turn_below(const struct sl_fast_pipeline *p, int s) {
  return at(p, s)->forward.end_arrived + at(p, s)->next.out;
}

static double turn_above(const struct sl_fast_pipeline *p, int s) {
  return at(p, s)->next.end_arrived + at(p, s)->forward.out;
}

static double pass(const struct sl_fast_pipeline *p, int s) {
  return at(p, s)->forward.out_arrived + at(p, s)->next.out_arrived;
}

/* gain[k]: by how many seconds a cycle from the last stage over the k stages before it exceeds the k + 1 slots of the
 * last stage that it replaces. */
struct cycles {
  double gain[SL_FAST_MAX_STAGES];
  int longest;
};

static void extend(const struct sl_fast_pipeline *p, struct cycles *c) {
  const int bottom = p->stages - 1;
  const double slot = slot_of(p, bottom);
  double passed = 0;
  for (int s = bottom - 1; s >= 0; s--) {
    passed += 2 * p->transfer[s];
    c->longest = bottom - s;
    c->gain[c->longest] = turn_below(p, bottom) + turn_above(p, s) + passed - (c->longest + 1) * slot;
    passed += pass(p, s);
  }
}

/* The most that cycles gain in `slots` slots: first the cycle with the best gain per slot, then what still fits. */
static double gain_of(const struct cycles *c, int64_t slots) {
  double sum = 0;
  while (slots >= 2) {
    int best = 0;
    double mean = 0;
    for (int k = 1; k <= c->longest && k + 1 <= slots; k++) {
      if (c->gain[k] <= mean * (k + 1) * (1 + 1e-12)) continue;
      mean = c->gain[k] / (k + 1);
      best = k;
    }
    if (best == 0) break;
    const int64_t times = slots / (best + 1);
    sum += (double)times * c->gain[best];
    slots -= times * (best + 1);
  }
  return sum;
}

/* When stage s begins its last backward, if the path takes all its forwards and backwards. */
static double stay(const struct sl_fast_pipeline *p, const double *reached, int s) {
  return reached[s] + first_end(p, s) + (double)(p->micro_batches - 1) * at(p, s)->forward.end +
         backwards_before_last(p, s);
}

/* Whether no stage is slower than the last. */
static bool slowest_last(const struct sl_fast_pipeline *p) {
  const double last = slot_of(p, p->stages - 1) * (1 + 1e-12);
  for (int s = 0; s + 1 < p->stages; s++)
    if (slot_of(p, s) > last) return false;
  return true;
}

static bool sum_1f1b(const struct sl_fast_pipeline *p, double *ends) {
  double reached[SL_FAST_MAX_STAGES], begins[SL_FAST_MAX_STAGES];
  struct cycles cycles;
  if (!slowest_last(p)) return false;
  cycles.longest = 0;
  go_down(p, reached);
  for (int s = 0; s < p->stages; s++) begins[s] = stay(p, reached, s);
  const int bottom = p->stages - 1;
  extend(p, &cycles);
  begins[bottom] += gain_of(&cycles, p->micro_batches - 1);
  go_up(p, begins, ends);
  return true;
}

bool sl_fast_sum_pipeline(const struct sl_fast_pipeline *p, double *ends) {
  if (p->stages == 1 || p->schedule == SL_FAST_1F1B) return sum_1f1b(p, ends);
  sum_gpipe(p, ends);
  return true;
}
