/* The whole way from a plan to placed programs, and what all of lowering builds with: buffers, operands, drafts; see
 * lower/build.h. */
#include "core/lower/build.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/program/step_state.h"
#include "core/place/memory_report.h"
#include "core/program/workspace.h"

enum sl_status sl_lower_buffer(struct sl_lowering *l, int32_t *out, enum sl_scope scope, enum sl_category category,
                               enum sl_dtype dtype, int64_t count, const char *format, ...) {
  struct sl_class *c = l->rank_class;
  va_list args;
  SL_TRY(sl_grow(&c->buffers, &c->buffer_capacity, c->buffer_count + 1, sizeof *c->buffers));
  SL_TRY(sl_grow(&l->scopes, &l->scope_capacity, c->buffer_count + 1, sizeof *l->scopes));
  struct sl_buffer *b = &c->buffers[c->buffer_count];
  *b = (struct sl_buffer){.category = category,
                          .space = SL_SPACE_DEVICE,
                          .dtype = dtype,
                          .persistent = scope == SL_SCOPE_PERSISTENT,
                          .bytes = count * sl_dtype_bytes(dtype),
                          .slots = 1};
  va_start(args, format);
  vsnprintf(b->name, sizeof b->name, format, args);
  va_end(args);
  l->scopes[c->buffer_count] = scope;
  *out = (int32_t)c->buffer_count++;
  return SL_OK;
}

void sl_lower_move(struct sl_lowering *l, int32_t buffer, enum sl_space space) {
  l->rank_class->buffers[buffer].space = space;
}

static struct sl_operand whole(const struct sl_lowering *l, int32_t buffer, enum sl_access access) {
  const struct sl_buffer *b = &l->rank_class->buffers[buffer];
  return (struct sl_operand){.buffer = buffer,
                             .slice = {.buffer = buffer, .access = access, .slot = b->slot, .bytes = b->bytes}};
}

struct sl_operand sl_read(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_READ);
}

struct sl_operand sl_write(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_WRITE);
}

struct sl_operand sl_update(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_READ_WRITE);
}

struct sl_operand sl_part(const struct sl_lowering *l, int32_t buffer, enum sl_access access, int64_t first,
                          int64_t count) {
  struct sl_operand o = whole(l, buffer, access);
  const int64_t element = sl_dtype_bytes(l->rank_class->buffers[buffer].dtype);
  o.slice.offset = first * element;
  o.slice.bytes = count * element;
  return o;
}

struct sl_operand sl_stream(const struct sl_lowering *l, enum sl_slot slot, enum sl_access access, int64_t count) {
  struct sl_operand o = sl_part(l, slot == SL_SLOT_DX ? l->dx : l->stream, access, 0, count);
  o.slice.slot = slot;
  return o;
}

int64_t sl_stream_count(const struct sl_plan *plan, int layer) {
  const struct sl_model *m = plan->model;
  if (m->type == SL_MODEL_MLP) return plan->micro_batch * m->dims[layer];
  return plan->micro_batch * plan->seq / (plan->sequence_parallel ? plan->tp : 1) * m->n_embd;
}

struct sl_operand sl_param(const struct sl_lowering *l, int tensor) {
  const int placed = l->stage->placed_of[tensor];
  const int64_t bytes = l->stage->tensors[placed].numel * sl_dtype_bytes(l->dtype);
  return (struct sl_operand){
      .buffer = -1, .placed = placed, .slice = {.buffer = -1, .access = SL_READ, .bytes = bytes}};
}

struct sl_operand sl_grad(const struct sl_lowering *l, int tensor) {
  struct sl_operand o = sl_param(l, tensor);
  o.gradient = true;
  o.slice.access = SL_WRITE; /* lower/zero.c turns it into an update where something is there to add to */
  return o;
}

