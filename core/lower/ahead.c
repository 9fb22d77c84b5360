/* Gathers updated parameters in the next step's forward; see ahead.h. */
#include "core/lower/ahead.h"

#include "core/lower/lower.h"

#include <stdlib.h>
#include <string.h>

struct sl_ahead {
  bool sent, used;
};

enum sl_status sl_ahead_start(struct sl_lowering *l) {
  return sl_calloc(&l->zero->ahead, (size_t)l->pp_rank->unit_count, sizeof *l->zero->ahead);
}

void sl_ahead_begin(struct sl_lowering *l) {
  if (l->zero->ahead != NULL) memset(l->zero->ahead, 0, (size_t)l->pp_rank->unit_count * sizeof *l->zero->ahead);
}

void sl_ahead_stop(struct sl_lowering *l) {
  free(l->zero->ahead);
}

static enum sl_status send(struct sl_lowering *l, struct sl_program *p, int unit) {
  struct sl_ahead *at = &l->zero->ahead[unit];
  if (at->sent) return SL_OK;
  at->sent = true;
  return sl_zero_gather_unit(l, p, &l->pp_rank->units[unit], SL_PHASE_FORWARD);
}

/* The first of the rank's stages that uses a unit. */
static int stage_of(const struct sl_lowering *l, int unit) {
  return l->pp_rank->tensors[l->pp_rank->units[unit].first_tensor].stage;
}

static enum sl_status use(struct sl_lowering *l, struct sl_program *p, int unit) {
  const int next = unit + 1;
  if (l->zero->ahead[unit].used) return SL_OK;
  l->zero->ahead[unit].used = true;
  SL_TRY(send(l, p, unit));
  return next < l->pp_rank->unit_count && stage_of(l, next) == stage_of(l, unit) ? send(l, p, next) : SL_OK;
}

enum sl_status sl_ahead_before(struct sl_lowering *l, struct sl_program *p, const struct sl_draft *draft) {
  for (int i = 0; i < draft->operand_count; i++) {
    const struct sl_operand *o = &draft->operand[i];
    if (o->buffer < 0 && !o->gradient) SL_TRY(use(l, p, l->pp_rank->tensors[o->placed].unit));
  }
  return SL_OK;
}

enum sl_status sl_ahead_check(const struct sl_lowering *l) {
  for (int i = 0; i < l->pp_rank->unit_count; i++)
    if (!l->zero->ahead[i].sent) return sl_fail(SL_ERR_INTERNAL, "no forward gathers unit %d of the parameters", i);
  return SL_OK;
}
