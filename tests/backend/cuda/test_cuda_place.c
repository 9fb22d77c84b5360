/* label: unit
   libs: cuda_plain
 * Where a process stands, from the launchers' variables, good and bad; and how ranks meet over TCP: exchanges, agreement,
 * a peer that dies, one that gives its reason, strangers, a node with two addresses. */
#include "backend/cuda/comm/rendezvous.h"
#include "backend/cuda/place.h"
#include "core/base/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the environment ---- */

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
  good("SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=8 SLURM_JOB_NODELIST=gpu[007-008]", 9, 16,
       1, 8, "gpu007", 29500);
  good("SLURM_PROCID=17 SLURM_NTASKS=20 SLURM_LOCALID=1 SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=8(x2),4 "
       "SLURM_TASKS_PER_NODE=20 SLURM_JOB_NODELIST=a,b,c",
       17, 20, 1, 4, "a", 29500);
  good("SLURM_PROCID=3 SLURM_NTASKS=6 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_TASKS_PER_NODE=3(x2) "
       "SLURM_JOB_NODELIST=n[4,9]",
       3, 6, 0, 3, "n4", 29500);
  /* srun's PMI plugin says the rank too, but not which of the node's it is */
  good("PMI_RANK=9 PMI_SIZE=16 SLURM_PROCID=9 SLURM_NTASKS=16 SLURM_LOCALID=1 SLURM_NTASKS_PER_NODE=8 MASTER_ADDR=b", 9,
       16, 1, 8, "b", 29500);
  good("RANK=1 WORLD_SIZE=2 SLURM_PROCID=9 SLURM_NTASKS=16", 1, 2, 1, 2, "127.0.0.1", 29500);
  good("RANK=1 WORLD_SIZE=2 NCCL_COMM_ID=[fe80::1]:65535", 1, 2, 1, 2, "fe80::1", 65534);
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
  bad("SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_NODELIST=gpu[", "SLURM_JOB_NODELIST");
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

/* ---- the star ---- */

static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  close(fd);
  return ntohs(at.sin_port);
}

