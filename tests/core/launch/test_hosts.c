/* label: unit
 * Hostfiles and selections: the cases of DeepSpeed's own tests (tests/unit/launcher/test_run.py), and what those leave
 * open. */
#include "core/launch/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What becomes of a pool, as sl_hosts_print has it; NULL: refused. */
static void check(const char *pool, const char *include, const char *exclude, const char *want) {
  struct sl_hosts hosts;
  sl_error_clear();
  assert_int_equal(sl_hosts_parse(&hosts, "hosts", pool, strlen(pool)), SL_OK);
  const enum sl_status status = sl_hosts_select(&hosts, include, exclude);
  if (status != (want != NULL ? SL_OK : SL_ERR_INPUT))
    fail_msg("-i %s -e %s: status %d, %s", include ? include : "", exclude ? exclude : "", (int)status,
             sl_error_message());
  if (want != NULL) {
    char *text = sl_hosts_print(&hosts);
    assert_string_equal(text, want);
    free(text);
  }
  sl_hosts_free(&hosts);
}

static void one_node(void **state) {
  static const char pool[] = "worker-0 slots=4\n";
  (void)state;
  check(pool, NULL, NULL, "worker-0:0,1,2,3");
  check(pool, NULL, "worker-0:1", "worker-0:0,2,3");
  check(pool, NULL, "worker-0:1,2", "worker-0:0,3");
  check(pool, "worker-0:1", NULL, "worker-0:1");
  check(pool, "worker-0:1,1", NULL, "worker-0:1");
  check(pool, "worker-0:1@worker-0:0,1", NULL, "worker-0:0,1");
  check(pool, "worker-0", NULL, "worker-0:0,1,2,3");
  check(pool, "worker-0@worker-0:2", NULL, "worker-0:2");
  /* DeepSpeed's lists become empty, and its launcher then fails for want of a first host */
  check(pool, NULL, "worker-0", NULL);
  check(pool, NULL, "worker-0:0,1,2,3", NULL);
}

static void two_nodes(void **state) {
  static const char pool[] = "worker-0 slots=4\nworker-1 slots=4";
  (void)state;
  check(pool, NULL, NULL, "worker-0:0,1,2,3@worker-1:0,1,2,3");
  check(pool, "worker-1:0,3", NULL, "worker-1:0,3");
  check(pool, NULL, "worker-1", "worker-0:0,1,2,3");
  check(pool, NULL, "worker-0:0,1@worker-1:3", "worker-0:2,3@worker-1:0,1,2");
  check(pool, "worker-0@worker-1:0,2", NULL, "worker-0:0,1,2,3@worker-1:0,2"); /* of its --help */
  check(pool, "worker-1:2,0@worker-0:3", NULL, "worker-0:3@worker-1:0,2");     /* in the hostfile's order */
  check(pool, "worker-1: 2, 0 @worker-0:3", NULL, "worker-0:3@worker-1:0,2");  /* as int() takes numbers */
}

static void wrong_selections(void **state) {
  static const char pool[] = "worker-0 slots=4\nworker-1 slots=4\n";
  static const char *const cases[] = {"jeff",
                                      "worker-1:4",
                                      "worker-1@worker-0:1@5",
                                      "",
                                      "worker-0:",
                                      "worker-0:1,",
                                      "worker-0:a",
                                      "worker-0:1:2",
                                      "worker-0:-1",
                                      "worker-0: ",
                                      "@worker-0",
                                      "worker-0@",
                                      "worker-",
                                      "worker-0:0x1",
                                      "WORKER-0",
                                      "worker-0:99999999999999999999",
                                      " worker-0",
                                      "worker-0,worker-1"};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check(pool, cases[i], NULL, NULL);
    check(pool, NULL, cases[i], NULL);
  }
  check(pool, "worker-0", "worker-1", NULL); /* both */
}

