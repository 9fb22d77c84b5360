/* Writes what one micro-batch of the mlp computes on a stage: linear layers with ReLU in between and a mean squared
 * error at the end. B samples; weights are (out, in) as in torch.nn.Linear, so out(B, N) = x(B, K) w(N, K)^T + b(N).
 *
 * Under tensor parallelism every layer is a ColumnParallelLinear with gathered output: a member computes N / tp
 * columns, which an all-gather and a rearrangement put together. (A reduction would add unrelated columns.) */
#include "core/models/gradients.h"
#include "core/models/models.h"
#include "core/models/tape.h"
#include "core/op/workspace.h"

/* ---- linear layers ---- */

/* Width of a value: numbers per sample. */
static int64_t width_of(const struct sl_tape *t, int value) {
  return t->values[value].count / t->g.b;
}

static struct sl_op gemm_op(const struct sl_tape *t, const struct sl_node *n, unsigned flags) {
  struct sl_op op = sl_transformer_op(&t->g, SL_OP_GEMM, n->layer, n->weight[0]);
  op.flags = flags;
  return op;
}

static struct sl_op tp_call(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind, int64_t count) {
  struct sl_op op = sl_transformer_rows_op(&t->g, kind, n->layer, -1, count, 0);
  op.lane = SL_LANE_TP;
  op.group = SL_GROUP_TP;
  op.payload = SL_PAYLOAD_ACTIVATION;
  return op;
}

/* out = x w^T + b */
static enum sl_status linear(struct sl_tape *t, const struct sl_node *n, struct sl_operand out) {
  struct sl_lowering *l = t->g.l;
  const struct sl_operand bias = sl_build_param(l, n->bias[0]);
  const int64_t dim[] = {t->g.b, width_of(t, n->out[0]) / t->g.tp, width_of(t, n->in[0])};
  return sl_build_gemm(l, t->g.drafts, gemm_op(t, n, SL_OP_TRANS_B), dim, sl_tape_at(t, n->in[0]),
                       sl_build_param(l, n->weight[0]), out, &bias);
}

static enum sl_status linear_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int64_t count = t->values[n->out[0]].count, columns = width_of(t, n->out[0]) / g->tp;
  struct sl_operand out;
  int32_t own, parts;
  SL_TRY(sl_tape_make(t, n, 0, &out));
  if (g->tp == 1) return linear(t, n, out);
  SL_TRY(sl_transformer_temporary(g, &own, g->b * columns, n->layer, "own"));
  SL_TRY(sl_transformer_temporary(g, &parts, count, n->layer, "parts"));
  SL_TRY(linear(t, n, sl_build_write(g->l, own)));
  SL_TRY(SL_BUILD_DRAFT(g->drafts, tp_call(t, n, SL_OP_ALL_GATHER, count), sl_build_read(g->l, own),
                        sl_build_write(g->l, parts)));
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_CONCAT_COLUMNS, n->layer, -1, g->b, columns);
  op.dim[2] = g->tp;
  return SL_BUILD_DRAFT(g->drafts, op, sl_build_read(g->l, parts), out);
}

/* This member's columns of the output's gradient. */
static enum sl_status own_columns(struct sl_tape *t, const struct sl_node *n, struct sl_operand *own) {
  struct sl_transformer *g = &t->g;
  const int64_t columns = width_of(t, n->out[0]) / g->tp;
  struct sl_op op = sl_transformer_rows_op(g, SL_OP_SPLIT_COLUMNS, n->layer, -1, g->b, columns);
  int32_t buffer;
  *own = sl_gradient_of(t, n->out[0]);
  if (g->tp == 1) return SL_OK;
  const struct sl_operand dout = *own;
  SL_TRY(sl_transformer_temporary(g, &buffer, g->b * columns, n->layer, "down"));
  *own = sl_build_read(g->l, buffer);
  op.dim[2] = g->tp;
  op.place_group = SL_GROUP_TP;
  return SL_BUILD_DRAFT(g->drafts, op, dout, sl_build_write(g->l, buffer));
}

static enum sl_status weight_gradients(struct sl_tape *t, const struct sl_node *n, struct sl_operand own) {
  struct sl_transformer *g = &t->g;
  const int64_t columns = width_of(t, n->out[0]) / g->tp;
  SL_TRY(sl_build_gemm(g->l, g->drafts, gemm_op(t, n, SL_OP_TRANS_A), (int64_t[]){columns, width_of(t, n->in[0]), g->b},
                       own, sl_tape_at(t, n->in[0]), sl_build_grad(g->l, n->weight[0]), NULL));
  return SL_BUILD_DRAFT(g->drafts, sl_transformer_rows_op(g, SL_OP_BIAS_BWD, n->layer, -1, g->b, columns), own,
                        sl_build_grad(g->l, n->bias[0]));
}

