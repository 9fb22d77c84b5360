/* label: unit
   libs: sim
 * Layers to pipeline stages: nanotron's cut by cost, whose last ranks may hold nothing, DeepSpeed's by parameters, and
 * stages without layers. That plans with
 * them train to the same losses is the grid's matter (tests/mpi). */
#include "core/check/rendezvous.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct cut {
  const char *name;
  int layers, width, inner, vocabulary, pp;
  const char *stages; /* layers of each that holds something; the last has the head */
};

static enum sl_status plan_of(struct fixture *f, const struct cut *c, const char *stages) {
  char model[512], config[512];
  struct sl_json doc;
  snprintf(model, sizeof model,
           "{\"model_type\": \"llama\", \"hidden_size\": %d, \"num_hidden_layers\": %d, \"num_attention_heads\": 4, "
           "\"intermediate_size\": %d, \"vocab_size\": %d, \"max_position_embeddings\": 8}",
           c->width, c->layers, c->inner, c->vocabulary);
  snprintf(config, sizeof config,
           "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 3, \"optimizer\": {\"type\": "
           "\"AdamW\"}, \"shardlab\": {\"pp\": %d, \"stages\": %s}}",
           c->pp, stages);
  memset(f, 0, sizeof *f);
  sl_error_clear();
  SL_TRY(sl_json_parse(&doc, "model", model, strlen(model)));
  const enum sl_status status = sl_model_from_json(&f->model, &doc);
  sl_json_free(&doc);
  SL_TRY(status);
  SL_TRY(sl_config_parse(&f->config, "test.json", config, strlen(config), false));
  SL_TRY(sl_cluster_load(&f->cluster, "dgx-h100"));
  return sl_plan_build(&f->plan, &f->model, &f->config, &f->cluster, c->pp);
}

static void expect_stages(const struct sl_plan *plan, const char *name, const char *want) {
  char got[512] = "";
  int layer = 0;
  for (int i = 0; i < plan->stage_count; i++) {
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i > 0 ? "," : "", plan->stages[i].layer_count);
    assert_int_equal(plan->stages[i].first_layer, layer);
    assert_int_equal(plan->stages[i].head, i == plan->stage_count - 1);
    layer += plan->stages[i].layer_count;
  }
  if (strcmp(got, want) != 0) fail_msg("%s over %d: %s, expected %s", name, plan->pp, got, want);
  assert_int_equal(layer, plan->model->n_layer);
  for (int rank = 0; rank < plan->pp; rank++) /* what is left over holds and does nothing */
    assert_int_equal(plan->pp_ranks[rank].stage_count, rank < plan->stage_count);
}

static void expect_cuts(const struct cut *cuts, size_t count, const char *stages) {
  for (size_t i = 0; i < count; i++) {
    struct fixture f;
    if (plan_of(&f, &cuts[i], stages) != SL_OK) fail_msg("%s", sl_error_message());
    expect_stages(&f.plan, cuts[i].name, cuts[i].stages);
    fixture_close(&f);
  }
}

/* The models of nanotron's benchmarks. The first ranks' share of their published memory is that of 10, 5 and 3
 * layers. */
