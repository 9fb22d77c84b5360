/* The second step of building a job; see programs.h. */
#include "core/job/programs.h"

#include "core/lower/home.h"
#include "core/lower/init.h"
#include "core/lower/messages.h"
#include "core/lower/slots.h"
#include "core/lower/step.h"
#include "core/lower/zero.h"

#include <string.h>

/* Adds all ops of a program that consists of one action. */
static enum sl_status one_instance(const struct sl_lowering *l, struct sl_program *p, enum sl_action_kind kind) {
  return sl_build_instance(p, (struct sl_action){kind, l->rank_class->pp_rank, -1}, 0, (int32_t)p->op_count);
}

/* If all stages of a pipeline rank are empty, its states have no elements, and there is nothing to fill. */
static void drop_empty_fills(struct sl_program *p) {
  size_t kept = 0;
  for (size_t i = 0; i < p->op_count; i++)
    if (p->ops[i].kind != SL_OP_FILL || p->ops[i].dim[0] > 0) p->ops[kept++] = p->ops[i];
  p->op_count = kept;
}

/* The init program draws or loads every piece of a parameter, and gathers what stage 3 keeps whole. */
static enum sl_status lower_init_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_INIT];
  SL_TRY(sl_init_states(l, p));
  drop_empty_fills(p);
  SL_TRY(sl_build_join(p, SL_PHASE_INIT));
  return one_instance(l, p, SL_ACTION_INIT);
}

/* Weights are saved from their fp32 master if there is one. */
static enum sl_status lower_save_role(const struct sl_lowering *l, struct sl_program *p, enum sl_role role) {
  const struct sl_class *c = l->rank_class;
  for (int i = 0; i < l->pp_rank->tensor_count; i++) {
    const int32_t buffer = sl_home_of(l, role, i);
    struct sl_op op = sl_op_plain(SL_OP_SAVE_TENSOR, c->buffers[buffer].dtype, SL_PHASE_SAVE);
    op.dim[0] = l->pp_rank->tensors[i].numel;
    op.tensor = i;
    op.role = role;
    SL_TRY(SL_BUILD_EMIT(p, op, sl_build_read(l, buffer)));
  }
  return SL_OK;
}

static enum sl_status lower_save_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_SAVE];
  const bool master = l->rank_class->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  if (l->options->save_params) SL_TRY(lower_save_role(l, p, master ? SL_ROLE_MASTER : SL_ROLE_PARAM));
  if (l->options->save_grads) SL_TRY(lower_save_role(l, p, SL_ROLE_GRAD));
  SL_TRY(sl_build_join(p, SL_PHASE_SAVE));
  return one_instance(l, p, SL_ACTION_SAVE);
}

/* The lowering owns what it adds or changes; everything else in the drafts is borrowed. */
static enum sl_status start(struct sl_lowering *l, struct sl_class *c, const struct sl_lowering *drafted) {
  const struct sl_class *from = drafted->rank_class;
  *l = *drafted;
  *c = *from;
  l->rank_class = c;
  l->scopes = NULL;
  c->buffers = NULL;
  c->buffer_capacity = l->scope_capacity = 0;
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) c->programs[k].kind = (enum sl_program_kind)k;
  SL_TRY(sl_grow(&c->buffers, &c->buffer_capacity, c->buffer_count, sizeof *c->buffers));
  SL_TRY(sl_grow(&l->scopes, &l->scope_capacity, c->buffer_count, sizeof *l->scopes));
  memcpy(c->buffers, from->buffers, c->buffer_count * sizeof *c->buffers);
  memcpy(l->scopes, drafted->scopes, c->buffer_count * sizeof *l->scopes);
  SL_TRY(sl_zero_start(l));
  return sl_slots_open(l);
}

enum sl_status sl_job_lower(struct sl_class *c, enum sl_scope **scopes, const struct sl_lowering *drafted) {
  enum sl_status status;
  struct sl_lowering l;
  SL_GO(start(&l, c, drafted));
  SL_GO(lower_init_program(&l));
  SL_GO(sl_lower_step(&l, SL_PROGRAM_STEP));
  if (sl_program_compresses(l.plan->config)) SL_GO(sl_lower_step(&l, SL_PROGRAM_COMPRESSED));
  if (l.plan->config->sl.eval_interval > 0) SL_GO(sl_lower_step(&l, SL_PROGRAM_EVAL));
  SL_GO(lower_save_program(&l));
  SL_GO(sl_messages_keep(&l));
  SL_GO(sl_slots_number(&l));
done:
  *scopes = l.scopes;
  sl_slots_close(&l);
  sl_zero_stop(&l);
  return status;
}