enum sl_status sl_draft_add(struct sl_drafts *drafts, struct sl_op op, int operand_count,
                            const struct sl_operand *operands) {
  SL_TRY(sl_grow(&drafts->items, &drafts->capacity, drafts->count + 1, sizeof *drafts->items));
  struct sl_draft *d = &drafts->items[drafts->count++];
  d->op = op;
  d->operand_count = operand_count;
  d->half = SL_HALF_INPUT;
  for (int i = 0; i < operand_count; i++) {
    if (operands[i].buffer < 0 && operands[i].gradient) d->half = SL_HALF_WEIGHT;
  }
  memcpy(d->operand, operands, (size_t)operand_count * sizeof *operands);
  return SL_OK;
}

enum sl_status sl_lower_gemm(struct sl_lowering *l, struct sl_drafts *drafts, struct sl_op op, const int64_t dim[3],
                             struct sl_operand a, struct sl_operand b, struct sl_operand c,
                             const struct sl_operand *bias) {
  struct sl_operand operands[5] = {a, b, c};
  int n = 3;
  op.kind = SL_OP_GEMM;
  op.dtype = sl_config_product_dtype(l->plan->config);
  memcpy(op.dim, dim, 3 * sizeof *dim);
  if (bias != NULL) {
    op.flags |= SL_OP_BIAS;
    operands[n++] = *bias;
  }
  if (l->dtype != SL_F32 && l->plan->cluster->device.kind == SL_DEVICE_CPU) {
    int32_t workspace;
    SL_TRY(sl_lower_buffer(l, &workspace, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8,
                           sl_scratch_gemm(dim[0], dim[1], dim[2]), "h.%d.gemm.workspace", op.layer));
    op.flags |= SL_OP_WORKSPACE;
    operands[n++] = sl_write(l, workspace);
  }
  return sl_draft_add(drafts, op, n, operands);
}

enum sl_status sl_lower_emit(struct sl_program *p, struct sl_op op, int operand_count,
                             const struct sl_operand *operands) {
  SL_TRY(sl_grow(&p->ops, &p->op_capacity, p->op_count + 1, sizeof *p->ops));
  SL_TRY(sl_grow(&p->slices, &p->slice_capacity, p->slice_count + (size_t)operand_count, sizeof *p->slices));
  op.slice = (int32_t)p->slice_count;
  op.slice_count = operand_count;
  p->ops[p->op_count++] = op;
  for (int i = 0; i < operand_count; i++) p->slices[p->slice_count++] = operands[i].slice;
  return SL_OK;
}

enum sl_status sl_lower_instance(struct sl_program *p, struct sl_action action, int32_t first, int32_t op_count) {
  SL_TRY(sl_grow(&p->instances, &p->instance_capacity, p->instance_count + 1, sizeof *p->instances));
  p->instances[p->instance_count++] = (struct sl_instance){
      .action = action, .first_op = first, .op_count = op_count, .micro_batch = action.micro_batch};
  return SL_OK;
}

/* All ops of a program that is one action. */
static enum sl_status one_instance(const struct sl_lowering *l, struct sl_program *p, enum sl_action_kind kind) {
  return sl_lower_instance(p, (struct sl_action){kind, l->rank_class->stage, -1}, 0, (int32_t)p->op_count);
}

enum sl_status sl_lower_join(struct sl_program *p, enum sl_phase phase) {
  const struct sl_op join = {.kind = SL_OP_JOIN,
                             .lane = SL_LANE_COMPUTE,
                             .group = SL_GROUP_NONE,
                             .place_group = SL_GROUP_NONE,
                             .phase = phase,
                             .tensor = -1};
  return sl_lower_emit(p, join, 0, NULL);
}

/* The init program draws or loads every parameter piece and completes what stage 3 keeps whole. */
static enum sl_status lower_init_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_INIT];
  SL_TRY(sl_zero_init(l, p));
  SL_TRY(sl_lower_join(p, SL_PHASE_INIT));
  return one_instance(l, p, SL_ACTION_INIT);
}

