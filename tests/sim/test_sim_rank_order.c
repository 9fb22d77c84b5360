/* label: property
   libs: sim
 * The order of the axes decides which groups stay inside nodes: closed forms on nodes of two, and folded and unfolded runs of
 * real programs agree in every order. */
#include "tests/support/job_fixture.h"
#include "tests/support/sim_world.h"

static const enum sl_rank_order orders[] = {SL_RANKS_TP_DP_PP, SL_RANKS_TP_PP_DP, SL_RANKS_DP_TP_PP,
                                            SL_RANKS_DP_PP_TP, SL_RANKS_PP_TP_DP, SL_RANKS_PP_DP_TP};
static const char *const names[] = {"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"};
enum { ORDERS = sizeof orders / sizeof *orders };

/* Seconds of one call among 2 x 2 x 2 ranks on nodes of two, with 7 byte/s inside them and 2 between. */
static double seconds_of(enum sl_rank_order order, enum sl_group group) {
  struct world w;
  enum { BYTES = 924 };
  world_init(&w, 2, 2, 2);
  w.plan.rank_order = order;
  w.cluster.devices_per_node = 2;
  w.cluster.n_link = 2;
  w.cluster.link[0] = (struct sl_link){.name = "inside", .span = 2, .bandwidth = 7};
  w.cluster.link[1] = (struct sl_link){.name = "between", .span = INT64_MAX, .bandwidth = 2};
  for (int stage = 0; stage < 2; stage++) {
    if (group != SL_GROUP_NONE)
      add_collective(step_of(&w, stage), SL_OP_ALL_REDUCE, group, BYTES, 2);
    else
      add_p2p(step_of(&w, stage), stage == 0 ? SL_LANE_SEND_F : SL_LANE_RECV_F, stage, 1 - stage, BYTES, 0);
  }
  const double seconds = step_seconds(&w);
  world_free(&w);
  return seconds / BYTES;
}

/* An all_reduce over two moves as many bytes as it has, a send too. */
static void the_fastest_axis_stays_inside_nodes(void **state) {
  (void)state;
  static const enum sl_group axes[] = {SL_GROUP_TP, SL_GROUP_DP, SL_GROUP_NONE};
  static const char letters[] = "tdp";
  for (int i = 0; i < ORDERS; i++)
    for (int axis = 0; axis < 3; axis++)
      assert_time(seconds_of(orders[i], axes[axis]), names[i][0] == letters[axis] ? 1.0 / 7 : 1.0 / 2);
}

static double step_end(const struct fixture *f, bool fold) {
  struct sl_run run = {.exec = &sl_exec_sim, .job = &f->job, .options = {.fold = fold, .fail_rank = -1}, .steps = 2};
  if (sl_run_execute(&run) != SL_OK) fail_msg("%s", sl_error_message());
  const double end = run.results[1].end_s;
  sl_run_close(&run);
  return end;
}

static void folded_and_unfolded_agree_in_every_order(void **state) {
  (void)state;
  double ends[ORDERS];
  for (int i = 0; i < ORDERS; i++) {
    struct fixture f;
    char config[512];
    snprintf(config, sizeof config,
             "{\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 4, "
             "\"zero_optimization\": {\"stage\": 1}, \"optimizer\": {\"type\": \"AdamW\"}, "
             "\"shardlab\": {\"tp\": 4, \"pp\": 2, \"seq_len\": 128, \"rank_order\": \"%s\"}}",
             names[i]);
    if (fixture_open(&f, "gpt2", config, "dgx-a100-80g", 24, NULL) != SL_OK) fail_msg("%s", sl_error_message());
    ends[i] = step_end(&f, true);
    assert_true(ends[i] == step_end(&f, false));
    fixture_close(&f);
  }
  /* tensor parallelism across nodes is the slowest */
  assert_true(ends[SL_RANKS_TP_DP_PP] < ends[SL_RANKS_DP_PP_TP] && ends[SL_RANKS_TP_PP_DP] < ends[SL_RANKS_PP_DP_TP]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fastest_axis_stays_inside_nodes),
      cmocka_unit_test(folded_and_unfolded_agree_in_every_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
