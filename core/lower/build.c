/* Buffers, operands, drafts; see build.h. */
#include "core/lower/build.h"

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/op/workspace.h"
#include "core/plan/kernels.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum sl_status sl_build_buffer(struct sl_lowering *l, int32_t *out, enum sl_scope scope, enum sl_category category,
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
                          .slots = 1};
  va_start(args, format);
  vsnprintf(b->name, sizeof b->name, format, args);
  va_end(args);
  if (count > SL_MAX_ELEMENTS)
    return sl_fail(SL_ERR_INPUT, "%s of pipeline rank %d: has %s elements; expected at most %lld in a buffer", b->name,
                   c->pp_rank, sl_count_text(count).text, (long long)SL_MAX_ELEMENTS);
  b->bytes = count * sl_dtype_bytes(dtype);
  l->scopes[c->buffer_count] = scope;
  *out = (int32_t)c->buffer_count++;
  return SL_OK;
}

void sl_build_slots(struct sl_lowering *l, int32_t buffer, enum sl_slot slot) {
  l->rank_class->buffers[buffer].slot = slot;
}

void sl_build_move(struct sl_lowering *l, int32_t buffer, enum sl_space space) {
  l->rank_class->buffers[buffer].space = space;
}

static struct sl_operand whole(const struct sl_lowering *l, int32_t buffer, enum sl_access access) {
  const struct sl_buffer *b = &l->rank_class->buffers[buffer];
  return (struct sl_operand){.buffer = buffer,
                             .slice = {.buffer = buffer, .access = access, .slot = b->slot, .bytes = b->bytes}};
}

struct sl_operand sl_build_read(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_READ);
}

struct sl_operand sl_build_write(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_WRITE);
}

struct sl_operand sl_build_update(const struct sl_lowering *l, int32_t buffer) {
  return whole(l, buffer, SL_READ_WRITE);
}

struct sl_operand sl_build_part(const struct sl_lowering *l, int32_t buffer, enum sl_access access, int64_t first,
                                int64_t count) {
  struct sl_operand o = whole(l, buffer, access);
  const int64_t element = sl_dtype_bytes(l->rank_class->buffers[buffer].dtype);
  o.slice.offset = first * element;
  o.slice.bytes = count * element;
  return o;
}

struct sl_operand sl_build_stream(const struct sl_lowering *l, enum sl_slot slot, enum sl_access access,
                                  int64_t count) {
  struct sl_operand o = sl_build_part(l, slot == SL_SLOT_DX ? l->dx : l->stream, access, 0, count);
  o.slice.slot = slot;
  return o;
}

int64_t sl_build_stream_count(const struct sl_plan *plan, int layer) {
  const struct sl_model *m = plan->model;
  if (!sl_model_reads_tokens(m)) return plan->micro_batch * m->dims[layer];
  return plan->micro_tokens * m->n_embd / (plan->sequence_parallel || plan->scatter_gather ? plan->tp : 1);
}

struct sl_operand sl_build_param(const struct sl_lowering *l, int tensor) {
  const int placed = l->pp_rank->placed_of[tensor];
  const int64_t bytes = l->pp_rank->tensors[placed].numel * sl_dtype_bytes(l->dtype);
  return (struct sl_operand){
      .buffer = -1, .placed = placed, .slice = {.buffer = -1, .access = SL_READ, .bytes = bytes}};
}

struct sl_operand sl_build_grad(const struct sl_lowering *l, int tensor) {
  struct sl_operand o = sl_build_param(l, tensor);
  o.gradient = true;
  o.slice.access = SL_WRITE; /* lower/zero.c makes it an update if there is something to add to */
  return o;
}

enum sl_status sl_build_draft(struct sl_drafts *drafts, struct sl_op op, int operand_count,
                              const struct sl_operand *operands) {
  SL_TRY(sl_grow(&drafts->items, &drafts->capacity, drafts->count + 1, sizeof *drafts->items));
  struct sl_draft *d = &drafts->items[drafts->count++];
  d->op = op;
  d->operand_count = operand_count;
  d->half = SL_HALF_INPUT;
  for (int i = 0; i < operand_count; i++) {
    if (operands[i].buffer < 0 && operands[i].gradient) d->half = SL_HALF_WEIGHT;
  }
  if (operand_count > 0) memcpy(d->operand, operands, (size_t)operand_count * sizeof *operands);
  return SL_OK;
}

enum sl_status sl_build_gemm(struct sl_lowering *l, struct sl_drafts *drafts, struct sl_op op, const int64_t dim[3],
                             struct sl_operand a, struct sl_operand b, struct sl_operand c,
                             const struct sl_operand *bias) {
  struct sl_operand operands[5] = {a, b, c};
  int n = 3;
  op.kind = SL_OP_GEMM;
  op.dtype = sl_config_product_dtype(l->plan->config);
  /* torchtitan does not convert the LM head (torchtitan/float8.py, module_filter_fn); llm-foundry's is F.linear */
  if (op.dtype == SL_F8 && op.layer == l->plan->model->n_layer &&
      sl_kernel_set(l->plan->config->sl.kernels)->fp8_casts != SL_CASTS_NONE)
    op.dtype = l->dtype;
  memcpy(op.dim, dim, 3 * sizeof *dim);
  if (bias != NULL) {
    op.flags |= SL_OP_BIAS;
    operands[n++] = *bias;
  }
  if (sl_dtype_stored(op.dtype) != SL_F32 && l->plan->cluster->device.kind == SL_DEVICE_CPU) {
    int32_t workspace;
    op.flags |= SL_OP_WORKSPACE;
    SL_TRY(sl_build_buffer(l, &workspace, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, sl_op_workspace(&op, 1),
                           "h.%d.gemm.workspace", op.layer));
    operands[n++] = sl_build_write(l, workspace);
  }
  return sl_build_draft(drafts, op, n, operands);
}

