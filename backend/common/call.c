/* From an op and its slices to names; see call.h. */
#include "backend/common/call.h"

#include "backend/common/input.h"
#include "backend/common/streams.h"
#include "core/base/checked.h"
#include "core/op/chunks.h"
#include "core/op/wire.h"
#include "core/op/workspace.h"

#include <math.h>

/* core's element types and the kernels' number types stand in the same order */
_Static_assert((int)SL_NUMBER_F32 == SL_F32 && (int)SL_NUMBER_BF16 == SL_BF16 && (int)SL_NUMBER_F16 == SL_F16,
               "one order");
_Static_assert((int)SL_ACT_GELU_TANH == SL_ACTIVATION_GELU_TANH && (int)SL_ACT_GELU == SL_ACTIVATION_GELU &&
                   (int)SL_ACT_SILU == SL_ACTIVATION_SILU && (int)SL_ACT_RELU == SL_ACTIVATION_RELU &&
                   (int)SL_ACT_RELU2 == SL_ACTIVATION_RELU2,
               "one order");
_Static_assert((int)SL_ROPE_YARN == SL_ROTARY_YARN && (int)SL_ROPE_LLAMA3 == SL_ROTARY_LLAMA3 &&
                   (int)SL_ROPE_LINEAR == SL_ROTARY_LINEAR && (int)SL_ROPE_PLAIN == SL_ROTARY_PLAIN,
               "one order");
_Static_assert(SL_AT_K == SL_AT_Q + 1 && SL_AT_V == SL_AT_Q + 2 && SL_AT_DK == SL_AT_DQ + 1 && SL_AT_DV == SL_AT_DQ + 2,
               "q, k and v stand together");

static enum sl_number number_of(enum sl_dtype type) {
  return type <= SL_F16 ? (enum sl_number)type : SL_NUMBER_F32;
}

void *sl_call_operand(const struct sl_call_rank *rank, const struct sl_issued *it, int i) {
  const int32_t buffer = it->program->slices[it->op->slice + i].buffer;
  const int place = rank->members[it->op->place_group].index;
  return rank->arena[it->rank_class->buffers[buffer].space] +
         sl_operand_offset(it->rank_class, it->program, it->instance, it->op, i, place);
}

static void set_operand(struct sl_call *c, enum sl_at name, int i) {
  const struct sl_slice *s = &c->it->program->slices[c->op->slice + i];
  c->x[name] = sl_call_operand(&c->rank, c->it, i);
  c->bytes[name] = (size_t)s->bytes;
  c->dtype[name] = c->it->rank_class->buffers[s->buffer].dtype;
  c->adds[name] = s->access == SL_READ_WRITE;
}

static const struct sl_form *form_of(const struct sl_call *c) {
  return &c->rank.plan->model->form;
}

static bool by_group(const struct sl_call *c) {
  return form_of(c)->qkv == SL_QKV_BY_GROUP;
}

size_t sl_call_groups(const struct sl_call *c, size_t key_heads) {
  return by_group(c) ? key_heads : 1;
}

/* Elements from the start of a packed row to the first of q, k or v (`part` 0, 1, 2). */
static size_t part_offset(const struct sl_call *c, int part, size_t h, size_t kv, size_t d) {
  const size_t groups = sl_call_groups(c, kv), q = h * d / groups, k = kv * d / groups;
  return part == 0 ? 0 : part == 1 ? q : q + k;
}

size_t sl_call_part_offset(const struct sl_call *c, enum sl_at part) {
  return part_offset(c, (int)part - SL_AT_Q, c->dim[2], c->dim[3], c->dim[1]) *
         (size_t)sl_dtype_bytes(c->dtype[SL_AT_X]);
}

/* q, k and v (or their gradients) by name, from where each starts in a packed row: the first of each. */
static void unpack(struct sl_call *c, enum sl_at packed, enum sl_at first) {
  if (c->x[packed] == NULL) return;
  for (int i = 0; i < 3; i++)
    c->x[(int)first + i] = (char *)c->x[packed] + part_offset(c, i, c->dim[2], c->dim[4], c->dim[3]) *
                                                      (size_t)sl_dtype_bytes(c->dtype[packed]);
}

void sl_call_decode(struct sl_call *c, const struct sl_call_rank *rank, const struct sl_issued *it) {
  enum sl_at names[SL_OP_OPERANDS];
  const int count = sl_op_names(it->op, names);
  *c = (struct sl_call){.it = it,
                        .op = it->op,
                        .rank = *rank,
                        .type = number_of(it->op->dtype),
                        .place = (size_t)rank->members[it->op->place_group].index};
  for (int i = 0; i < SL_OP_DIMS; i++) c->dim[i] = (size_t)it->op->dim[i];
  for (int i = 0; i < count && i < it->op->slice_count; i++) set_operand(c, names[i], i);
  unpack(c, SL_AT_QKV, SL_AT_Q);
  unpack(c, SL_AT_DQKV, SL_AT_DQ);
  if ((int64_t)c->bytes[SL_AT_SCRATCH] >= sl_op_workspace(it->op, 1)) return;
  c->x[SL_AT_SCRATCH] = rank->scratch;
  c->bytes[SL_AT_SCRATCH] = rank->scratch_bytes;
}