static void good_hostfiles(void **state) {
  static const struct {
    const char *text, *want;
  } cases[] = {{"\n    worker-1 slots=2\n    worker-2 slots=2\n\n    localhost slots=1\n    123.23.12.10 slots=2\n\n"
                "    #worker-1 slots=3\n    # this is a comment\n\n    ",
                "worker-1:0,1@worker-2:0,1@localhost:0@123.23.12.10:0,1"},
               {"a \t slots=1", "a:0"},
               {"a slots=1\r\nb slots=2 max_slots=8\r\n", "a:0@b:0,1"},
               {"a slots=0\nb slots=1 # two are broken\n", "b:0"},
               {"a slots=007\n", "a:0,1,2,3,4,5,6"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(cases[i].text, NULL, NULL, cases[i].want);
}

/* Names are kept in a table that grows: of many hosts, every one is known again. */
static void many_hosts_and_one_twice(void **state) {
  (void)state;
  enum { HOSTS = 300, LINE = 24 };
  static char text[HOSTS * LINE + LINE];
  struct sl_hosts hosts;
  char message[80];
  size_t size = 0;
  for (int i = 0; i < HOSTS; i++) size += (size_t)sprintf(text + size, "node%d slots=2\n", i);
  assert_int_equal(sl_hosts_parse(&hosts, "hosts", text, size), SL_OK);
  assert_int_equal(sl_hosts_ranks(&hosts), 2 * HOSTS);
  sl_hosts_free(&hosts);
  for (int again = 0; again < HOSTS; again += 13) {
    const int more = sprintf(text + size, "node%d slots=1\n", again);
    sl_error_clear();
    assert_int_equal(sl_hosts_parse(&hosts, "hosts", text, size + (size_t)more), SL_ERR_INPUT);
    snprintf(message, sizeof message, "hosts:%d: Hostfile contains multiple entries for node%d,", HOSTS + 1, again);
    assert_non_null(strstr(sl_error_message(), message));
  }
  sl_error_clear();
}

static void bad_hostfiles(void **state) {
  static const struct {
    const char *text, *message; /* its beginning */
  } cases[] = {{"worker-1 slots=2\nworker-2 slots=1\nworker-1 slots=1\n",
                "hosts:3: Hostfile contains multiple entries for worker-1, "},
               {"\n    this is bad slots=1\n", "hosts:2: Hostfile contains a bad entry: this is bad slots=1, "},
               {"missingslots", "hosts:1: Hostfile contains a bad entry: missingslots, "},
               {"", "hosts: Hostfile is empty or not formatted correctly, "},
               {"\n # nothing\n", "hosts: Hostfile is empty or not formatted correctly, "},
               {"worker-1 slots=2\nthis is bad slots=1\nworker-2 slots=4\nmissingslots\n",
                "hosts:2: Hostfile contains a bad entry: "},
               {"a slots=\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=x\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=-1\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=2x\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots = 2\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a Slots=2\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=99999999999999999999\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=1048577\n", "hosts:1: Hostfile contains a bad entry: "},
               {"a slots=1048576\nb slots=1\n", "hosts:2: the hosts have 1048577 slots so far; "},
               {"-oProxyCommand=x slots=1\n", "hosts:1: host '-oProxyCommand=x': "}, /* would be ssh's flag */
               {"a;b slots=1\n", "hosts:1: host 'a;b': "},
               {"$(x) slots=1\n", "hosts:1: host '$(x)': "},
               {"a\001 slots=1\n", "hosts:1: host 'a\\u0001': "}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_hosts hosts;
    sl_error_clear();
    assert_int_equal(sl_hosts_parse(&hosts, "hosts", cases[i].text, strlen(cases[i].text)), SL_ERR_INPUT);
    if (strncmp(sl_error_message(), cases[i].message, strlen(cases[i].message)) != 0)
      fail_msg("said: %s\nnot:  %s", sl_error_message(), cases[i].message);
    assert_null(hosts.list);
  }
  struct sl_hosts hosts;
  assert_int_equal(sl_hosts_parse(&hosts, "hosts", "a\0b slots=1", 11), SL_ERR_INPUT);
}

static void first_of_all(void **state) {
  static const struct {
    int nodes, slots;
    const char *want;
  } cases[] = {{0, 0, "a:0,1@b:0,1,2@c:0,1,2,3"},
               {2, 0, "a:0,1@b:0,1,2"},
               {0, 1, "a:0@b:0@c:0"},
               {1, 2, "a:0,1"},
               {3, 2, "a:0,1@b:0,1@c:0,1"},
               {4, 0, NULL},
               {0, 3, NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sl_hosts hosts;
    static const char pool[] = "a slots=2\nb slots=3\nc slots=4\n";
    assert_int_equal(sl_hosts_parse(&hosts, "hosts", pool, sizeof pool - 1), SL_OK);
    sl_error_clear();
    assert_int_equal(sl_hosts_first(&hosts, cases[i].nodes, cases[i].slots), cases[i].want ? SL_OK : SL_ERR_INPUT);
    char *text = sl_hosts_print(&hosts);
    if (cases[i].want != NULL) assert_string_equal(text, cases[i].want);
    free(text);
    sl_hosts_free(&hosts);
  }
}

static void ranks_and_lists(void **state) {
  static const char *const wrong[] = {"",     "a",    "a:",  "a:1,0",  "a:0,0", "a:0@a:1",
                                      "a:0@", "-a:0", "a:x", "a:0,,1", "a:0:1"};
  struct sl_hosts hosts;
  (void)state;
  assert_int_equal(sl_hosts_read(&hosts, "hosts", "a:1,3@b:0@c.d:2,5,7"), SL_OK);
  assert_int_equal(sl_hosts_ranks(&hosts), 6);
  assert_int_equal(sl_hosts_first_rank(&hosts, 0), 0);
  assert_int_equal(sl_hosts_first_rank(&hosts, 1), 2);
  assert_int_equal(sl_hosts_first_rank(&hosts, 2), 3);
  char *text = sl_hosts_print(&hosts), *slots = sl_host_slots(&hosts.list[2]);
  assert_string_equal(text, "a:1,3@b:0@c.d:2,5,7");
  assert_string_equal(slots, "2,5,7");
  free(text);
  free(slots);
  sl_hosts_free(&hosts);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sl_error_clear();
    if (sl_hosts_read(&hosts, "hosts", wrong[i]) != SL_ERR_INPUT) fail_msg("'%s' was read", wrong[i]);
    assert_null(hosts.list);
  }
}

/* `name`, or where that is NULL the slot of `rank`, is gone, and of what is left `ranks` are taken. */
static void check_left(const char *name, int rank, int ranks, const char *want) {
  struct sl_hosts all, left;
  assert_int_equal(sl_hosts_read(&all, "hosts", "a:1,3@b:0@c:2,5,7"), SL_OK);
  assert_int_equal(sl_hosts_copy(&left, &all), SL_OK);
  if (name != NULL)
    sl_hosts_without(&left, name);
  else
    sl_hosts_without_rank(&left, rank);
  sl_hosts_cut(&left, ranks);
  char *text = sl_hosts_print(&left), *before = sl_hosts_print(&all);
  assert_string_equal(text, want);
  assert_string_equal(before, "a:1,3@b:0@c:2,5,7");
  free(text);
  free(before);
  sl_hosts_free(&left);
  sl_hosts_free(&all);
}

static void what_is_left(void **state) {
  struct sl_hosts none = {0}, copy;
  (void)state;
  check_left("b", 0, 5, "a:1,3@c:2,5,7");
  check_left("a", 0, 3, "b:0@c:2,5");
  check_left("d", 0, 6, "a:1,3@b:0@c:2,5,7");
  check_left(NULL, 0, 5, "a:3@b:0@c:2,5,7");
  check_left(NULL, 2, 5, "a:1,3@c:2,5,7");
  check_left(NULL, 4, 4, "a:1,3@b:0@c:2");
  check_left(NULL, 5, 2, "a:1,3");
  check_left(NULL, 6, 1, "a:1");
  check_left("c", 0, 2, "a:1,3");
  assert_int_equal(sl_hosts_copy(&copy, &none), SL_OK);
  assert_int_equal(copy.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_node),       cmocka_unit_test(two_nodes),       cmocka_unit_test(wrong_selections),
      cmocka_unit_test(good_hostfiles), cmocka_unit_test(bad_hostfiles),   cmocka_unit_test(many_hosts_and_one_twice),
      cmocka_unit_test(first_of_all),   cmocka_unit_test(ranks_and_lists), cmocka_unit_test(what_is_left)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