/* The all-reduce of the input's gradient over the tp group overlaps with the weights' gradients. */
static enum sl_status linear_backward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int64_t dim[] = {g->b, width_of(t, n->in[0]), width_of(t, n->out[0]) / g->tp};
  struct sl_operand own, dx;
  SL_TRY(own_columns(t, n, &own));
  if (n->layer == 0) return weight_gradients(t, n, own);
  SL_TRY(sl_gradient_into(t, n->in[0], &dx));
  SL_TRY(sl_build_gemm(g->l, g->drafts, gemm_op(t, n, 0), dim, own, sl_build_param(g->l, n->weight[0]), dx, NULL));
  dx = sl_build_as(dx, SL_READ_WRITE);
  if (g->tp > 1) SL_TRY(SL_BUILD_DRAFT(g->drafts, tp_call(t, n, SL_OP_ALL_REDUCE, t->values[n->in[0]].count), dx));
  return weight_gradients(t, n, own);
}

/* ---- ReLU, in place both ways ---- */

static struct sl_op relu_op(const struct sl_tape *t, const struct sl_node *n, enum sl_op_kind kind) {
  return sl_transformer_rows_op(&t->g, kind, n->layer, -1, t->g.b, width_of(t, n->out[0]));
}

static enum sl_status relu_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand x;
  SL_TRY(sl_tape_make(t, n, 0, &x));
  return SL_BUILD_DRAFT(t->g.drafts, relu_op(t, n, SL_OP_RELU_FWD), x);
}

static enum sl_status relu_backward(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_operand d = sl_gradient_of(t, n->out[0]);
  SL_TRY(SL_BUILD_DRAFT(t->g.drafts, relu_op(t, n, SL_OP_RELU_BWD), sl_build_as(d, SL_READ_WRITE),
                        sl_tape_at(t, n->out[0])));
  return sl_gradient_give(t, n->in[0], d);
}

/* ---- the loss, which overwrites the prediction with its gradient ---- */

static enum sl_status loss_forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_lowering *l = t->g.l;
  const int64_t width = width_of(t, n->in[0]);
  struct sl_op op = sl_transformer_rows_op(&t->g, SL_OP_MSE, n->layer, -1, t->g.b, width);
  struct sl_operand x;
  int32_t scratch;
  op.scale = 1.0 / ((double)l->plan->global_batch * (double)width);
  if (t->g.tp > 1) op.place_group = SL_GROUP_TP;
  SL_TRY(sl_tape_make(t, n, 0, &x));
  SL_TRY(sl_build_buffer(l, &scratch, SL_SCOPE_MICRO, SL_CATEGORY_WORKSPACE, SL_U8, sl_op_workspace(&op, 1),
                         "mse.scratch"));
  return SL_BUILD_DRAFT(t->g.drafts, op, x, sl_tape_at(t, n->in[1]), sl_build_update(l, l->rank_class->control),
                        sl_build_write(l, scratch));
}

/* ---- a stage's two ends ---- */

/* Loads inputs in the model's first stage, targets in its last. */
static enum sl_status load(struct sl_tape *t, const struct sl_node *n) {
  const struct sl_model *model = t->g.l->plan->model;
  struct sl_op op = sl_transformer_rows_op(&t->g, SL_OP_LOAD_BATCH, -1, -1, t->g.b, 1);
  struct sl_operand operands[2];
  int count = 0;
  op.dim[2] = model->dims[0];
  op.dim[3] = model->dims[model->n_dims - 1];
  for (int i = 0; i < 2; i++) {
    SL_TRY(sl_tape_make(t, n, i, &operands[count]));
    if (n->out[i] != 0) count++;
  }
  if (count == 1) op.flags = n->out[0] != 0 ? SL_OP_INPUTS_ONLY : SL_OP_TARGETS_ONLY;
  return sl_build_draft(t->g.drafts, op, count, operands);
}

static enum sl_status no_gradient(struct sl_tape *t, const struct sl_node *n) {
  (void)t, (void)n;
  return SL_OK;
}

static enum sl_status give_gradient(struct sl_tape *t, const struct sl_node *n) {
  const int64_t count = t->values[n->out[0]].count;
  const struct sl_operand to = sl_build_stream(t->g.l, SL_SLOT_DX, SL_WRITE, count);
  return sl_transformer_copy(&t->g, n->layer, sl_gradient_of(t, n->out[0]), to, count);
}

/* In a split backward W reads the gradient after it was sent on. */
static enum sl_status take_gradient(struct sl_tape *t, const struct sl_node *n) {
  struct sl_transformer *g = &t->g;
  const int64_t count = t->values[n->in[0]].count;
  struct sl_operand d = sl_build_stream(g->l, SL_SLOT_DX, SL_READ, count);
  int32_t held;
  if (g->l->stage->split) {
    SL_TRY(sl_transformer_temporary(g, &held, count, n->layer, "dx.held"));
    SL_TRY(sl_transformer_copy(g, n->layer, d, sl_build_write(g->l, held), count));
    d = sl_build_read(g->l, held);
  }
  return sl_gradient_give(t, n->in[0], d);
}

