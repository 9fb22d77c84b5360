/* The rules of context parallelism; see context.h. */
#include "core/models/context.h"

#include "core/base/checked.h"
#include "core/models/gradients.h"
#include "core/plan/kernels.h"

int64_t sl_context_key_heads(const struct sl_transformer *g) {
  return g->cp > 1 && sl_kernel_set(g->l->plan->config->sl.kernels)->exchanges_repeated ? g->h : g->g;
}

/* Columns of exchanged keys, or values. */
static int64_t width_of(const struct sl_transformer *g) {
  return sl_product(sl_context_key_heads(g), g->d);
}

/* Elements of the keys, or of the values, of this member's tokens and of all. */
static int64_t own_count(const struct sl_transformer *g) {
  return sl_product(g->r, width_of(g));
}
static int64_t all_count(const struct sl_transformer *g) {
  return sl_product(g->cp, own_count(g));
}

/* ---- packed rows, split ---- */

enum { PARTS = 3 };

static struct sl_op split_op(const struct sl_transformer *g, const struct sl_node *n) {
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_SPLIT_QKV, n->layer, -1, g->r, g->d);
  op.dim[2] = g->h, op.dim[3] = g->g;
  return op;
}

static enum sl_status split(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand operands[1 + PARTS] = {sl_tape_at(t, n->in[0])};
  for (int i = 0; i < PARTS; i++) SL_TRY(sl_tape_make(t, n, i, &operands[1 + i]));
  return sl_build_draft(t->g.drafts, split_op(&t->g, n), 1 + PARTS, operands);
}

static enum sl_status unsplit(struct sl_tape *t, const struct sl_node *n) {
  struct sl_op op = split_op(&t->g, n);
  struct sl_operand operands[PARTS + 1];
  op.flags = SL_OP_INVERSE;
  for (int i = 0; i < PARTS; i++) operands[i] = sl_gradient_of(t, n->out[i]);
  SL_TRY(sl_gradient_into(t, n->in[0], &operands[PARTS]));
  return sl_build_draft(t->g.drafts, op, PARTS + 1, operands);
}

static const struct sl_rule split_rule = {.forward = split, .backward = unsplit};

static struct sl_qkv apart(struct sl_tape *t, struct sl_qkv in) {
  static const char *const names[PARTS][2] = {{"attn.q", "dq"}, {"attn.k", "dk"}, {"attn.v", "dv"}};
  const struct sl_transformer *g = &t->g;
  struct sl_node node = {.rule = &split_rule, .in = {in.q}};
  for (int i = 0; i < PARTS; i++)
    node.out[i] = sl_tape_value(t, (struct sl_value){.name = names[i][0],
                                                     .gradient_name = names[i][1],
                                                     .dtype = g->l->dtype,
                                                     .count = i == 0 ? g->r * g->h * g->d : g->r * g->g * g->d,
                                                     .made = SL_MADE_ELEMENTWISE});
  sl_tape_node(t, node);
  return (struct sl_qkv){node.out[0], node.out[1], node.out[2]};
}

/* ---- repeated for every query head: passes, only predicted ---- */

enum { KEYS_AND_VALUES = 2 };

/* Both are read and written, in one kernel each, by copies or by sums of gradients. */
static enum sl_status repeat_pass(struct sl_transformer *g, int layer, struct sl_operand out) {
  struct sl_op pass = sl_op_plain(SL_OP_PASS, SL_U8, g->phase);
  pass.layer = layer;
  pass.flags = SL_OP_KEEPS;
  pass.dim[0] = (own_count(g) + g->r * g->g * g->d) * sl_dtype_bytes(g->l->dtype), pass.dim[1] = 1;
  return SL_BUILD_DRAFT(g->drafts, pass, out);
}

static enum sl_status repeat(struct sl_tape *t, const struct sl_node *n) {
  for (int i = 0; i < KEYS_AND_VALUES; i++) {
    struct sl_operand out;
    SL_TRY(sl_tape_make(t, n, i, &out));
    if (out.slice.bytes > 0) SL_TRY(repeat_pass(&t->g, n->layer, out));
  }
  return SL_OK;
}

static enum sl_status sum_repeated(struct sl_tape *t, const struct sl_node *n) {
  for (int i = 0; i < KEYS_AND_VALUES; i++) {
    struct sl_operand into;
    SL_TRY(sl_gradient_into(t, n->in[i], &into));
    SL_TRY(repeat_pass(&t->g, n->layer, into));
  }
  return SL_OK;
}

static const struct sl_rule repeat_rule = {.paired = true, .forward = repeat, .backward = sum_repeated};

static struct sl_qkv repeated(struct sl_tape *t, struct sl_qkv in) {
  static const char *const names[][2] = {{"attn.k.repeated", "dk.repeated"}, {"attn.v.repeated", "dv.repeated"}};
  struct sl_node node = {.rule = &repeat_rule, .in = {in.k, in.v}};
  for (int i = 0; i < KEYS_AND_VALUES; i++)
    node.out[i] = sl_tape_value(t, (struct sl_value){.name = names[i][0],
                                                     .gradient_name = names[i][1],
                                                     .dtype = t->g.l->dtype,
                                                     .count = own_count(&t->g),
                                                     .made = SL_MADE_ELEMENTWISE});
  sl_tape_node(t, node);
  return (struct sl_qkv){in.q, node.out[0], node.out[1]};
}