/* ---- factors in fp8 ---- */

static bool casts_by(const struct sl_lowering *l, enum sl_fp8_casts whose) {
  const struct sl_config *config = l->plan->config;
  return sl_config_product_dtype(config) == SL_F8 && sl_kernel_set(config->sl.kernels)->fp8_casts == whose;
}

bool sl_build_casts(const struct sl_lowering *l) {
  return casts_by(l, SL_CASTS_SHARDLAB);
}

bool sl_build_casts_once(const struct sl_lowering *l) {
  return casts_by(l, SL_CASTS_TRANSFORMER_ENGINE_CACHED);
}

int64_t sl_build_factors(const struct sl_lowering *l) {
  return (int64_t)SL_FP8_FACTORS * l->pp_rank->linear_count;
}

static int64_t number_of(const struct sl_lowering *l, int placed, enum sl_fp8_factor factor) {
  return (int64_t)SL_FP8_FACTORS * l->pp_rank->tensors[placed].linear + (int)factor;
}

struct sl_operand sl_build_scale(const struct sl_lowering *l, int placed, enum sl_fp8_factor factor) {
  return sl_build_part(l, l->rank_class->role[SL_ROLE_FP8_SCALE].buffer, SL_READ, 2 * number_of(l, placed, factor), 2);
}

struct sl_operand sl_build_amax(const struct sl_lowering *l, int placed, enum sl_fp8_factor factor) {
  return sl_build_part(l, l->fp8_amax, SL_READ_WRITE, number_of(l, placed, factor), 1);
}

static enum sl_lane lane_between(enum sl_space from, enum sl_space to) {
  if (to == SL_SPACE_NVME) return SL_LANE_NVME_WRITE;
  if (from == SL_SPACE_NVME) return SL_LANE_NVME_READ;
  return to == SL_SPACE_DEVICE ? SL_LANE_H2D : SL_LANE_D2H;
}

static enum sl_payload payload_of(const struct sl_buffer *from, const struct sl_buffer *to) {
  if (from->category == SL_CATEGORY_ACTIVATION) return SL_PAYLOAD_ACTIVATION;
  if (from->category == SL_CATEGORY_OPTIMIZER) return SL_PAYLOAD_OPTIMIZER;
  const bool parameter = from->category == SL_CATEGORY_PARAMETER || to->category == SL_CATEGORY_PARAMETER;
  return parameter ? SL_PAYLOAD_PARAMETER : SL_PAYLOAD_GRADIENT;
}

/* Is the host memory of a copy pageable? Data on the way to or from NVMe, and activations, are in pinned memory. */
static bool pageable(const struct sl_lowering *l, const struct sl_buffer *host) {
  const struct sl_config *c = l->plan->config;
  if (host->category == SL_CATEGORY_ACTIVATION) return false;
  if (host->category == SL_CATEGORY_PARAMETER && l->plan->strategy.offload_params)
    return c->zero.offload_param == SL_OFFLOAD_CPU && !c->zero.param_pinned;
  return c->zero.offload_optimizer == SL_OFFLOAD_CPU && !c->zero.optimizer_pinned;
}

struct sl_op sl_build_copy(const struct sl_lowering *l, int32_t source, int32_t target, int64_t count,
                           enum sl_phase phase) {
  const struct sl_buffer *from = &l->rank_class->buffers[source], *to = &l->rank_class->buffers[target];
  struct sl_op op = sl_op_plain(SL_OP_COPY, to->dtype, phase);
  op.dim[0] = count;
  op.layer = -1;
  if (from->space == to->space) return op;
  op.lane = lane_between(from->space, to->space);
  op.flags = SL_OP_AFTER_COMPUTE;
  op.payload = payload_of(from, to);
  if (!sl_lane_is_nvme(op.lane) && pageable(l, from->space == SL_SPACE_HOST ? from : to)) op.flags |= SL_OP_PAGEABLE;
  return op;
}

enum sl_status sl_build_emit(struct sl_program *p, struct sl_op op, int operand_count,
                             const struct sl_operand *operands) {
  SL_TRY(sl_grow(&p->ops, &p->op_capacity, p->op_count + 1, sizeof *p->ops));
  SL_TRY(sl_grow(&p->slices, &p->slice_capacity, p->slice_count + (size_t)operand_count, sizeof *p->slices));
  op.slice = (int32_t)p->slice_count;
  op.slice_count = operand_count;
  p->ops[p->op_count++] = op;
  for (int i = 0; i < operand_count; i++) p->slices[p->slice_count++] = operands[i].slice;
  return SL_OK;
}

enum sl_status sl_build_instance(struct sl_program *p, struct sl_action action, int32_t first, int32_t op_count) {
  SL_TRY(sl_room(&p->instances, &p->instance_capacity, p->instance_count + 1, sizeof *p->instances));
  p->instances[p->instance_count++] = (struct sl_instance){
      .action = action, .first_op = first, .op_count = op_count, .micro_batch = action.micro_batch};
  return SL_OK;
}

enum sl_status sl_build_join(struct sl_program *p, enum sl_phase phase) {
  return sl_build_emit(p, sl_op_plain(SL_OP_JOIN, SL_F32, phase), 0, NULL);
}
