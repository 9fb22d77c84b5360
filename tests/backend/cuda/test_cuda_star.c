/* label: unit
   libs: cuda_plain
 * How ranks connect over TCP: exchanges, agreement, a peer that dies, one that gives its reason, strangers, limits, a node
 * with two addresses. */
#include "backend/cuda/comm/rendezvous.h"
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

static int free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  close(fd);
  return ntohs(at.sin_port);
}

static struct sockaddr_in here(int port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
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

/* Rank 0 reads what ranks send in their order: rank 1, which is late, does not hide how rank 2 ends. */
static int late_body(struct sl_star *star) {
  int mine = star->rank, all[8];
  if (star->rank == 1) return nap(2500), 0;
  if (star->rank == 2) {
    sl_star_abort(star, "all_reduce of group tp timed out");
    nap(200);
    return 0;
  }
  const double began = sl_machine_clock();
  if (sl_star_exchange(star, &mine, sizeof mine, all) != SL_ERR_PEER) return 1;
  if (sl_machine_clock() - began > 2) return 2;
  return strstr(sl_error_message(), "rank 2 ended the job: all_reduce of group tp") ? 0 : 3;
}

static void an_end_is_heard_in_an_exchange(void **state) {
  (void)state;
  int codes[8];
  run_world(3, late_body, codes);
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
  struct sockaddr_in at = here(port);
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
    struct sockaddr_in at = here(port);
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

/* Somebody else's connection is turned away, and the ranks connect all the same. */
static void a_stranger_is_turned_away(void **state) {
  (void)state;
  const int port = free_port();
  fflush(NULL);
  const pid_t peer = fork();
  if (peer == 0) {
    struct sockaddr_in at = here(port);
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
static enum sl_status connect_apart(bool spread, double limit_s) {
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
  if (connect_apart(true, 10) != SL_OK) fail_msg("%s", sl_error_message());
  assert_int_equal(connect_apart(false, 0.5), SL_ERR_PEER); /* on one node nobody else is to reach it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exchanges_arrive_in_rank_order),
      cmocka_unit_test(the_lowest_failure_is_everybodys),
      cmocka_unit_test(a_dead_peer_is_named_everywhere),
      cmocka_unit_test(an_end_carries_its_reason),
      cmocka_unit_test(an_end_is_heard_in_an_exchange),
      cmocka_unit_test(a_world_that_never_comes_is_given_up),
      cmocka_unit_test(a_stranger_is_turned_away),
      cmocka_unit_test(nobody_waits_longer_than_the_limit),
      cmocka_unit_test(no_rank_is_beyond_the_world),
      cmocka_unit_test(too_few_files_are_named),
      cmocka_unit_test(rank_0_hears_other_nodes_at_every_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
