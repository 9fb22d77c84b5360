/* label: unit
   libs: cuda_plain
 * Where a process stands, from the launchers' variables, good and bad. */
#include "backend/cuda/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "NCCL_COMM_ID",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "SLURM_PROCID",
                                    "SLURM_NTASKS",
                                    "SLURM_LOCALID",
                                    "SLURM_NTASKS_PER_NODE",
                                    "SLURM_STEP_ID",
                                    "SLURM_NODEID",
                                    "SLURM_STEP_TASKS_PER_NODE",
                                    "SLURM_TASKS_PER_NODE",
                                    "SLURM_JOB_NODELIST"};

/* Only these: "NAME=value NAME=value". */
static void set_only(const char *variables) {
  char text[512];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
  snprintf(text, sizeof text, "%s", variables);
  for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
    char *equals = strchr(at, '=');
    *equals = '\0';
    setenv(at, equals + 1, 1);
  }
}

static void good(const char *variables, int rank, int world, int local_rank, int local_world, const char *host,
                 int port) {
  struct sl_cuda_place p;
  set_only(variables);
  sl_error_clear();
  if (sl_cuda_place_read(&p) != SL_OK) fail_msg("%s: %s", variables, sl_error_message());
  assert_int_equal(p.rank, rank);
  assert_int_equal(p.world, world);
  assert_int_equal(p.local_rank, local_rank);
  assert_int_equal(p.local_world, local_world);
  assert_string_equal(p.host, host);
  if (world > 1) assert_int_equal(p.port, port);
}

static void bad(const char *variables, const char *word) {
  struct sl_cuda_place p;
  set_only(variables);
  sl_error_clear();
  assert_int_equal(sl_cuda_place_read(&p), SL_ERR_INPUT);
  if (!strstr(sl_error_message(), word)) fail_msg("%s: \"%s\" lacks \"%s\"", variables, sl_error_message(), word);
}

static void launchers_are_read_in_their_order(void **state) {
  (void)state;
  good("", 0, 1, 0, 1, "", 0);
  good("RANK=5 WORLD_SIZE=7 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 MASTER_ADDR=gpu3 MASTER_PORT=23457", 5, 7, 1, 4, "gpu3",
       23457);
  good("RANK=2 WORLD_SIZE=3", 2, 3, 2, 3, "127.0.0.1", 29500);
  good("RANK=0 WORLD_SIZE=1 MASTER_ADDR=elsewhere", 0, 1, 0, 1, "", 0);
  good("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=3 "
       "NCCL_COMM_ID=10.1.2.3:4711",
       3, 6, 0, 3, "10.1.2.3", 4712);
  good("SLURM_STEP_ID=0 SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=8 "
       "SLURM_JOB_NODELIST=gpu[007-008]",
       9, 16, 1, 8, "gpu007", 29500);
  good("SLURM_STEP_ID=12 SLURM_PROCID=17 SLURM_NTASKS=20 SLURM_LOCALID=1 SLURM_NODEID=2 "
       "SLURM_STEP_TASKS_PER_NODE=8(x2),4 "
       "SLURM_TASKS_PER_NODE=20 SLURM_JOB_NODELIST=a,b,c",
       17, 20, 1, 4, "a", 29500);
  good("SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=6 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_TASKS_PER_NODE=3(x2) "
       "SLURM_JOB_NODELIST=n[4,9]",
       3, 6, 0, 3, "n4", 29500);
  /* srun's PMI plugin says the rank too, but not which of the node's it is */
  good("PMI_RANK=9 PMI_SIZE=16 SLURM_STEP_ID=0 SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=8 "
       "MASTER_ADDR=b",
       9, 16, 1, 8, "b", 29500);
  good("RANK=1 WORLD_SIZE=2 SLURM_PROCID=9 SLURM_NTASKS=16", 1, 2, 1, 2, "127.0.0.1", 29500);
  good("RANK=1 WORLD_SIZE=2 NCCL_COMM_ID=[fe80::1]:65535", 1, 2, 1, 2, "fe80::1", 65534);
}

/* Slurm says the tasks of the job in its script, which is none of them, and in an interactive shell. */
static void only_what_srun_starts_is_a_task(void **state) {
  (void)state;
  good("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_JOB_NODELIST=a,b", 0, 1, 0, 1, "", 0);
  good("SLURM_STEP_ID= SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0", 0, 1, 0, 1, "", 0);
  good("SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0", 0, 1, 0, 1, "", 0);
  good("SLURM_STEP_ID=7 SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_LOCALID=2", 2, 4, 2, 4, "127.0.0.1", 29500);
}