/* ---- the forward ---- */

static const struct sl_rule linear_rule = {.reads_in = 1, .forward = linear_forward, .backward = linear_backward};
static const struct sl_rule relu_rule = {.reads_out = 1, .forward = relu_forward, .backward = relu_backward};
static const struct sl_rule loss_rule = {.reads_out = 1, .forward = loss_forward, .backward = sl_gradient_of_loss};
static const struct sl_rule load_rule = {.forward = load, .backward = no_gradient};
static const struct sl_rule arrive_rule = {.backward = give_gradient};
static const struct sl_rule leave_rule = {.backward = take_gradient};

static struct sl_value values(const struct sl_tape *t, const char *name, int64_t width) {
  return (struct sl_value){
      .name = name, .gradient_name = "dx", .dtype = t->g.l->dtype, .count = t->g.b * width, .made = SL_MADE_OUTPUT};
}

static int in_place(struct sl_tape *t, const char *name, int x) {
  struct sl_value value = values(t, name, width_of(t, x));
  value.over = x;
  return sl_tape_value(t, value);
}

/* The ReLU after linear `i`: its forward belongs to the stage that has the linear, its backward to the next stage. */
static int arrive(struct sl_tape *t, int i, int64_t width) {
  const struct sl_operand at = sl_build_stream(t->g.l, SL_SLOT_IN, SL_READ, t->g.b * width);
  sl_tape_section(t, i + 1, 0);
  const int before = sl_tape_value(t, values(t, "dx", width));
  sl_tape_node(t, (struct sl_node){.rule = &arrive_rule, .out = {before}, .no_forward = true});
  sl_tape_section(t, i, 0);
  const int x = sl_tape_given(t, values(t, "x", width), at);
  sl_tape_node(t, (struct sl_node){.rule = &relu_rule, .in = {before}, .out = {x}, .no_forward = true});
  return x;
}

static int relu(struct sl_tape *t, int product, bool last) {
  const int x = in_place(t, "out", product);
  sl_tape_node(t, (struct sl_node){.rule = &relu_rule, .in = {product}, .out = {x}, .no_backward = last});
  return x;
}

/* The last linear's product goes to the loss, or through its ReLU to the next stage. */
static void end_stage(struct sl_tape *t, int end, int product, int targets) {
  if (t->g.stage->head) {
    sl_tape_section(t, end, product);
    const int d = in_place(t, "dout", product);
    sl_tape_node(t, (struct sl_node){.rule = &loss_rule, .in = {product, targets}, .out = {d}});
    return;
  }
  relu(t, product, true);
  sl_tape_section(t, end, product);
  sl_tape_node(t, (struct sl_node){.rule = &leave_rule, .in = {product}, .no_forward = true});
}

static void record(struct sl_tape *t, const int64_t *dims, int first, int end) {
  const struct sl_stage *stage = t->g.stage;
  struct sl_node begin = {.rule = &load_rule};
  struct sl_value targets = values(t, "targets", dims[t->g.l->plan->model->n_dims - 1]);
  int x;
  sl_tape_section(t, -1, 0);
  if (stage->embedding) begin.out[0] = sl_tape_value(t, values(t, "inputs", dims[0]));
  targets.of_step = true;
  if (stage->head) begin.out[1] = sl_tape_value(t, targets);
  if (stage->embedding || stage->head) sl_tape_node(t, begin);
  x = stage->embedding ? begin.out[0] : arrive(t, first - 1, dims[first]);
  for (int i = first; i < end; i++) {
    const bool last = i + 1 == end;
    struct sl_node linear = {.rule = &linear_rule, .in = {x}, .weight = {2 * i}, .bias = {2 * i + 1}};
    sl_tape_section(t, i, x);
    const int product = linear.out[0] = sl_tape_value(t, values(t, "out", dims[i + 1]));
    t->values[product].leaves = last && !stage->head;
    sl_tape_node(t, linear);
    if (!last) x = relu(t, product, false);
    if (last) end_stage(t, end, product, begin.out[1]);
  }
}

enum sl_status sl_models_mlp(struct sl_lowering *l) {
  const struct sl_stage *stage = l->stage->stage;
  struct sl_transformer g = {.l = l,
                             .stage = stage,
                             .drafts = &l->stage->forward,
                             .phase = SL_PHASE_FORWARD,
                             .prefix = "layers",
                             .b = l->plan->micro_batch,
                             .tp = l->plan->tp};
  enum sl_status status;
  struct sl_tape t;
  SL_TRY(sl_tape_open(&t, g, stage->layer_count + 4));
  record(&t, l->plan->model->dims, stage->first_layer, stage->first_layer + stage->layer_count);
  SL_GO(sl_tape_forward(&t));
  sl_transformer_turn(&t.g);
  SL_GO(sl_tape_backward(&t));
done:
  sl_tape_free(&t);
  return status;
}