enum sl_status sl_call_supports(const struct sl_op *op, const struct sl_slice *slices, int threads,
                                size_t *scratch_bytes) {
  const int at = sl_op_at(op, SL_AT_SCRATCH);
  *scratch_bytes = 0;
  if (at < 0 || at >= op->slice_count) {
    *scratch_bytes = (size_t)sl_op_workspace(op, threads);
    return SL_OK;
  }
  const int64_t least = sl_op_workspace(op, 1); /* with more, attention has more threads */
  if (slices[at].bytes >= least) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL, "\"%s\" brings %lld bytes of scratch and needs %lld", sl_op_name(op->kind),
                 (long long)slices[at].bytes, (long long)least);
}

enum sl_number sl_call_type(const struct sl_call *c, enum sl_at name) {
  return number_of(c->dtype[name]);
}

/* ---- random numbers ---- */

static uint64_t first_sequence(const struct sl_call *c) {
  return (uint64_t)sl_input_first_sequence(c->rank.plan, c->rank.coord.dp, c->it);
}

static struct sl_dropout dropout_of(const struct sl_call *c, uint64_t first, uint64_t row_stride) {
  return (struct sl_dropout){.p = (float)c->op->dropout,
                             .key = sl_stream_key(c->rank.plan->config->sl.seed, SL_STREAM_DROPOUT,
                                                  (uint32_t)c->rank.step, (uint32_t)c->op->stream),
                             .first_element = first,
                             .row_stride = row_stride};
}

/* Rows are tokens: global row = (sequence's place in the global batch) x T + t. Under context parallelism the rows of a
 * micro-batch are numbered member by member, so that each has numbers of its own; they are not those of its tokens
 * without. */
struct sl_dropout sl_call_dropout(const struct sl_call *c, size_t skipped, size_t columns) {
  const uint64_t member = (uint64_t)sl_product(c->rank.coord.cp, c->rank.plan->micro_tokens);
  const uint64_t row = first_sequence(c) * (uint64_t)c->rank.plan->seq + member + skipped;
  return dropout_of(c, row * columns, columns);
}

/* ---- shapes ---- */

/* Where the op's tokens stand in their sequences. */
static struct sl_token_places positions(const struct sl_call *c) {
  const struct sl_chunks chunks = sl_chunks_of(c->op->dim[1], sl_op_cp(c->op), c->rank.coord.cp);
  if (sl_op_cp(c->op) == 1) return (struct sl_token_places){0};
  return (struct sl_token_places){(size_t)chunks.tokens, {(size_t)chunks.first[0], (size_t)chunks.first[1]}};
}

/* The index in the layer of the first of the `h` query heads that are here: tp cuts them, and again cp, where it
 * exchanges heads for tokens. */
static size_t first_head(const struct sl_call *c, size_t h) {
  const struct sl_plan *plan = c->rank.plan;
  const size_t cuts = (size_t)plan->model->n_head / h, tp = (size_t)c->rank.coord.tp;
  if (cuts <= 1) return 0;
  return (cuts > (size_t)plan->tp ? tp * (size_t)plan->cp + (size_t)c->rank.coord.cp : tp) * h;
}

struct sl_attention_shape sl_call_attention(const struct sl_call *c, struct sl_dropout *dropout) {
  const size_t t = c->dim[1], h = c->dim[2], d = c->dim[3], kv = c->dim[4], row = (h + 2 * kv) * d;
  const size_t heads = (size_t)c->rank.plan->model->n_head;
  const uint64_t first = first_sequence(c) * heads + first_head(c, h);
  const bool apart = c->op->flags & SL_OP_APART, grouped = !apart && by_group(c);
  const struct sl_form *form = form_of(c);
  const size_t keys = t * (size_t)sl_op_cp(c->op);
  *dropout = dropout_of(c, first * keys * keys, 0);
  return (struct sl_attention_shape){
      .B = c->dim[0],
      .T = t,
      .H = h,
      .KV = kv,
      .D = d,
      .q_stride = apart ? h * d : row,
      .k_stride = apart ? kv * d : row,
      .v_stride = apart ? kv * d : row,
      .out_stride = h * d,
      .global_heads = heads,
      .q_gap = grouped ? 2 * d : 0,
      .kv_step = grouped ? (h / kv + 2) * d : 0,
      .window = c->dim[5],
      .scale = form->attention_scalar > 0 ? (float)(1 / sqrt((double)form->attention_scalar)) : 0,
      .cap = (float)form->attention_cap,
      .alibi_max = (float)form->alibi_max,
      .first_head = first_head(c, h),
      .keys = keys,
      .at = positions(c)};
}

