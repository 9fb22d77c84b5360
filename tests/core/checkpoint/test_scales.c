/* label: unit
 * The state of fp8 in checkpoints, without a backend: scales and histories of magnitudes belong to logical tensors, so that
 * any plan reads what any other saved; each is written once, and predicted; histories of other lengths keep what is newest; and
 * runs in fp8 and in other types go on from each other's checkpoints. */
#include "core/checkpoint/fits.h"
#include "core/checkpoint/predict.h"
#include "tests/core/checkpoint/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GPT2 SL_SOURCE_DIR "/tests/mpi/grid_gpt2.json"
#define LLAMA SL_SOURCE_DIR "/tests/mpi/grid_llama.json"
#define ADAM "\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 0.1}}"
#define SGD "\"optimizer\": {\"type\": \"SGD\", \"params\": {\"lr\": 0.1}}"
#define CONFIG(optimizer, stage, sl)                                                                                   \
  "{\"train_batch_size\": 48, \"gradient_accumulation_steps\": 4, " optimizer ", \"bf16\": {\"enabled\": true}, "      \
  "\"zero_optimization\": {\"stage\": " stage "}, \"shardlab\": {\"seq_len\": 8" sl "}}"
#define FP8 ", \"fp8\": true, \"fp8_amax_history_len\": "

enum { LENGTH = 5, STEP = 7 };

static char folder[128], step[256];

