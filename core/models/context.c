/* The rules of context parallelism; see context.h. */
#include "core/models/context.h"

#include "core/base/checked.h"
#include "core/models/gradients.h"
#include "core/plan/kernels.h"

static bool by_heads(const struct sl_transformer *g) {
  return g->cp > 1 && g->l->plan->config->sl.cp_comm == SL_CP_A2A;
}

/* Heads of the keys and values that members gather: each of theirs, or one for every query head. */
static int64_t key_heads(const struct sl_transformer *g) {
  return g->cp > 1 && sl_kernel_set(g->l->plan->config->sl.kernels)->exchanges_repeated ? g->h : g->g;
}

struct sl_context_share sl_context_share(const struct sl_transformer *g) {
  if (by_heads(g)) return (struct sl_context_share){sl_product(g->t, g->cp), g->h / g->cp, g->g / g->cp, 1};
  return (struct sl_context_share){g->t, g->h, key_heads(g), g->cp};
}

/* Columns of exchanged keys, or values. */
static int64_t width_of(const struct sl_transformer *g) {
  return sl_product(key_heads(g), g->d);
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
                                                     .dtype = g->l->compute,
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
  pass.dim[0] = (own_count(g) + g->r * g->g * g->d) * sl_dtype_bytes(g->l->compute), pass.dim[1] = 1;
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
                                                     .dtype = t->g.l->compute,
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

static struct sl_qkv gathered(struct sl_tape *t, struct sl_qkv in) {
  static const char *const names[][2] = {{"attn.k.all", "dk.all"}, {"attn.v.all", "dv.all"}};
  const struct sl_transformer *g = &t->g;
  if (key_heads(g) > g->g) in = repeated(t, in);
  struct sl_node node = {.rule = &share_rule, .in = {in.k, in.v}};
  for (int i = 0; i < KEYS_AND_VALUES; i++)
    node.out[i] = sl_tape_value(t, (struct sl_value){.name = names[i][0],
                                                     .gradient_name = names[i][1],
                                                     .dtype = g->l->compute,
                                                     .count = all_count(g),
                                                     .made = SL_MADE_SHARED});
  sl_tape_node(t, node);
  return (struct sl_qkv){in.q, node.out[0], node.out[1]};
}

/* ---- heads exchanged for tokens ---- */

/* The steps between what a member has of its own tokens, (R, cp W), and of all members' tokens, (B, cp T, W): columns
 * member by member, their exchange, and the order of the sequence. */
static struct sl_op columns_op(const struct sl_transformer *g, int layer, int64_t width) {
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_CONCAT_COLUMNS, layer, -1, g->r, width);
  op.dim[2] = g->cp;
  return op;
}

static struct sl_op tokens_op(const struct sl_transformer *g, int layer, int64_t width) {
  struct sl_op op = order_op(g, layer);
  op.dim[2] = width;
  return op;
}

/* From heads of own tokens to tokens of own heads, or back: the same steps in reverse. */
static enum sl_status exchange(struct sl_transformer *g, int layer, int64_t count, struct sl_operand from,
                               struct sl_operand to, bool back) {
  const int64_t width = count / g->r / g->cp;
  struct sl_op first = back ? tokens_op(g, layer, width) : columns_op(g, layer, width);
  const struct sl_op last = back ? columns_op(g, layer, width) : tokens_op(g, layer, width);
  struct sl_op move = call(g, SL_OP_ALL_TO_ALL, layer);
  int32_t sent, arrived;
  first.flags = SL_OP_INVERSE;
  move.dim[0] = count;
  SL_TRY(sl_transformer_temporary(g, &sent, count, layer, "a2a.sent"));
  SL_TRY(sl_transformer_temporary(g, &arrived, count, layer, "a2a.arrived"));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, first, from, sl_build_write(g->l, sent)));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, move, sl_build_read(g->l, sent), sl_build_write(g->l, arrived)));
  return SL_BUILD_DRAFT(g->drafts, last, sl_build_read(g->l, arrived), to);
}

enum { TO_HEADS, TO_TOKENS };

static enum sl_status exchange_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out;
  SL_TRY(sl_tape_make(t, n, 0, &out));
  return exchange(&t->g, n->layer, t->values[n->out[0]].count, sl_tape_at(t, n->in[0]), out, n->kind == TO_TOKENS);
}

static enum sl_status exchange_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand dx;
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  return exchange(&t->g, n->layer, t->values[n->out[0]].count, sl_gradient_of(t, n->out[0]), dx, n->kind == TO_HEADS);
}

static const struct sl_rule exchange_rule = {.forward = exchange_forward, .backward = exchange_backward};

static int exchanged(struct sl_tape *t, int x, int kind, const char *name, const char *gradient_name) {
  struct sl_value value = {.name = name,
                           .gradient_name = gradient_name,
                           .dtype = t->g.l->compute,
                           .count = t->values[x].count,
                           .made = kind == TO_HEADS ? SL_MADE_ELEMENTWISE : SL_MADE_ATTENTION};
  struct sl_node node = {.rule = &exchange_rule, .kind = kind, .in = {x}};
  node.out[0] = sl_tape_value(t, value);
  sl_tape_node(t, node);
  return node.out[0];
}

/* ---- both ways ---- */

struct sl_qkv sl_context(struct sl_tape *t, struct sl_qkv in) {
  if (t->g.cp == 1) return in;
  if (in.k == 0) in = apart(t, in);
  if (!by_heads(&t->g)) return gathered(t, in);
  return (struct sl_qkv){exchanged(t, in.q, TO_HEADS, "attn.q.heads", "dq.heads"),
                         exchanged(t, in.k, TO_HEADS, "attn.k.heads", "dk.heads"),
                         exchanged(t, in.v, TO_HEADS, "attn.v.heads", "dv.heads")};
}

int sl_context_back(struct sl_tape *t, int out) {
  return by_heads(&t->g) ? exchanged(t, out, TO_TOKENS, "attn.out.tokens", "datt.tokens") : out;
}