/* ---- keys and values of all members ---- */

/* One call for keys and values. */
static struct sl_op call(const struct sl_transformer *g, enum sl_op_kind kind, int layer) {
  struct sl_op op = sl_transformer_op(g, kind, layer, -1);
  op.lane = SL_LANE_CP;
  op.group = SL_GROUP_CP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  op.dim[0] = sl_product(KEYS_AND_VALUES, all_count(g));
  return op;
}

static struct sl_op order_op(const struct sl_transformer *g, int layer) {
  struct sl_op op = sl_transformer_op(g, SL_OP_ORDER_CHUNKS, layer, -1);
  op.dim[0] = g->b, op.dim[1] = g->t, op.dim[2] = width_of(g), op.dim[3] = g->cp;
  return op;
}

static enum sl_status all_members(struct sl_transformer *g, int layer, const char *name, int32_t *out) {
  return sl_transformer_temporary(g, out, all_count(g), layer, name);
}

static enum sl_status share(struct sl_tape *t, const struct sl_node *n) {
  static const char *const names[] = {"attn.k.members", "attn.v.members"};
  struct sl_transformer *g = &t->g;
  struct sl_operand out[KEYS_AND_VALUES], operands[2 * KEYS_AND_VALUES];
  int32_t whole[KEYS_AND_VALUES];
  for (int i = 0; i < KEYS_AND_VALUES; i++) {
    SL_TRY(all_members(g, n->layer, names[i], &whole[i]));
    operands[2 * i] = sl_tape_at(t, n->in[i]);
    operands[2 * i + 1] = sl_build_write(g->l, whole[i]);
  }
  SL_TRY(sl_build_draft(g->drafts, call(g, SL_OP_ALL_GATHER, n->layer), 2 * KEYS_AND_VALUES, operands));
  for (int i = 0; i < KEYS_AND_VALUES; i++) {
    SL_TRY(sl_tape_make(t, n, i, &out[i]));
    SL_TRY(SL_BUILD_DRAFT(g->drafts, order_op(g, n->layer), sl_build_read(g->l, whole[i]), out[i]));
  }
  return SL_OK;
}

static enum sl_status give_back(struct sl_tape *t, const struct sl_node *n) {
  static const char *const names[] = {"dk.members", "dv.members"}, *const own_names[] = {"dk.own", "dv.own"};
  struct sl_transformer *g = &t->g;
  struct sl_op order = order_op(g, n->layer);
  struct sl_operand operands[2 * KEYS_AND_VALUES];
  int32_t whole[KEYS_AND_VALUES], own[KEYS_AND_VALUES];
  order.flags = SL_OP_INVERSE;
  for (int i = 0; i < KEYS_AND_VALUES; i++) {
    SL_TRY(all_members(g, n->layer, names[i], &whole[i]));
    SL_TRY(SL_BUILD_DRAFT(g->drafts, order, sl_gradient_of(t, n->out[i]), sl_build_write(g->l, whole[i])));
    SL_TRY(sl_transformer_temporary(g, &own[i], own_count(g), n->layer, own_names[i]));
    operands[2 * i] = sl_build_update(g->l, whole[i]);
    operands[2 * i + 1] = sl_build_write(g->l, own[i]);
  }
  SL_TRY(sl_build_draft(g->drafts, call(g, SL_OP_REDUCE_SCATTER, n->layer), 2 * KEYS_AND_VALUES, operands));
  for (int i = 0; i < KEYS_AND_VALUES; i++) SL_TRY(sl_gradient_give(t, n->in[i], sl_build_read(g->l, own[i])));
  return SL_OK;
}

static const struct sl_rule share_rule = {.forward = share, .backward = give_back};

struct sl_qkv sl_context(struct sl_tape *t, struct sl_qkv in) {
  static const char *const names[][2] = {{"attn.k.all", "dk.all"}, {"attn.v.all", "dv.all"}};
  const struct sl_transformer *g = &t->g;
  if (g->cp == 1) return in;
  if (in.k == 0) in = apart(t, in);
  if (sl_context_key_heads(g) > g->g) in = repeated(t, in);
  struct sl_node node = {.rule = &share_rule, .in = {in.k, in.v}};
  for (int i = 0; i < KEYS_AND_VALUES; i++)
    node.out[i] = sl_tape_value(t, (struct sl_value){.name = names[i][0],
                                                     .gradient_name = names[i][1],
                                                     .dtype = g->l->dtype,
                                                     .count = all_count(g),
                                                     .made = SL_MADE_SHARED});
  sl_tape_node(t, node);
  return (struct sl_qkv){in.q, node.out[0], node.out[1]};
}