static void nap(int ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* Run `body` as every rank of `world`, in processes; their exit codes. A rank that dies gives 128 + the signal. */
static void run_world(int world, int (*body)(struct sl_star *), int *codes) {
  pid_t pids[8];
  const int port = free_port();
  fflush(NULL);
  for (int rank = 0; rank < world; rank++) {
    pids[rank] = fork();
    if (pids[rank] != 0) continue;
    struct sl_star star;
    alarm(20);
    sl_error_clear();
    if (sl_star_open(&star, rank, world, false, "127.0.0.1", port, 5) != SL_OK) {
      fprintf(stderr, "rank %d: %s\n", rank, sl_error_message());
      _exit(99);
    }
    const int code = body(&star);
    sl_star_close(&star);
    _exit(code);
  }
  for (int rank = 0; rank < world; rank++) {
    int how;
    waitpid(pids[rank], &how, 0);
    codes[rank] = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  }
}

static int exchange_body(struct sl_star *star) {
  for (int round = 0; round < 3; round++) {
    int mine[5], all[8 * 5];
    for (int i = 0; i < 5; i++) mine[i] = 1000 * round + 10 * star->rank + i;
    if (sl_star_exchange(star, mine, sizeof mine, all) != SL_OK) return 1;
    for (int i = 0; i < 5 * star->world; i++)
      if (all[i] != 1000 * round + 10 * (i / 5) + i % 5) return 2;
    if (round < 2 && sl_star_watch(star) != SL_OK) return 3; /* after the last one a peer may be gone in good order */
  }
  return 0;
}

static void exchanges_arrive_in_rank_order(void **state) {
  (void)state;
  static const int worlds[] = {1, 2, 5};
  for (size_t w = 0; w < 3; w++) {
    int codes[8];
    run_world(worlds[w], exchange_body, codes);
    for (int i = 0; i < worlds[w]; i++) assert_int_equal(codes[i], 0);
  }
}

static int agree_body(struct sl_star *star) {
  int culprit;
  if (sl_star_agree(star, SL_OK, &culprit) != SL_OK) return 1;
  enum sl_status mine = SL_OK;
  if (star->rank >= 2) mine = sl_fail(SL_ERR_INPUT, "rank %d has no disk", star->rank);
  if (sl_star_agree(star, mine, &culprit) != SL_ERR_INPUT || culprit != 2) return 2;
  return strstr(sl_error_message(), "rank 2 has no disk") ? 0 : 3; /* rank 3's own message too gives way */
}

static void the_lowest_failure_is_everybodys(void **state) {
  (void)state;
  int codes[8];
  run_world(4, agree_body, codes);
  for (int i = 0; i < 4; i++) assert_int_equal(codes[i], 0);
}

/* Wait until the star says that somebody is gone; the seconds that took. */
static double wait_for_end(struct sl_star *star) {
  for (int ms = 0; ms < 4000; ms += 10) {
    if (sl_star_watch(star) != SL_OK) return ms / 1000.0;
    nap(10);
  }
  return 99;
}

static int killed_body(struct sl_star *star) {
  if (star->rank == 2) {
    nap(100);
    raise(SIGKILL);
  }
  if (wait_for_end(star) > 3) return 1;
  if (star->rank != 0) return strstr(sl_error_message(), "rank 2 is gone") ? 0 : 2;
  char said[256];
  snprintf(said, sizeof said, "%s", sl_error_message());
  sl_star_abort(star, said); /* only rank 0 sees the connection end; it tells the others */
  return strstr(said, "rank 2 is gone") ? 0 : 3;
}

static void a_dead_peer_is_named_everywhere(void **state) {
  (void)state;
  int codes[8];
  run_world(4, killed_body, codes);
  assert_int_equal(codes[2], 128 + SIGKILL);
  for (int i = 0; i < 4; i++)
    if (i != 2) assert_int_equal(codes[i], 0);
}

static int abort_body(struct sl_star *star) {
  if (star->rank == 1) {
    sl_star_abort(star, "all_reduce of group tp timed out");
    nap(200);
    return 0;
  }
  if (star->rank == 2) return nap(1000), 0; /* busy elsewhere */
  if (wait_for_end(star) > 3) return 1;
  return strstr(sl_error_message(), "rank 1 ended the job: all_reduce of group tp") ? 0 : 2;
}

static void an_end_carries_its_reason(void **state) {
  (void)state;
  int codes[8];
  run_world(3, abort_body, codes);
  for (int i = 0; i < 3; i++) assert_int_equal(codes[i], 0);
}

static void a_world_that_never_comes_is_given_up(void **state) {
  (void)state;
  struct sl_star star;
  sl_error_clear();
  assert_int_equal(sl_star_open(&star, 0, 3, false, "127.0.0.1", free_port(), 0.3), SL_ERR_PEER);
  assert_non_null(strstr(sl_error_message(), "2 of 3 ranks did not come"));
  sl_error_clear();
  assert_int_equal(sl_star_open(&star, 2, 3, false, "127.0.0.1", free_port(), 0.3), SL_ERR_PEER);
  assert_non_null(strstr(sl_error_message(), "rank 0 did not answer"));
}

/* Where packets to rank 0 are dropped, as at a full backlog, the limit holds all the same. */
static void nobody_waits_longer_than_the_limit(void **state) {
  (void)state;
  const int port = free_port(), listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
  int callers[4];
  struct sl_star star;
  assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(listen(listener, 0), 0);
  for (int i = 0; i < 4; i++) { /* nobody accepts them */
    callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(callers[i], (struct sockaddr *)&at, sizeof at);
  }
  nap(50);
  sl_error_clear();
  const double began = sl_machine_clock();
  assert_int_equal(sl_star_open(&star, 1, 2, false, "127.0.0.1", port, 0.5), SL_ERR_PEER);
  assert_true(sl_machine_clock() - began < 5);
  assert_non_null(strstr(sl_error_message(), "rank 0 did not answer"));
  for (int i = 0; i < 4; i++) close(callers[i]);
  close(listener);
}

/* A caller that gives itself a rank beyond any world is refused. */
static void no_rank_is_beyond_the_world(void **state) {
  (void)state;
  const uint32_t hello[] = {0x736c6162, 1, 0, 8, UINT32_C(1) << 31, 2};
  const int port = free_port();
  fflush(NULL);
  const pid_t peer = fork();
  if (peer == 0) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    alarm(20);
    while (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) nap(10);
    _exit(write(fd, hello, sizeof hello) == sizeof hello ? 0 : 1);
  }
  struct sl_star star;
  int how;
  sl_error_clear();
  assert_int_equal(sl_star_open(&star, 0, 2, false, "127.0.0.1", port, 5), SL_ERR_PEER);
  assert_string_equal(sl_error_message(), "a process that calls itself rank 2147483648 of 2 has no such rank; expected "
                                          "the other ranks of a world of 2");
  waitpid(peer, &how, 0);
}

