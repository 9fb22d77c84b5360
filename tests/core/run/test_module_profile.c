/* label: unit
   libs: sim
 * The flops profiler's modules: multiply-accumulates and parameters against closed forms of GPT-2, Llama and an mlp, by the letters of
 * core/models/transformer.h, whole and cut over tp; and times, of the first micro-batch of a step alone. */
#include "core/run/module_profile.h"
#include "sim/sim.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { B = 2, T = 24, R = B * T };

static void open_job(struct fixture *f, struct sl_module_profile *p, const char *model, const char *sl, int world) {
  char config[512];
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": 3, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {%s\"fuse_epilogues\": \"never\"}}",
           B, sl);
  if (fixture_open(f, model, config, "localhost", world, NULL) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(sl_module_profile_open(p, &f->job, 0), SL_OK);
}

static const struct sl_module_row *row(const struct sl_module_profile *p, const char *name) {
  for (size_t i = 0; i < p->count; i++)
    if (strcmp(p->rows[i].name, name) == 0) return &p->rows[i];
  fail_msg("no module '%s'", name);
  return NULL;
}

static void check(const struct sl_module_profile *p, const char *name, int depth, int64_t macs, int64_t parameters) {
  const struct sl_module_row *r = row(p, name);
  if ((int64_t)r->macs != macs || r->parameters != parameters || r->depth != depth)
    fail_msg("%s: %.0f MACs, %lld parameters, depth %d; expected %lld, %lld, %d", name, r->macs,
             (long long)r->parameters, r->depth, (long long)macs, (long long)parameters, depth);
}

static void gpt2(void **state) {
  (void)state;
  enum { C = 64, V = 256, P = 64, H = 4, L = 2, I = 4 * C };
  for (int tp = 1; tp <= 2; tp++) {
    struct fixture f;
    struct sl_module_profile p;
    open_job(&f, &p, SL_SOURCE_DIR "/tests/mpi/gpt2_narrow.json",
             tp == 1 ? "\"seq_len\": 24, " : "\"seq_len\": 24, \"tp\": 2, ", tp);
    const int64_t c3 = 3 * C / tp, scores = (int64_t)B * (H / tp) * T * (T + 1) / 2 * (C / H);
    const int64_t qkv = R * C * c3, out = R * (C / tp) * C, attn = qkv + 2 * scores + out, mlp = 2 * R * C * (I / tp);
    const int64_t attn_p = C * c3 + c3 + C / tp * C + C, mlp_p = 2 * C * I / tp + I / tp + C;
    const int64_t block = attn + mlp, block_p = attn_p + mlp_p + 4 * C, head = R * C * (V / tp);
    check(&p, "h.0.attn.c_attn", 4, qkv, C * c3 + c3);
    check(&p, "h.1.attn.c_proj", 4, out, C / tp * C + C);
    check(&p, "h.1.attn", 3, attn, attn_p);
    check(&p, "h.0.mlp", 3, mlp, mlp_p);
    check(&p, "h.0.ln_1", 3, 0, 2 * C);
    check(&p, "h.1", 2, block, block_p);
    check(&p, "h", 1, L * block, L * block_p);
    check(&p, "wte", 1, 0, V / tp * C);
    check(&p, "lm_head", 1, head, V / tp * C); /* tied: counted once in the model */
    check(&p, "", 0, L * block + head, L * block_p + V / tp * C + P * C + 2 * C);
    assert_true(row(&p, "h.0.mlp")->flops > 2 * (double)mlp); /* gelu is no product */
    assert_true(row(&p, "h.0.mlp.c_fc")->flops ==
                2 * (double)R * C * (I / tp)); /* and no part of the layer before it */
    const double inner = row(&p, "h.0.attn")->flops + row(&p, "h.0.mlp")->flops + 2 * row(&p, "h.0.ln_1")->flops;
    assert_true(row(&p, "h.0")->flops >= inner + 2 * R * C &&
                row(&p, "h.0")->flops <= inner + 4 * R * C); /* two sums */
    sl_module_profile_free(&p);
    fixture_close(&f);
  }
}

static void llama(void **state) {
  (void)state;
  struct fixture f;
  struct sl_module_profile p;
  open_job(&f, &p, SL_SOURCE_DIR "/tests/mpi/llama.json", "\"seq_len\": 11, ", 1);
  enum { SHORT = 11, ROWS = B * SHORT };
  const struct sl_model *m = &f.model;
  const int64_t q = m->n_head * m->head_dim, k = m->n_kv_head * m->head_dim, c = m->n_embd, i = m->n_inner;
  const int64_t attention = 2 * B * q * SHORT * (SHORT + 1) / 2;
  check(&p, "layers.0.self_attn.k_proj", 4, ROWS * c * k, c * k);
  check(&p, "layers.1.self_attn", 3, ROWS * c * (q + 2 * k) + attention + ROWS * q * c, c * (q + 2 * k) + q * c);
  check(&p, "layers.1.mlp", 3, 3 * ROWS * c * i, 3 * c * i);
  check(&p, "lm_head", 1, ROWS * c * m->vocab_size, c * m->vocab_size);
  assert_int_equal(row(&p, "")->parameters, sl_model_numel(m));
  sl_module_profile_free(&p);
  fixture_close(&f);
}

static void mlp(void **state) {
  (void)state;
  struct fixture f;
  struct sl_module_profile p;
  open_job(&f, &p, SL_SOURCE_DIR "/tests/mpi/mlp.json", "", 1);
  int64_t macs = 0;
  for (int i = 0; i + 1 < f.model.n_dims; i++) macs += B * f.model.dims[i] * f.model.dims[i + 1];
  assert_int_equal((int64_t)row(&p, "")->macs, macs);
  assert_int_equal(row(&p, "")->parameters, sl_model_numel(&f.model));
  sl_module_profile_free(&p);
  fixture_close(&f);
}

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  if (local == 0) sl_module_profile_add(context, step, program, done);
}

/* Whatever the number of micro-batches and of steps. */
static void times_are_of_one_micro_batch(void **state) {
  (void)state;
  double time[2];
  for (int steps = 1; steps <= 2; steps++) {
    struct fixture f;
    struct sl_module_profile p;
    open_job(&f, &p, SL_SOURCE_DIR "/tests/mpi/gpt2_narrow.json", "\"seq_len\": 24, ", 1);
    struct sl_run run = {.exec = &sl_exec_sim,
                         .job = &f.job,
                         .options = {.fail_rank = -1},
                         .steps = steps,
                         .observe = observe,
                         .observe_context = &p};
    assert_int_equal(sl_run_execute(&run), SL_OK);
    assert_int_equal(p.step, steps - 1);
    double inner = 0;
    for (size_t i = 0; i < p.count; i++)
      if (p.rows[i].depth == 1) inner += p.rows[i].time_s;
    time[steps - 1] = row(&p, "")->time_s;
    assert_true(inner > 0 && inner < time[steps - 1]); /* batch and loss are the model's own */
    assert_true(time[steps - 1] < (run.results[0].end_s - run.results[0].start_s) / 3 / 2);
    sl_run_close(&run);
    sl_module_profile_free(&p);
    fixture_close(&f);
  }
  assert_true(time[1] > 0.999 * time[0] && time[1] < 1.001 * time[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gpt2), cmocka_unit_test(llama), cmocka_unit_test(mlp),
                                     cmocka_unit_test(times_are_of_one_micro_batch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
