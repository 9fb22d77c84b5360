/* label: cli
 * DeepSpeed's hostfile as the nodes of a prediction: ranks, and how many of them a node has; machines of Accelerate's
 * file alike. */
#include <jansson.h>

#include "tests/support/cli_run.h"

/* Seconds of a step of gpt2-mini on DGX-A100s. */
static double step_of(const char *flags, int64_t world) {
  if (shardlab(scratch, "predict --model gpt2-mini --cluster dgx-a100-80g --micro-batch 1 --json - %s", flags) != 0)
    fail_msg("%s: %s", flags, err);
  json_t *root = json_loads(out, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "plan"), "world")), world);
  const double step = json_number_value(json_object_get(root, "step_time_s"));
  assert_true(step > 0);
  json_decref(root);
  return step;
}

static void hosts_are_nodes(void **state) {
  (void)state;
  write_file("one.txt", "# all of one machine\nworker-0 slots=8\nworker-1 slots=0\n");
  write_file("two.txt", "worker-0 slots=4\nworker-1 slots=4\n");
  const double whole = step_of("--preset ddp --dtype fp32 --world 8", 8);
  assert_float_equal(step_of("--preset ddp --dtype fp32 --hostfile one.txt", 8), whole, 1e-15);
  assert_true(step_of("--preset ddp --dtype fp32 --hostfile two.txt", 8) > 1.05 * whole);
}

static void machines_are_nodes(void **state) {
  (void)state;
  write_file("two.txt", "worker-0 slots=4\nworker-1 slots=4\n");
  write_file("one.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\n");
  write_file("two.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\n");
  /* our own kernels, as the host of eager ones hides the network */
  const double whole = step_of("--kernels shardlab --from-accelerate one.yaml", 8),
               parted = step_of("--kernels shardlab --from-accelerate two.yaml", 8);
  assert_true(parted > 1.02 * whole);
  assert_float_equal(step_of("--kernels shardlab --from-accelerate one.yaml --hostfile two.txt", 8), parted, 1e-15);
  /* one machine is said, and has no more devices; where ranks are given by flag, they may be those of several */
  write_file("said.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 1\n");
  assert_float_equal(step_of("--kernels shardlab --from-accelerate said.yaml", 8), whole, 1e-15);
  assert_true(step_of("--kernels shardlab --from-accelerate said.yaml --world 16", 16) > whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(hosts_are_nodes), cmocka_unit_test(machines_are_nodes)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
