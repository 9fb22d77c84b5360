/* label: cli
 * Which line a job says of nodes that ssh started and that end one after another. A script stands in for ssh. */
#include "tests/support/cli_run.h"

/* The only line of a job on two hosts: behind what the node of each said, when, and with which status. */
static const char *heard(const char *first, const char *second) {
  char script[512];
  snprintf(script, sizeof script, "#!/bin/sh\ncase \"$*\" in\n*--node-rank=0*) %s;;\n*) %s;;\nesac\n", first, second);
  write_file("pool", "worker-0 slots=2\nworker-1 slots=2\n");
  write_file("mlp.json", "{\"model_type\": \"mlp\", \"dims\": [8, 8]}");
  assert_int_equal(shardlab_with("ssh", script,
                                 "measure --model mlp.json --preset ddp --data random:100 --steps 1 --backend cuda "
                                 "--cluster dgx-h200 --hostfile pool --master-addr 10.0.0.1 --quiet"),
                   1);
  return only_line();
}

#define MISSED "echo 'shardlab: rank 0: rank 2 is gone: its connection to rank 0 ended' >&2; exit 1"

/* The node that misses ranks of the lost host may end before the lost host's ssh does. */
static void a_lost_host_is_named(void **state) {
  (void)state;
  static const char gone[] = "shardlab: error: host worker-1 is gone";
  assert_non_null(strstr(heard(MISSED, "sleep .3; exit 255"), gone));
  assert_non_null(strstr(heard("sleep .3; " MISSED, "exit 255"), gone));
}

/* A node that ends because it was let go is not called lost. */
static void an_error_of_a_rank_is_all(void **state) {
  (void)state;
  assert_string_equal(heard("echo 'shardlab: error: no space' >&2; exit 1", "cat >/dev/null; exit 255"),
                      "shardlab: error: no space\n");
  assert_non_null(strstr(heard(MISSED, "cat >/dev/null; exit 255"), "rank 2 is gone: its connection"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_host_is_named),
                                     cmocka_unit_test(an_error_of_a_rank_is_all)};
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
