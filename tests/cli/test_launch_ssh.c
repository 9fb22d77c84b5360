/* label: unit
   libs: cli */
/* A node that cannot be started leaves nothing open: a job that is started again and again would run out of it. */
#include "cli/children.h"
#include "cli/launch_ssh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OPEN = 256, ENDS = 4 }; /* ends of the two pipes of a node */

static bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

static int count_open(void) {
  int count = 0;
  for (int fd = 0; fd < MOST_OPEN; fd++) count += is_open(fd);
  return count;
}

/* Only `more` further files may be opened. */
static void leave(int more) {
  struct rlimit limit;
  int fd = 0;
  for (; more >= 0; fd++) more -= !is_open(fd);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = (rlim_t)fd - 1;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void a_node_without_pipes_leaves_none(void **state) {
  (void)state;
  static char *nothing[] = {NULL};
  char folder[] = "launch_ssh_XXXXXX", path[64];
  struct sl_hosts hosts;
  struct rlimit before;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/ssh", folder);
  FILE *ssh = fopen(path, "w");
  assert_non_null(ssh);
  fputs("#!/bin/sh\n", ssh);
  assert_int_equal(fclose(ssh), 0);
  assert_int_equal(chmod(path, 0700), 0);
  char *folder_path = realpath(folder, NULL);
  assert_non_null(folder_path);
  assert_int_equal(setenv("PATH", folder_path, 1), 0);
  free(folder_path);
  assert_int_equal(sl_hosts_one(&hosts, "worker-0", 1), SL_OK);
  assert_int_equal(sl_children_open(), SL_OK);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int open = count_open();
  for (int ends = 0; ends <= ENDS; ends++) {
    const struct sl_remote remote = {.hosts = &hosts,
                                     .program = "/bin/shardlab",
                                     .folder = "/",
                                     .arguments = nothing,
                                     .environment = nothing,
                                     .master_addr = "10.0.0.1",
                                     .master_port = 29500};
    struct sl_ended ended = {0};
    leave(ends);
    const enum sl_status status = sl_launch_ssh(&remote, &ended);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, ends < ENDS ? SL_ERR_IO : SL_OK);
    assert_int_equal(count_open(), open);
  }
  sl_children_close();
  sl_hosts_free(&hosts);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_node_without_pipes_leaves_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