/* Where rank 0 may open no more files, it says so at once. */
static void too_few_files_are_named(void **state) {
  (void)state;
  const int port = free_port();
  sl_error_clear();
  fflush(NULL);
  const pid_t root = fork();
  if (root == 0) {
    struct sl_star star;
    const int next = dup(0);
    const struct rlimit files = {(rlim_t)next + 2, (rlim_t)next + 2}; /* the listening socket and one more */
    close(next);
    alarm(20);
    setrlimit(RLIMIT_NOFILE, &files);
    const enum sl_status status = sl_star_open(&star, 0, 4, false, "127.0.0.1", port, 10);
    _exit(status == SL_ERR_PEER && strstr(sl_error_message(), "rank 0 cannot accept the call of a rank, 1 of 3") ? 0
                                                                                                                 : 1);
  }
  pid_t others[3];
  for (int i = 0; i < 3; i++) {
    others[i] = fork();
    if (others[i] != 0) continue;
    struct sl_star star;
    alarm(20);
    _exit(sl_star_open(&star, i + 1, 4, false, "127.0.0.1", port, 5) == SL_OK);
  }
  int how;
  waitpid(root, &how, 0);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
  for (int i = 0; i < 3; i++) waitpid(others[i], &how, 0);
}

/* Somebody else's connection is turned away, and the ranks meet all the same. */
static void a_stranger_is_turned_away(void **state) {
  (void)state;
  const int port = free_port();
  fflush(NULL);
  const pid_t peer = fork();
  if (peer == 0) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    struct sl_star star;
    alarm(20);
    sl_error_clear();
    for (int tries = 0; tries < 200; tries++, nap(10)) {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 && write(fd, "GET / HTTP/1.0\r\n\r\n", 18) == 18) break;
      close(fd);
    }
    _exit(sl_star_open(&star, 1, 2, false, "127.0.0.1", port, 5) == SL_OK ? 0 : 1);
  }
  struct sl_star star;
  int how;
  sl_error_clear();
  if (sl_star_open(&star, 0, 2, false, "127.0.0.1", port, 5) != SL_OK) fail_msg("%s", sl_error_message());
  waitpid(peer, &how, 0);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  sl_star_close(&star);
}

/* Rank 0 takes the meeting point for one address of its own, and rank 1 for another, as where a node's hosts file calls
 * itself 127.0.1.1. */
static enum sl_status meet_apart(bool spread, double limit_s) {
  const int port = free_port();
  struct sl_star star;
  int how;
  fflush(NULL);
  const pid_t peer = fork();
  sl_error_clear();
  if (peer == 0) {
    alarm(20);
    _exit(sl_star_open(&star, 1, 2, spread, "127.0.0.1", port, limit_s) == SL_OK ? 0 : 1);
  }
  const enum sl_status status = sl_star_open(&star, 0, 2, spread, "127.0.1.1", port, limit_s);
  waitpid(peer, &how, 0);
  assert_int_equal(WIFEXITED(how) ? WEXITSTATUS(how) : 128, status == SL_OK ? 0 : 1);
  sl_star_close(&star);
  return status;
}

static void rank_0_hears_other_nodes_at_every_address(void **state) {
  (void)state;
  if (meet_apart(true, 10) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(meet_apart(false, 0.5), SL_ERR_PEER); /* on one node nobody else is to reach it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(launchers_are_read_in_their_order),
      cmocka_unit_test(bad_values_are_named),
      cmocka_unit_test(tasks_of_a_node),
      cmocka_unit_test(addresses_split_at_the_port),
      cmocka_unit_test(the_first_node_of_a_list),
      cmocka_unit_test(exchanges_arrive_in_rank_order),
      cmocka_unit_test(the_lowest_failure_is_everybodys),
      cmocka_unit_test(a_dead_peer_is_named_everywhere),
      cmocka_unit_test(an_end_carries_its_reason),
      cmocka_unit_test(a_world_that_never_comes_is_given_up),
      cmocka_unit_test(a_stranger_is_turned_away),
      cmocka_unit_test(nobody_waits_longer_than_the_limit),
      cmocka_unit_test(no_rank_is_beyond_the_world),
      cmocka_unit_test(too_few_files_are_named),
      cmocka_unit_test(rank_0_hears_other_nodes_at_every_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
