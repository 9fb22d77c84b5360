/* label: unit
 * What follows from a forward that was written once: in which order ops are drafted, undone and made again under each
 * policy of recomputation, which values are kept, and where gradients stand. That the numbers are right is for
 * tests/golden and the equivalence grids; here ops leave their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/job/draft.h"
#include "core/models/gradients.h"
#include "core/models/norm.h"
#include "core/models/residual.h"
#include "core/models/tape.h"
#include "tests/support/job_fixture.h"

/* Drafts of one rank, and a tape over its only stage. */
struct open {
  struct fixture f;
  struct sl_lowering l;
  struct sl_tape t;
};

static void open_tape(struct open *o, const char *keys) {
  static const struct sl_build_options options = {0};
  const struct sl_class ranks = {.rank_count = 1};
  char config[256];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {\"type\": \"AdamW\"}, \"shardlab\": {\"seq_len\": "
           "16%s}}",
           keys);
  if (fixture_open(&o->f, "gpt2-tiny", config, "dgx-a100-80g", 1, NULL) != SL_OK ||
      sl_job_draft(&o->l, &o->f.plan, &options, &ranks, -1) != SL_OK)
    fail_msg("%s", sl_error_message());
  o->l.stage = &o->l.stages[0];
  o->l.stage->forward.count = o->l.stage->backward.count = 0;
  if (sl_tape_open(&o->t, sl_transformer_of(&o->l), 3) != SL_OK) fail_msg("%s", sl_error_message());
}

static void close_tape(struct open *o) {
  sl_tape_free(&o->t);
  sl_job_draft_free(&o->l);
  fixture_close(&o->f);
}

/* ---- ops that leave their names ---- */

static char said[256];

static void say(char what, const struct sl_node *n) {
  const size_t at = strlen(said);
  snprintf(said + at, sizeof said - at, "%s%c%d", at > 0 ? " " : "", what, n->kind);
}

static enum sl_status forward(struct sl_tape *t, const struct sl_node *n) {
  struct sl_operand out;
  say('f', n);
  for (int i = 0; i < SL_TAPE_OUT; i++) SL_TRY(sl_tape_make(t, n, i, &out));
  return SL_OK;
}

static enum sl_status backward(struct sl_tape *t, const struct sl_node *n) {
  (void)t;
  say('b', n);
  return SL_OK;
}

static const struct sl_rule reads_input = {.reads_in = 1, .forward = forward, .backward = backward};
static const struct sl_rule ends = {.reads_in = 1, .ends_branch = true, .forward = forward, .backward = backward};
static const struct sl_rule reads_nothing = {.forward = forward, .backward = backward};

static int add(struct sl_tape *t, const struct sl_rule *rule, int kind, int x, enum sl_made made, int over) {
  const struct sl_value value = {
      .name = "value", .gradient_name = "dvalue", .dtype = SL_F32, .count = 8, .made = made, .over = over};
  const int out = sl_tape_value(t, value);
  sl_tape_node(t, (struct sl_node){.rule = rule, .in = {x}, .out = {out}, .kind = kind});
  return out;
}

/* A block of two branches, each of a product, what is made of it, and what ends the branch; and what reads the
 * block. */
static void record_block(struct sl_tape *t) {
  sl_tape_section(t, -1, 0);
  const int x = add(t, &reads_nothing, 0, 0, SL_MADE_OUTPUT, 0);
  sl_tape_section(t, 0, x);
  const int a = add(t, &reads_input, 1, x, SL_MADE_PRODUCT, 0), b = add(t, &reads_input, 2, a, SL_MADE_ELEMENTWISE, 0);
  const int mid = add(t, &ends, 3, b, SL_MADE_ELEMENTWISE, 0), c = add(t, &reads_input, 4, mid, SL_MADE_PRODUCT, 0);
  const int out = add(t, &ends, 5, c, SL_MADE_OUTPUT, 0);
  sl_tape_section(t, 4, out);
  add(t, &reads_input, 6, out, SL_MADE_OUTPUT, 0);
}

static void run(struct open *o) {
  said[0] = '\0';
  if (sl_tape_forward(&o->t) != SL_OK) fail_msg("%s", sl_error_message());
  sl_transformer_turn(&o->t.g);
  if (sl_tape_backward(&o->t) != SL_OK) fail_msg("%s", sl_error_message());
}