/* Of rows of heads alone, or of q and k in rows of q, k and v: in groups the heads of q and then k's one, and so on;
 * else k's heads follow q's. Either way a row has what is turned first, but for v. */
struct sl_rope_shape sl_call_rope_shape(const struct sl_call *c) {
  const size_t h = c->dim[2], d = c->dim[3], kv = c->dim[4];
  const bool grouped = kv > 0 && by_group(c);
  return (struct sl_rope_shape){.B = c->dim[0],
                                .T = c->dim[1],
                                .heads = h + kv,
                                .D = d,
                                .stride = (h + 2 * kv) * d,
                                .step = d,
                                .group = grouped ? h / kv + 1 : 0,
                                .gap = grouped ? d : 0,
                                .at = positions(c)};
}

struct sl_rope sl_call_rope(const struct sl_call *c) {
  const struct sl_rotary *r = sl_model_rotary(c->rank.plan->model, c->op->layer);
  return (struct sl_rope){.base = c->op->scale,
                          .dim = (size_t)r->dim,
                          .interleaved = r->interleaved,
                          .scaling = (enum sl_rope_scaling)r->scaling,
                          .factor = r->factor,
                          .low = r->low,
                          .high = r->high,
                          .original = r->original,
                          .attention = r->attention,
                          .whole = r->whole};
}

enum sl_act sl_call_act(const struct sl_call *c) {
  return c->op->scale > 0 ? SL_ACT_CAP : (enum sl_act)form_of(c)->activation;
}

enum sl_fp8 sl_call_fp8(const struct sl_call *c, enum sl_at name) {
  return c->dtype[name] == SL_E5M2 ? SL_FP8_E5M2 : SL_FP8_E4M3;
}

struct sl_fp8_rule sl_call_fp8_rule(const struct sl_call *call) {
  const unsigned flags = call->op->flags;
  return (struct sl_fp8_rule){.gradients = flags & SL_OP_ALL_E4M3 ? SL_FP8_E4M3 : SL_FP8_E5M2,
                              .most_recent = !!(flags & SL_OP_MOST_RECENT),
                              .reach = (float)call->op->scale};
}

int sl_call_from_one(const struct sl_call *c) {
  return form_of(c)->norms_from_one;
}

/* Every member has all tokens, and its rows of the table. */
struct sl_embedding_shape sl_call_embedding(const struct sl_call *c) {
  const size_t rows = c->dim[3];
  return (struct sl_embedding_shape){.B = c->dim[0],
                                     .T = c->dim[1],
                                     .C = c->dim[2],
                                     .first_row = c->place * rows,
                                     .n_rows = rows,
                                     .first_position = (size_t)form_of(c)->position_offset,
                                     .scale = (float)form_of(c)->embedding_scale,
                                     .at = positions(c)};
}

size_t sl_call_norm_range(const struct sl_call *c, size_t *first) {
  *first = 0;
  if (!(c->op->flags & SL_OP_SHARE_RANGE)) return c->dim[0];
  const int64_t n = c->op->dim[0], start = (int64_t)c->place * c->op->dim[3];
  const int64_t lo = c->op->dim[1] - start, hi = c->op->dim[2] - start;
  const int64_t from = lo < 0 ? 0 : lo, to = hi > n ? n : hi;
  if (to <= from) return 0;
  *first = (size_t)from;
  return (size_t)(to - from);
}

struct sl_taken sl_call_taken(const struct sl_call *c) {
  struct sl_share share = {.count = (int64_t)c->dim[0]};
  if (c->op->flags & SL_OP_SHARE_RANGE)
    share = sl_share_piece(c->op, sl_op_slices(c->it->program, c->op), 0, (int)c->place);
  return (struct sl_taken){(char *)c->x[SL_AT_OUT] + share.shard_first * sl_dtype_bytes(c->dtype[SL_AT_OUT]),
                           (const char *)c->x[SL_AT_X] + share.whole_first * sl_dtype_bytes(c->dtype[SL_AT_X]),
                           (size_t)share.count};
}

/* ---- updates ---- */

struct sl_adam sl_call_adam(const struct sl_call *c, int64_t steps) {
  const struct sl_config *config = c->rank.plan->config;
  struct sl_adam adam = {.eps = config->optimizer.eps,
                         .weight_decay = config->optimizer.weight_decay,
                         .decoupled = c->op->kind != SL_OP_ADAM,
                         .bias_correction = config->optimizer.bias_correction};
  sl_config_betas(config, steps, &adam.beta1, &adam.beta2);
  if (c->op->flags & SL_OP_FROZEN) adam.beta2 = 1;
  return adam;
}

struct sl_sgd sl_call_sgd(const struct sl_call *c) {
  const struct sl_config *config = c->rank.plan->config;
  return (struct sl_sgd){.momentum = c->x[SL_AT_MOMENT1] ? config->optimizer.momentum : 0,
                         .dampening = config->optimizer.dampening,
                         .weight_decay = config->optimizer.weight_decay,
                         .nesterov = config->optimizer.nesterov};
}
