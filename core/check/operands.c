/* Checks every op against the rows of its operands, so that a backend finds in a slice what the op's kind promises. */
#include "core/op/operands.h"
#include "core/check/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>

/* The types of `op`'s operands, those of their buffers. */
static void types_of(const struct sl_class *c, const struct sl_program *p, const struct sl_op *op,
                     enum sl_dtype *types) {
  for (int i = 0; i < op->slice_count; i++) types[i] = c->buffers[p->slices[op->slice + i].buffer].dtype;
}

/* Fails with the recorded message, preceded by the op's place. */
static enum sl_status refuse(const struct sl_class *c, size_t op) {
  char what[256];
  snprintf(what, sizeof what, "%s", sl_error_message());
  sl_error_clear();
  return sl_fail(SL_ERR_CHECK, "pipeline rank %d, op %zu of its program: %s  <-- ERROR HERE", c->pp_rank, op, what);
}

static enum sl_status check_program(const struct sl_class *c, const struct sl_program *p, enum sl_dtype *types) {
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    types_of(c, p, op, types);
    if (sl_op_check(op, sl_op_slices(p, op), types) != SL_OK) return refuse(c, i);
  }
  return SL_OK;
}

enum sl_status sl_check_operands(const struct sl_job *job) {
  enum sl_status status = SL_OK;
  for (int i = 0; status == SL_OK && i < job->class_count; i++)
    for (int kind = 0; status == SL_OK && kind < SL_PROGRAM_COUNT; kind++) {
      const struct sl_program *p = &job->classes[i].programs[kind];
      enum sl_dtype *types;
      SL_TRY(sl_calloc(&types, p->slice_count, sizeof *types));
      status = check_program(&job->classes[i], p, types);
      free(types);
    }
  return status;
}