static void layers_by_cost(void **state) {
  (void)state;
  static const struct cut cuts[] = {
      {"1B", 16, 2048, 8192, 131072, 1, "16"},
      {"1B", 16, 2048, 8192, 131072, 2, "10,6"},
      {"1B", 16, 2048, 8192, 131072, 4, "5,5,5,1"},
      {"1B", 16, 2048, 8192, 131072, 8, "3,2,3,2,3,2,1,0"},
      {"1B", 16, 2048, 8192, 131072, 32, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0"},
      {"3B", 28, 3072, 8192, 131072, 2, "16,12"},
      {"3B", 28, 3072, 8192, 131072, 8, "4,4,4,4,4,4,4,0"},
      {"3B", 28, 3072, 8192, 131072, 16, "2,2,2,2,2,2,2,2,2,2,2,2,2,2,0"},
      {"8B", 32, 4096, 14336, 131072, 4, "9,9,8,6"},
      {"8B", 32, 4096, 14336, 131072, 16, "3,2,2,2,2,2,2,3,2,2,2,2,2,2,2,0"},
  };
  expect_cuts(cuts, sizeof cuts / sizeof *cuts, "\"cost\"");
}

/* What DeepSpeed's own partition_balanced returns for the parameters of embedding, blocks, and norm with head (its
 * runtime/utils.py of August 2026, commit edaa7221), less the two ends. */
static void layers_by_parameters(void **state) {
  (void)state;
  static const struct cut cuts[] = {
      {"7B", 32, 4096, 11008, 32000, 8, "4,4,4,4,4,4,4,4"},     {"8B", 32, 4096, 14336, 128256, 8, "2,5,5,5,5,4,4,2"},
      {"13B", 40, 5120, 13824, 128000, 4, "9,11,11,9"},         {"13B", 40, 5120, 13824, 128000, 8, "3,6,6,6,6,5,5,3"},
      {"ends alone", 12, 256, 512, 50000, 4, "0,6,6,0"},        {"odd", 38, 512, 1024, 8000, 4, "9,10,10,9"},
      {"not the lightest", 38, 512, 1024, 50000, 3, "10,19,9"},
  };
  expect_cuts(cuts, sizeof cuts / sizeof *cuts, "\"parameters\"");
}

/* By flops the heaviest stage counts, which the last two of those above do not minimise. */
static void layers_by_flops(void **state) {
  (void)state;
  static const struct cut cuts[] = {
      {"odd", 38, 512, 1024, 8000, 4, "10,10,10,8"},
      {"not the lightest", 38, 512, 1024, 50000, 3, "16,16,6"},
  };
  expect_cuts(cuts, sizeof cuts / sizeof *cuts, "\"flops\"");
}

/* Empty at the front, in between, behind; and ranks without a stage: the programs are proved and have the ends where
 * they are. */
static void empty_stages_are_proved(void **state) {
  (void)state;
  static const struct {
    int pp;
    const char *stages, *want;
  } cuts[] = {{3, "[3, 0, 2]", "3,0,2"}, {3, "[0, 4, 1]", "0,4,1"}, {3, "[0, 0, 5]", "0,0,5"},
              {3, "[5, 0, 0]", "5,0,0"}, {3, "\"cost\"", "2,2,1"},  {8, "\"cost\"", "1,1,1,1,1,0,0"}};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    const struct cut c = {"small", 5, 64, 32, 256, cuts[i].pp, NULL};
    struct fixture f;
    if (plan_of(&f, &c, cuts[i].stages) != SL_OK) fail_msg("%s", sl_error_message());
    expect_stages(&f.plan, c.name, cuts[i].want);
    if (sl_job_build(&f.job, &f.plan, &(struct sl_build_options){0}) != SL_OK) fail_msg("%s", sl_error_message());
    if (sl_check(&f.job) != SL_OK) fail_msg("%s: %s", cuts[i].stages, sl_error_message());
    fixture_close(&f);
  }
}

static void refuse(const struct cut *c, const char *stages, const char *message) {
  struct fixture f;
  assert_int_equal(plan_of(&f, c, stages), SL_ERR_INPUT);
  if (strstr(sl_error_message(), message) == NULL) fail_msg("%s: %s", stages, sl_error_message());
  fixture_close(&f);
}

static void cuts_that_cannot_be(void **state) {
  (void)state;
  const struct cut c = {"small", 5, 64, 32, 256, 7, NULL};
  refuse(&c, "\"uniform\"",
         "7 pipeline stages for the 5 layers of model llama; expected at least a layer each, or a list of "
         "stages with 0");
  refuse(&c, "\"flops\"", "expected at least a layer each");
  refuse(&c, "[1, 1, 1, 1, 1, 1, 0]", "adds up to 6 layers; expected the 5");
  refuse(&c, "\"cost\", \"schedule\": \"gpipe\"",
         "is \"cost\", which deals a stage to a rank in 1f1b; the schedule is gpipe");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_by_cost),      cmocka_unit_test(layers_by_parameters),
      cmocka_unit_test(layers_by_flops),     cmocka_unit_test(empty_stages_are_proved),
      cmocka_unit_test(cuts_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