static void bad_values_are_named(void **state) {
  (void)state;
  bad("RANK=1", "WORLD_SIZE");
  bad("RANK=3 WORLD_SIZE=3", "RANK=\"3\"");
  bad("RANK=-1 WORLD_SIZE=3", "RANK=\"-1\"");
  bad("RANK=1x WORLD_SIZE=3", "RANK=\"1x\"");
  bad("RANK=0 WORLD_SIZE=0", "WORLD_SIZE=\"0\"");
  bad("RANK=0 WORLD_SIZE=99999999999999999999", "WORLD_SIZE");
  bad("RANK=1 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "LOCAL_RANK=\"2\"");
  bad("RANK=1 WORLD_SIZE=4 LOCAL_RANK=4", "LOCAL_RANK=\"4\"");
  bad("RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2", "MASTER_ADDR");
  bad("RANK=1 WORLD_SIZE=4 MASTER_PORT=0", "MASTER_PORT=\"0\"");
  bad("RANK=1 WORLD_SIZE=4 MASTER_PORT=65536", "MASTER_PORT=\"65536\"");
  bad("RANK=1 WORLD_SIZE=2 NCCL_COMM_ID=host", "NCCL_COMM_ID=\"host\"");
  bad("SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_NODELIST=gpu[",
      "SLURM_JOB_NODELIST");
}

static void tasks_of_a_node(void **state) {
  (void)state;
  static const struct {
    const char *list;
    int node, tasks;
  } good_lists[] = {{"3", 0, 3}, {"8(x2),4", 0, 8}, {"8(x2),4", 1, 8}, {"8(x2),4", 2, 4}, {"1,2(x3),7", 4, 7}},
    bad_lists[] = {{"", 0, 0},  {"3", 1, 0}, {"8(x2),4", 3, 0}, {"8(x2", 1, 0}, {"8(x0)", 0, 0},
                   {"x", 0, 0}, {"0", 0, 0}, {"8(2)", 1, 0},    {"8,,4", 1, 0}, {"99999999999999999999", 0, 0}};
  int tasks;
  for (size_t i = 0; i < sizeof good_lists / sizeof *good_lists; i++) {
    assert_int_equal(sl_cuda_place_tasks("X", good_lists[i].list, good_lists[i].node, &tasks), SL_OK);
    assert_int_equal(tasks, good_lists[i].tasks);
  }
  for (size_t i = 0; i < sizeof bad_lists / sizeof *bad_lists; i++) {
    sl_error_clear();
    if (sl_cuda_place_tasks("X", bad_lists[i].list, bad_lists[i].node, &tasks) != SL_ERR_INPUT)
      fail_msg("\"%s\" at %d", bad_lists[i].list, bad_lists[i].node);
  }
}

static void addresses_split_at_the_port(void **state) {
  (void)state;
  static const char *const wrong[] = {"",     ":",     "h:",    ":1",     "h:0", "h:65536",
                                      "h:7x", "a:b:7", "[::1]", "[::1]7", "[]:7"};
  char host[16];
  int port;
  assert_int_equal(sl_cuda_place_address("X", "node-1.lan:81", host, sizeof host, &port), SL_OK);
  assert_string_equal(host, "node-1.lan");
  assert_int_equal(port, 81);
  assert_int_equal(sl_cuda_place_address("X", "[::1]:65535", host, sizeof host, &port), SL_OK);
  assert_string_equal(host, "::1");
  assert_int_equal(port, 65535);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sl_error_clear();
    if (sl_cuda_place_address("X", wrong[i], host, sizeof host, &port) != SL_ERR_INPUT) fail_msg("\"%s\"", wrong[i]);
  }
  sl_error_clear();
  assert_int_equal(sl_cuda_place_address("X", "a-name-too-long-for-it:81", host, sizeof host, &port), SL_ERR_INPUT);
}

static void the_first_node_of_a_list(void **state) {
  (void)state;
  static const char *const lists[][2] = {{"solo", "solo"}, {"a1,b2", "a1"}, {"gpu[003-010,12],login1", "gpu003"},
                                         {"n[7]", "n7"},   {"", NULL},      {",a", NULL},
                                         {"n[", NULL},     {"n[x]", NULL},  {"n[3", NULL}};
  char host[32];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    sl_error_clear();
    const enum sl_status status = sl_cuda_place_first_node(lists[i][0], host, sizeof host);
    assert_int_equal(status, lists[i][1] ? SL_OK : SL_ERR_INPUT);
    if (lists[i][1]) assert_string_equal(host, lists[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launchers_are_read_in_their_order),
      cmocka_unit_test(only_what_srun_starts_is_a_task),
      cmocka_unit_test(bad_values_are_named),
      cmocka_unit_test(tasks_of_a_node),
      cmocka_unit_test(addresses_split_at_the_port),
      cmocka_unit_test(the_first_node_of_a_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