/* Weights are saved from their fp32 master where there is one. */
static enum sl_status lower_save_role(const struct sl_lowering *l, struct sl_program *p, enum sl_role role) {
  const struct sl_class *c = l->rank_class;
  for (int i = 0; i < l->stage->tensor_count; i++) {
    const struct sl_op op = {.kind = SL_OP_SAVE_TENSOR,
                             .lane = SL_LANE_COMPUTE,
                             .group = SL_GROUP_NONE,
                             .place_group = SL_GROUP_NONE,
                             .dtype = c->buffers[c->role[role].buffer].dtype,
                             .phase = SL_PHASE_SAVE,
                             .dim = {l->stage->tensors[i].numel},
                             .tensor = i,
                             .role = role};
    SL_TRY(SL_EMIT(p, op, sl_read(l, c->role[role].buffer)));
  }
  return SL_OK;
}

static enum sl_status lower_save_program(struct sl_lowering *l) {
  struct sl_program *p = &l->rank_class->programs[SL_PROGRAM_SAVE];
  const bool master = l->rank_class->role[SL_ROLE_MASTER].form != SL_FORM_ABSENT;
  if (l->options->save_params) SL_TRY(lower_save_role(l, p, master ? SL_ROLE_MASTER : SL_ROLE_PARAM));
  if (l->options->save_grads) SL_TRY(lower_save_role(l, p, SL_ROLE_GRAD));
  SL_TRY(sl_lower_join(p, SL_PHASE_SAVE));
  return one_instance(l, p, SL_ACTION_SAVE);
}

/* One micro-batch on the chunk at hand, as drafts. */
static enum sl_status lower_model(struct sl_lowering *l) {
  switch (l->plan->model->type) {
  case SL_MODEL_GPT2:
    return sl_lower_gpt2(l);
  case SL_MODEL_LLAMA:
    return sl_lower_llama(l);
  default:
    return sl_lower_mlp(l);
  }
}

/* What passes between stages, as wide as the widest boundary of this rank. Without a pipeline nothing passes, but a backward
 * still works on one gradient of the stream. */
static enum sl_status open_streams(struct sl_lowering *l) {
  const struct sl_plan *plan = l->plan;
  int64_t widest = 0;
  for (int i = 0; i < l->stage->chunk_count; i++) {
    const struct sl_chunk *c = l->chunks[i].chunk;
    const int64_t in = c->embedding ? 0 : sl_stream_count(plan, c->first_layer);
    const int64_t out = c->head ? 0 : sl_stream_count(plan, c->first_layer + c->layer_count);
    if (in > widest) widest = in;
    if (out > widest) widest = out;
  }
  l->stream = l->dx = -1;
  if (plan->chunk_count > 1) {
    SL_TRY(sl_lower_buffer(l, &l->stream, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, widest, "stream"));
    sl_lower_slots(l, l->stream, SL_SLOT_IN);
  } else if (plan->model->type != SL_MODEL_MLP) {
    widest = sl_stream_count(plan, 0);
  }
  if (widest == 0) return SL_OK;
  SL_TRY(sl_lower_buffer(l, &l->dx, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, widest, "dx"));
  sl_lower_slots(l, l->dx, SL_SLOT_DX);
  return SL_OK;
}

static enum sl_status open_chunks(struct sl_lowering *l) {
  SL_TRY(sl_calloc(&l->chunks, (size_t)l->stage->chunk_count, sizeof *l->chunks));
  for (int i = 0; i < l->stage->chunk_count; i++) {
    l->chunks[i].index = l->stage->chunks[i];
    l->chunks[i].chunk = &l->plan->chunks[l->stage->chunks[i]];
  }
  const struct sl_schedule *s = &l->plan->schedule;
  const int rank = l->rank_class->stage;
  for (size_t i = 0; i < s->counts[rank]; i++) {
    const struct sl_action *a = &s->actions[rank][i];
    if (a->kind == SL_ACTION_BACKWARD_INPUT) l->chunks[l->plan->chunks[a->stage].local].split = true;
  }
  return SL_OK;
}

