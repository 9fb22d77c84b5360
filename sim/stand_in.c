/* Warns once, for a calibrated profile, which ops of the step are predicted without a measurement of their own. */
#include "sim/state.h"

#include "core/base/status.h"
#include "cost/measured.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 400 };

/* What stands in for ops of this kind and type; NULL if they were measured or need no measurement. */
static const char *stand_in(const struct sl_cost_rank *rank, const struct sl_work *work) {
  if (work->members > 0 || sl_op_class_of(work->kind) == SL_CLASS_CONTROL) return NULL;
  const struct sl_op_cost *entry = sl_cost_entry(rank, work);
  if (entry == NULL) return "the formulas of its device";
  if (entry->dtype != work->dtype) return sl_dtype_name(entry->dtype);
  return sl_cost_stands_in(entry, work) ? "the product without it" : NULL;
}

void sl_sim_say_stand_ins(const struct sl_sim *sim) {
  bool said[2 * SL_OP_COUNT][SL_DTYPE_COUNT] = {{false}}; /* ops; after them products, by their epilogue's op */
  char text[TEXT_BYTES] = "";
  if (sim->cost_rank.costs->count == 0) return;
  for (int c = 0; c < sim->job->class_count; c++) {
    const struct sl_sim_program *p = &sim->programs[c][SL_PROGRAM_STEP];
    for (size_t i = 0; i < p->program->op_count; i++) {
      const struct sl_op *op = &p->program->ops[i];
      const char *other = stand_in(&sim->cost_rank, &p->works[i]);
      const size_t length = strlen(text);
      const struct sl_op epilogue = sl_op_epilogue(op);
      const int which = epilogue.kind != SL_OP_COUNT ? SL_OP_COUNT + (int)epilogue.kind : (int)op->kind;
      if (other == NULL || said[which][op->dtype]) continue;
      said[which][op->dtype] = true;
      snprintf(text + length, sizeof text - length, "%s%s in %s by %s", length > 0 ? ", " : "", sl_op_label(op),
               sl_dtype_name(op->dtype), other);
    }
  }
  if (text[0] != '\0') sl_warn("the profile has no measured cost for some ops, so others stand in: %s", text);
}
