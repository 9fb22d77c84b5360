/* How a job of the cuda backend ends that cannot go on, on stand-ins (stand_in.h): a rank that hangs or dies, whose NCCL
 * fails or whose kernel faults, ends all of it, with its op named. */
#include "tests/backend/cuda/trained.h"

#include <signal.h>

static void a_rank_that_dies_ends_the_job(void **state) {
  (void)state;
  int codes[RANKS];
  const double took = run_all(&(struct one){"mlp", "sgd_clip", 4, 2, 1, 1, 1, -1, 1, -1, NULL}, codes);
  assert_int_equal(codes[1], 128 + SIGKILL);
  assert_int_equal(codes[0], 1);
  assert_int_equal(codes[2], 1);
  assert_int_equal(codes[3], 1);
  if (!strstr(err, "rank 0: rank 1 is gone") || !strstr(err, "it waits in #")) fail_msg("%s", err);
  assert_true(took < 30);
}

static void a_rank_that_hangs_ends_the_job(void **state) {
  (void)state;
  int codes[RANKS];
  setenv("SHARDLAB_TIMEOUT_S", "2", 1);
  const double took = run_all(&(struct one){"mlp", "sgd_clip", 2, 0, 1, 1, 1, -1, -1, 1, NULL}, codes);
  unsetenv("SHARDLAB_TIMEOUT_S");
  assert_int_equal(codes[0], 1);
  assert_int_equal(codes[1], 1);
  if (!strstr(err, "no progress for 2 s") || !strstr(err, "shardlab: rank 0")) fail_msg("%s", err);
  assert_true(took < 30);
}

/* In a collective, in a message of the pipeline, and in the first message of a connection, when there are no ops yet:
 * the others, who stand in the same call, end too. */
static void an_error_of_nccl_names_rank_and_op(void **state) {
  (void)state;
  static const struct {
    struct one run;
    int fails;
    const char *told, *then;
  } cases[] = {{{"mlp", "sgd_clip", 2, 0, 1, 1, 1, -1, -1, -1, NULL},
                1,
                "shardlab: rank 1: issuing #",
                " all_reduce of group dp (member 1 of 2) on lane dp in action 0B0: NCCL: ncclGroupEnd: "},
               {{"gpt2_odd", "sgd", 2, 0, 2, 1, 2, -1, -1, -1, NULL},
                3,
                "shardlab: rank 1: issuing #",
                " recv with stage 0 on lane recv_f in action 1RECV_F0: NCCL: ncclRecv: "},
               {{"gpt2_odd", "sgd", 2, 0, 2, 1, 2, -1, -1, -1, NULL}, 1, "shardlab: rank 1: NCCL: ncclRecv: ", ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int codes[RANKS];
    beyond.fails = cases[i].fails;
    const double took = run_all(&cases[i].run, codes);
    const char *line = strstr(err, cases[i].told);
    if (!line || !strstr(line, cases[i].then)) fail_msg("%s", err);
    assert_int_equal(codes[0], 1);
    assert_int_equal(codes[1], 1);
    assert_true(took < 30);
  }
  beyond.fails = 0;
}

/* A kernel that faults shows at a later call; with launches that block, at its own, with its op. */
static void a_fault_of_a_kernel_ends_the_job(void **state) {
  (void)state;
  const struct one c = {"gpt2_odd", "sgd", 2, 0, 1, 1, 1, -1, -1, -1, NULL};
  int codes[RANKS];
  setenv("SHARDLAB_STAND_IN_FAULT", "260", 1);
  for (int blocking = 0; blocking < 2; blocking++) {
    setenv("CUDA_LAUNCH_BLOCKING", blocking ? "1" : "0", 1);
    run_all(&c, codes);
    assert_int_equal(codes[0], 1);
    assert_int_equal(codes[1], 1);
    if (!strstr(err, "an illegal memory access was encountered, in #")) fail_msg("%s", err);
  }
  unsetenv("SHARDLAB_STAND_IN_FAULT");
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

int main(void) {
  if (!told_begin()) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rank_that_dies_ends_the_job),
      cmocka_unit_test(a_rank_that_hangs_ends_the_job),
      cmocka_unit_test(an_error_of_nccl_names_rank_and_op),
      cmocka_unit_test(a_fault_of_a_kernel_ends_the_job),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