static void close_chunks(struct sl_lowering *l) {
  for (int i = 0; l->chunks != NULL && i < l->stage->chunk_count; i++) {
    free(l->chunks[i].forward.items);
    free(l->chunks[i].backward.items);
  }
  free(l->chunks);
}

static enum sl_status lower_class(struct sl_lowering *l) {
  enum sl_status status;
  struct sl_class *c = l->rank_class;
  struct sl_lives lives = {0};
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) c->programs[k].kind = (enum sl_program_kind)k;
  SL_GO(open_chunks(l));
  SL_GO(sl_lower_buffer(l, &c->control, SL_SCOPE_PERSISTENT, SL_CATEGORY_WORKSPACE, SL_F64,
                        (int64_t)(sizeof(struct sl_control) / sizeof(double)), "control"));
  SL_GO(sl_zero_open(l));
  SL_GO(open_streams(l));
  for (int i = 0; i < l->stage->chunk_count; i++) {
    l->chunk = &l->chunks[i];
    l->chunk->first_buffer = (int32_t)c->buffer_count;
    SL_GO(lower_model(l));
    sl_lower_epilogues(l);
    SL_GO(sl_zero_open_chunk(l));
    l->chunk->end_buffer = (int32_t)c->buffer_count;
  }
  SL_GO(sl_slots_open(l));
  SL_GO(lower_init_program(l));
  SL_GO(sl_lower_step(l));
  SL_GO(lower_save_program(l));
  sl_slots_number(l);
  for (int k = 0; k < SL_PROGRAM_COUNT; k++) SL_GO(sl_link(l, &c->programs[k], &lives));
  SL_GO(sl_arena_place(l, &lives));
fail:
  free(lives.items);
  free(l->scopes);
  sl_slots_close(l);
  sl_zero_close(l);
  close_chunks(l);
  return status;
}

enum sl_status sl_job_build(struct sl_job *job, const struct sl_plan *plan, const struct sl_build_options *options) {
  enum sl_status status;
  *job = (struct sl_job){.plan = plan};
  job->classes_per_stage = plan->strategy.units == SL_UNITS_OWNER ? plan->dp : 1;
  job->class_count = plan->pp * job->classes_per_stage;
  SL_GO(sl_calloc(&job->classes, (size_t)job->class_count, sizeof *job->classes));
  for (int i = 0; i < job->class_count; i++) {
    const int ranks = plan->world / job->class_count;
    struct sl_class *c = &job->classes[i];
    *c = (struct sl_class){.stage = i / job->classes_per_stage, .rank_count = ranks, .first_rank = i * ranks};
    struct sl_lowering lowering = {.plan = plan,
                                   .stage = &plan->stages[c->stage],
                                   .rank_class = c,
                                   .options = options,
                                   .dtype = plan->config->param_dtype,
                                   .accumulate = plan->config->grad_accum_dtype,
                                   .wire = plan->config->communication_data_type,
                                   .member = job->classes_per_stage > 1 ? i % job->classes_per_stage : -1};
    SL_GO(lower_class(&lowering));
  }
  return SL_OK;
fail:
  sl_job_free(job);
  return status;
}

void sl_job_free(struct sl_job *job) {
  for (int i = 0; job->classes != NULL && i < job->class_count; i++) {
    struct sl_class *c = &job->classes[i];
    for (int k = 0; k < SL_PROGRAM_COUNT; k++) {
      free(c->programs[k].ops);
      free(c->programs[k].slices);
      free(c->programs[k].instances);
      free(c->programs[k].issues);
      free(c->programs[k].waits);
      free(c->programs[k].slots);
    }
    for (int space = 0; c->memory != NULL && space < SL_SPACE_COUNT; space++) free(c->memory[space].curve);
    free(c->memory);
    free(c->buffers);
    free(c->slot_offsets);
  }
  free(job->classes);
  *job = (struct sl_job){0};
}
