/* label: unit
   libs: cuda_plain
 * Choices kept on disk: found again, made once by several processes at a time, and what is damaged, foreign or somebody
 * else's. */
#include "backend/cuda/choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_choices.XXXXXX", path[512];

static int begin(void **state) {
  (void)state;
  strcpy(folder + sizeof folder - 7, "XXXXXX");
  if (!mkdtemp(folder)) return -1;
  return setenv("SHARDLAB_CACHE", folder, 1);
}

/* The path of the only file, which is then in `path`. */
static const char *the_file(void) {
  DIR *d = opendir(folder);
  assert_non_null(d);
  path[0] = 0;
  for (const struct dirent *e; (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
  closedir(d);
  assert_int_not_equal(path[0], 0);
  return path;
}

static int end(void **state) {
  (void)state;
  DIR *d = opendir(folder);
  for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.') snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name), unlink(path);
  closedir(d);
  return rmdir(folder);
}

static struct sl_choices *opened(const char *about) {
  struct sl_choices *c;
  assert_int_equal(sl_choices_open(&c, about), SL_OK);
  return c;
}

/* The number kept for a key; -1: there is none, and `number`, unless it is -1, is kept from now on. */
static int64_t asked(struct sl_choices *c, int64_t key, int64_t number) {
  int64_t kept = -1;
  bool made;
  assert_int_equal(sl_choices_begin(c, &key, sizeof key, &kept, sizeof kept, &made), SL_OK);
  if (made) return kept;
  sl_choices_end(c, &key, sizeof key, number == -1 ? NULL : &number, sizeof number);
  return -1;
}

static void a_choice_is_found_again(void **state) {
  (void)state;
  struct sl_choices *c = opened("a device"), *other = opened("another device");
  assert_int_equal(asked(c, 1, 10), -1);
  assert_int_equal(asked(c, 2, -1), -1);
  assert_int_equal(asked(c, 1, 11), 10);
  assert_int_equal(asked(c, 2, 20), -1);
  assert_int_equal(asked(other, 1, 12), -1);
  struct sl_choices *again = opened("a device");
  assert_int_equal(asked(again, 1, 13), 10);
  assert_int_equal(asked(again, 2, 13), 20);
  assert_int_equal(asked(again, 3, 30), -1);
  assert_int_equal(asked(c, 3, 31), 30); /* what another has added meanwhile */
  sl_choices_close(c);
  sl_choices_close(other);
  sl_choices_close(again);
}

static void one_process_makes_it(void **state) {
  (void)state;
  enum { PROCESSES = 6, KEYS = 40 };
  int made = 0;
  struct sl_choices *c;
  for (int64_t p = 0; p < PROCESSES; p++) {
    if (fork() != 0) continue;
    int own = 0;
    c = opened("a device");
    for (int64_t key = 0; key < KEYS; key++) own += asked(c, key, p) == -1;
    _exit(own);
  }
  for (int p = 0, status; p < PROCESSES; p++) {
    assert_true(wait(&status) > 0 && WIFEXITED(status));
    made += WEXITSTATUS(status);
  }
  assert_int_equal(made, KEYS);
  c = opened("a device");
  for (int64_t key = 0; key < KEYS; key++) assert_in_range(asked(c, key, -1), 0, PROCESSES - 1);
  sl_choices_close(c);
}

/* Puts bytes at a place of the file, from its end if it is negative. */
static void put(const char *bytes, size_t count, off_t at) {
  const int file = open(the_file(), O_WRONLY);
  assert_true(file >= 0);
  assert_true(lseek(file, at, at < 0 ? SEEK_END : SEEK_SET) >= 0);
  assert_int_equal(write(file, bytes, count), (ssize_t)count);
  close(file);
}

static void what_is_damaged_is_made_again(void **state) {
  (void)state;
  struct stat facts;
  struct sl_choices *c = opened("a device");
  assert_int_equal(asked(c, 1, 10), -1);
  assert_int_equal(asked(c, 2, 20), -1);
  sl_choices_close(c);
  put("7", 1, -28); /* in the choice of the last line */
  c = opened("a device");
  assert_int_equal(asked(c, 1, 11), 10);
  assert_int_equal(asked(c, 2, 21), -1);
  sl_choices_close(c);
  assert_int_equal(stat(the_file(), &facts), 0);
  assert_int_equal(truncate(path, facts.st_size - 5), 0); /* a crash within the last line */
  c = opened("a device");
  assert_int_equal(asked(c, 2, 22), -1);
  sl_choices_close(c);
  c = opened("a device");
  assert_int_equal(asked(c, 1, 12), 10);
  assert_int_equal(asked(c, 2, 23), 22);
  sl_choices_close(c);
  char noise[3000];
  for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 7 % 251 + 1);
  assert_int_equal(stat(the_file(), &facts), 0);
  put(noise, sizeof noise, facts.st_size);
  c = opened("a device");
  assert_int_equal(asked(c, 3, 30), -1);
  assert_int_equal(asked(c, 1, 12), 10);
  sl_choices_close(c);
  c = opened("a device");
  assert_int_equal(asked(c, 3, 31), 30);
  sl_choices_close(c);
}

static void without_a_place_nothing_is_kept(void **state) {
  (void)state;
  static const char *const none[] = {"", "relative", "/proc/no/such", "/dev/null"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    setenv("SHARDLAB_CACHE", none[i], 1);
    assert_null(opened("a device"));
  }
  sl_choices_close(NULL);
  setenv("SHARDLAB_CACHE", folder, 1);
  sl_choices_close(opened("a device"));
  char target[600];
  snprintf(target, sizeof target, "%s/target", folder);
  the_file();
  assert_int_equal(rename(path, target), 0);
  assert_int_equal(symlink(target, path), 0); /* somebody's link is not followed */
  assert_null(opened("a device"));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_null(opened("a device"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_choice_is_found_again, begin, end),
                                     cmocka_unit_test_setup_teardown(one_process_makes_it, begin, end),
                                     cmocka_unit_test_setup_teardown(what_is_damaged_is_made_again, begin, end),
                                     cmocka_unit_test_setup_teardown(without_a_place_nothing_is_kept, begin, end)};
  return cmocka_run_group_tests_name("test_cuda_choices", tests, NULL, NULL);
}
