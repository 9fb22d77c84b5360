/* Spans of actions; see phases.h. */
#include "core/run/phases.h"

#include <math.h>
#include <stdlib.h>

static void begin_step(struct sl_phases *p, int64_t step, const struct sl_program *program) {
  p->status = sl_grow(&p->spans, &p->capacity, program->instance_count, sizeof *p->spans);
  if (p->status != SL_OK) return;
  p->count = program->instance_count;
  for (size_t i = 0; i < p->count; i++) p->spans[i] = (struct sl_phase_span){INFINITY, -INFINITY, INFINITY, -INFINITY};
  p->step = step;
  p->program = program;
}

void sl_phases_add(struct sl_phases *p, int64_t step, const struct sl_program *program,
                   const struct sl_completion *done) {
  if (!sl_program_is_step(program->kind) || p->status != SL_OK) return;
  if (p->program != program || p->step != step) begin_step(p, step, program);
  if (p->status != SL_OK) return;
  const struct sl_issue_ref issue = sl_issue_find(program, done->index);
  struct sl_phase_span *span = &p->spans[sl_issue_instance(program, issue)];
  span->start_s = fmin(span->start_s, done->start_s);
  span->end_s = fmax(span->end_s, done->end_s);
  if (program->ops[issue.stored->op].lane != SL_LANE_COMPUTE) return;
  span->compute_start_s = fmin(span->compute_start_s, done->start_s);
  span->compute_end_s = fmax(span->compute_end_s, done->end_s);
}

/* The phase in which an action counts; NULL: none, such as a message between stages, for which the next action
 * waits. */
static double *phase_of(struct sl_phase_times *t, enum sl_action_kind kind) {
  switch (kind) {
  case SL_ACTION_FORWARD:
  case SL_ACTION_UNSHARD:
    return &t->forward_s;
  case SL_ACTION_BACKWARD:
  case SL_ACTION_BACKWARD_INPUT:
  case SL_ACTION_BACKWARD_WEIGHT:
  case SL_ACTION_REDUCE_GRAD:
    return &t->backward_s;
  case SL_ACTION_STEP:
    return &t->step_s;
  default:
    return NULL;
  }
}

struct sl_phase_times sl_phases_times(const struct sl_phases *p) {
  struct sl_phase_times t = {0};
  for (size_t i = 0; i < p->count; i++) {
    const struct sl_phase_span *s = &p->spans[i];
    double *phase = phase_of(&t, p->program->instances[i].action.kind);
    if (phase == NULL || s->end_s < s->start_s) continue;
    *phase += s->end_s - s->start_s;
    if (phase == &t.backward_s && s->compute_end_s >= s->compute_start_s)
      t.backward_inner_s += s->compute_end_s - s->compute_start_s;
  }
  t.backward_reduce_s = t.backward_s - t.backward_inner_s;
  return t;
}

void sl_phases_free(struct sl_phases *p) {
  free(p->spans);
  *p = (struct sl_phases){0};
}