static void what_is_forgotten_is_made_again(void **state) {
  (void)state;
  static const struct {
    const char *keys, *order;
  } rows[] = {
      {"", "f0 f1 f2 f3 f4 f5 f6 b6 b5 b4 b3 b2 b1 b0"},
      /* all of the block before its backward, but its output, which is there */
      {", \"recompute\": \"full\"", "f0 f1 f2 f3 f4 f5 f6 b6 f1 f2 f3 f4 b5 b4 b3 b2 b1 b0"},
      /* what a branch reads, with what that is made of, before its backward; products are kept */
      {", \"recompute\": \"selective_op\"", "f0 f1 f2 f3 f4 f5 f6 b6 f2 f3 b5 b4 b3 b2 b1 b0"},
      /* by layer neither is a norm nor attention's probabilities */
      {", \"recompute\": \"selective\"", "f0 f1 f2 f3 f4 f5 f6 b6 b5 b4 b3 b2 b1 b0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct open o;
    open_tape(&o, rows[i].keys);
    record_block(&o.t);
    run(&o);
    if (strcmp(said, rows[i].order) != 0) fail_msg("%s: %s, expected %s", rows[i].keys, said, rows[i].order);
    close_tape(&o);
  }
}

/* Of the block's values: a, b, mid, c and out are read; the last op's output by nobody. */
static void a_value_is_kept_where_a_backward_reads_it(void **state) {
  (void)state;
  static const struct {
    const char *keys, *kept; /* of values 1 to 7, y or n */
  } rows[] = {
      {"", "yyyyyyn"}, {", \"recompute\": \"full\"", "ynnnnyn"}, {", \"recompute\": \"selective_op\"", "yynnyyn"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct open o;
    open_tape(&o, rows[i].keys);
    record_block(&o.t);
    if (sl_tape_forward(&o.t) != SL_OK) fail_msg("%s", sl_error_message());
    for (int v = 1; v <= 7; v++) {
      const bool kept = o.l.rank_class->buffers[o.t.values[v].at.buffer].slot == SL_SLOT_ACTIVATION;
      if (kept != (rows[i].kept[v - 1] == 'y')) fail_msg("%s: value %d: kept is %d", rows[i].keys, v, kept);
    }
    close_tape(&o);
  }
}

static void what_is_overwritten_is_not_read(void **state) {
  (void)state;
  struct open o;
  open_tape(&o, "");
  sl_tape_section(&o.t, 0, 0);
  const int x = add(&o.t, &reads_nothing, 1, 0, SL_MADE_PRODUCT, 0);
  add(&o.t, &reads_input, 2, x, SL_MADE_PRODUCT, 0);
  add(&o.t, &reads_nothing, 3, x, SL_MADE_PRODUCT, x);
  assert_int_equal(sl_tape_forward(&o.t), SL_ERR_CHECK);
  assert_string_equal(sl_error_message(), "layer 0: the backward reads value, which value is made in place of");
  close_tape(&o);
}

static void a_list_that_is_too_long_is_said(void **state) {
  (void)state;
  struct open o;
  open_tape(&o, "");
  sl_tape_section(&o.t, 0, 0);
  for (int i = 0; i < 4 * SL_TAPE_VALUES; i++) add(&o.t, &reads_nothing, i, 0, SL_MADE_PRODUCT, 0);
  assert_int_equal(sl_tape_forward(&o.t), SL_ERR_CHECK);
  assert_non_null(strstr(sl_error_message(), "more ops or values than fit"));
  close_tape(&o);
}

/* Two norms of one stream, both added to it: the first to be undone adds its input's gradient to what the other has yet
 * to read. */
static void a_shared_gradient_is_copied_before_it_is_added_to(void **state) {
  (void)state;
  struct open o;
  open_tape(&o, "");
  struct sl_tape *t = &o.t;
  const int weight = sl_model_part(&o.f.model, SL_PART_NORM_1, 0);
  sl_tape_section(t, -1, 0);
  const struct sl_value stream = {
      .name = "x", .dtype = o.l.dtype, .count = t->g.s * t->g.c, .made = SL_MADE_OUTPUT, .stream = true};
  const int x = sl_tape_given(t, stream, sl_build_read(&o.l, o.l.dx));
  sl_tape_section(t, 0, x);
  const int a = sl_norm(t, x, weight, "a", "da"), b = sl_norm(t, x, weight, "b", "db");
  const int mid = sl_residual_add(t, SL_BRANCH_ATTENTION, x, a, -1, "mid", false);
  const int out = sl_residual_add(t, SL_BRANCH_MLP, mid, b, -1, "out", true);
  if (sl_tape_forward(t) != SL_OK) fail_msg("%s", sl_error_message());
  sl_transformer_turn(&t->g);
  t->g.dx = sl_build_read(&o.l, o.l.dx);
  t->section = &t->sections[1];
  assert_int_equal(sl_gradient_give(t, out, t->g.dx), SL_OK);
  if (sl_tape_backward(t) != SL_OK) fail_msg("%s", sl_error_message());
  const struct sl_drafts *d = &o.l.stage->backward;
  int copies = 0, norms = 0;
  int32_t copy = -1;
  for (size_t i = 0; i < d->count; i++) {
    const struct sl_draft *draft = &d->items[i];
    if (draft->op.kind == SL_OP_COPY) copies++, copy = draft->operand[1].buffer;
    if (draft->op.kind != SL_OP_LAYERNORM_BWD) continue;
    /* the first reads the stream's own gradient, the second what it was; both add to the stream's */
    assert_int_equal(draft->operand[0].buffer, norms == 0 ? o.l.dx : copy);
    assert_int_equal(draft->operand[4].buffer, o.l.dx);
    assert_int_equal(draft->operand[4].slice.access, SL_READ_WRITE);
    norms++;
  }
  assert_int_equal(copies, 1);
  assert_int_equal(norms, 2);
  close_tape(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_forgotten_is_made_again),
      cmocka_unit_test(a_value_is_kept_where_a_backward_reads_it),
      cmocka_unit_test(what_is_overwritten_is_not_read),
      cmocka_unit_test(a_list_that_is_too_long_is_said),
      cmocka_unit_test(a_shared_gradient_is_copied_before_it_is_added_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