static void save(const char *name, const char *model, const char *config, int world) {
  struct ranks r;
  struct sl_checkpoint_cost cost;
  int64_t written = 0;
  snprintf(folder, sizeof folder, "%s/%s", ranks_folder, name);
  snprintf(step, sizeof step, "%s/step-%06d", folder, STEP);
  ranks_open(&r, model, config, world);
  ranks_fill(&r, STEP);
  const struct sl_saver_options options = {.folder = folder, .every = STEP, .data_samples = 100};
  if (ranks_save(&r, &options, STEP) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(sl_checkpoint_predict(&cost, &r.f.job), SL_OK);
  for (int rank = 0; rank < world; rank++) {
    struct sl_checkpoint_pieces pieces;
    assert_int_equal(sl_checkpoint_pieces(&pieces, &r.f.job, rank), SL_OK);
    written += pieces.bytes;
    sl_checkpoint_pieces_free(&pieces);
  }
  assert_int_equal(cost.bytes, written);
  ranks_close(&r);
}

/* The length of the history that was saved: element `column` of a row is the number of the same column there, if it has
 * one. */
static int64_t saved_length, length, seen;

static void is_scale(float *at, enum sl_role role, int tensor, int64_t logical) {
  seen++;
  assert_true(*at == ranks_value(role, tensor, logical));
}

static void is_history(float *at, enum sl_role role, int tensor, int64_t logical) {
  const int64_t row = logical / length, column = logical % length;
  const float want = column < saved_length ? ranks_value(role, tensor, row * saved_length + column) : 0;
  seen++;
  if (*at != want) fail_msg("tensor %d, element %lld: %g, expected %g", tensor, (long long)logical, *at, want);
}

static void is_fresh(float *at, enum sl_role role, int tensor, int64_t logical) {
  (void)role, (void)tensor, (void)logical;
  seen++;
  assert_true(*at == 0); /* as the memory was */
}

/* Restores the checkpoint under another plan, and looks at what each rank has. */
static void reads(const char *model, const char *config, int world, ranks_each scale, ranks_each history) {
  struct sl_checkpoint from;
  struct ranks r;
  ranks_open(&r, model, config, world);
  if (sl_checkpoint_open(&from, step) != SL_OK) fail_msg("%s", sl_error_message());
  if (sl_checkpoint_fits(&from, &r.f.plan) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(sl_checkpoint_has_scales(&from), scale == is_scale);
  length = r.f.plan.config->sl.fp8_amax_history_len;
  for (int rank = 0; rank < world; rank++) {
    if (sl_restore_opened(&from, &r.runs[rank]) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_restore_started(&from, &r.runs[rank]) != SL_OK) fail_msg("%s", sl_error_message());
    seen = 0;
    ranks_walk(&r, rank, SL_ROLE_FP8_SCALE, scale);
    ranks_walk(&r, rank, SL_ROLE_FP8_HISTORY, history);
    const int linear = r.f.plan.pp_ranks[sl_plan_coord(&r.f.plan, rank).pp].linear_count;
    assert_true(linear > 0);
    assert_int_equal(seen, r.f.plan.config->sl.fp8 ? SL_FP8_FACTORS * linear * (2 + length) : 0);
  }
  sl_checkpoint_close(&from);
  ranks_close(&r);
}

static const struct {
  const char *config;
  int world;
} plans[] = {
    {CONFIG(ADAM, "0", FP8 "5"), 1},
    {CONFIG(ADAM, "2", FP8 "5"), 3},
    {CONFIG(ADAM, "3", FP8 "5, \"tp\": 2"), 4},
    {CONFIG(ADAM, "1", FP8 "5, \"tp\": 2, \"pp\": 2, \"cp\": 2"), 8},
    {CONFIG(ADAM, "0", FP8 "5, \"pp\": 2, \"virtual_stages\": 2, \"schedule\": \"interleaved\""), 4},
    {CONFIG(ADAM, "0", FP8 "3, \"tp\": 2"), 2},
    {CONFIG(ADAM, "1", FP8 "8"), 2},
};
enum { PLANS = sizeof plans / sizeof *plans };

static void any_plan_reads(void **state) {
  (void)state;
  static const char *const models[] = {GPT2, LLAMA};
  for (int m = 0; m < 2; m++) {
    for (int p = 0; p < PLANS - 2; p++) {
      char name[16];
      snprintf(name, sizeof name, "%d-%d", m, p);
      save(name, models[m], plans[p].config, plans[p].world);
      saved_length = LENGTH;
      for (int q = (p + m) % SL_EVERY; q < PLANS; q += SL_EVERY)
        reads(models[m], plans[q].config, plans[q].world, is_scale, is_history);
    }
  }
}

/* Of SGD without momentum, whose ranks had no files of their own. */
static void without_moments(void **state) {
  (void)state;
  saved_length = LENGTH;
  save("sgd", GPT2, CONFIG(SGD, "0", FP8 "5"), 2);
  reads(GPT2, CONFIG(SGD, "3", FP8 "5"), 2, is_scale, is_history);
}

static void other_types(void **state) {
  (void)state;
  save("bf16", GPT2, CONFIG(ADAM, "1", ""), 2);
  reads(GPT2, plans[1].config, plans[1].world, is_fresh, is_fresh);
  save("fp8", GPT2, plans[2].config, plans[2].world);
  reads(GPT2, CONFIG(ADAM, "1", ""), 2, is_scale, is_history);
}

/* All ranks that hold a weight hold its scales: one of them writes each. */
static void each_is_written_once(void **state) {
  (void)state;
  struct ranks r;
  ranks_open(&r, GPT2, plans[3].config, plans[3].world);
  int64_t bytes[SL_CHECKPOINT_STATES] = {0}, linear = 0;
  for (int rank = 0; rank < plans[3].world; rank++) {
    struct sl_checkpoint_pieces pieces;
    assert_int_equal(sl_checkpoint_pieces(&pieces, &r.f.job, rank), SL_OK);
    for (size_t i = 0; i < pieces.count; i++) {
      const int s = sl_checkpoint_state_named(sl_checkpoint_role_name(pieces.items[i].role));
      bytes[s] += pieces.items[i].held * SL_CHECKPOINT_ELEMENT;
    }
    sl_checkpoint_pieces_free(&pieces);
  }
  for (int p = 0; p < r.f.plan.pp; p++) linear += r.f.plan.pp_ranks[p].linear_count;
  assert_int_equal(bytes[0], 4 * sl_model_numel(&r.f.model));
  assert_int_equal(bytes[3], SL_FP8_FACTORS * linear * 2 * 4);
  assert_int_equal(bytes[4], SL_FP8_FACTORS * linear * LENGTH * 4);
  ranks_close(&r);
}

/* Histories so long that replicas share the work. */
static void long_histories(void **state) {
  (void)state;
  struct ranks r;
  static const char config[] = CONFIG(ADAM, "0", FP8 "5000");
  int64_t bytes[2];
  saved_length = 5000;
  save("long", GPT2, config, 2);
  reads(GPT2, CONFIG(ADAM, "3", FP8 "5000, \"tp\": 2"), 4, is_scale, is_history);
  reads(GPT2, plans[1].config, plans[1].world, is_scale, is_history);
  ranks_open(&r, GPT2, config, 2);
  for (int rank = 0; rank < 2; rank++) {
    struct sl_checkpoint_pieces pieces;
    assert_int_equal(sl_checkpoint_pieces(&pieces, &r.f.job, rank), SL_OK);
    bytes[rank] = 0;
    for (size_t i = 0; i < pieces.count; i++)
      if (pieces.items[i].role == SL_ROLE_FP8_HISTORY) bytes[rank] += pieces.items[i].held;
    sl_checkpoint_pieces_free(&pieces);
  }
  assert_true(bytes[0] > 0 && bytes[1] > bytes[0] / 2);
  ranks_close(&r);
}

static void other_shapes_are_refused(void **state) {
  (void)state;
  static const enum sl_role roles[] = {SL_ROLE_FP8_SCALE, SL_ROLE_FP8_HISTORY};
  struct sl_checkpoint from;
  struct ranks r;
  save("shapes", GPT2, plans[0].config, plans[0].world);
  ranks_open(&r, GPT2, plans[0].config, plans[0].world);
  assert_int_equal(sl_checkpoint_open(&from, step), SL_OK);
  for (int k = 0; k < 2; k++) {
    struct sl_manifest_tensor *t =
        (struct sl_manifest_tensor *)(uintptr_t)sl_manifest_find(&from.manifest, "h.0.attn.c_attn.weight", roles[k]);
    assert_non_null(t);
    t->shape[0] = 1;
    sl_error_clear();
    assert_int_equal(sl_checkpoint_fits(&from, &r.f.plan), SL_ERR_INPUT);
    assert_non_null(strstr(sl_error_message(), "has another shape; expected 3 rows"));
    t->shape[0] = 3;
  }
  assert_int_equal(sl_checkpoint_fits(&from, &r.f.plan), SL_OK);
  sl_checkpoint_close(&from);
  ranks_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_plan_reads), cmocka_unit_test(without_moments),
      cmocka_unit_test(other_types),    cmocka_unit_test(each_is_written_once),
      cmocka_unit_test(long_histories), cmocka_unit_test(other_shapes_are_refused),
  };
  return cmocka_run_group_tests(tests, ranks_make_folder, ranks_remove_folder);
}
