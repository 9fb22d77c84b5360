/* A file as a memory: what is read is what was written, whatever stretches are asked for, in blocks of any number at
 * once; and what goes wrong on the disk is one error with the file's name and whose bytes they are. */
#include "backend/common/nvme.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <unistd.h>

enum { BYTES = 300000, BLOCK = 8192, DEPTH = 3 };

static char folder[] = "test_nvme_XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder); /* fails where a file stayed behind */
}

static char *blocks(void) {
  char *out = aligned_alloc(SL_MACHINE_PAGE, BLOCK * DEPTH);
  assert_non_null(out);
  return out;
}

static struct sl_nvme *open_by(bool singly, bool in_batches) {
  const struct sl_nvme_rules rules = {.block = BLOCK, .depth = DEPTH, .singly = singly, .in_batches = in_batches};
  struct sl_nvme *n;
  if (sl_nvme_open(&n, folder, BYTES, &rules) != SL_OK) fail_msg("%s", sl_error_message());
  return n;
}

static struct sl_nvme *open_file(void) {
  return open_by(false, false);
}

static struct sl_nvme_request request(bool write, int64_t at, int64_t bytes, char *memory, char *through) {
  return (struct sl_nvme_request){
      .write = write, .at = at, .bytes = bytes, .memory = memory, .blocks = through, .what = "exp_avg"};
}

static enum sl_status finish(struct sl_nvme *n, struct sl_nvme_request *r) {
  bool done = false, moved = false;
  while (!done) SL_TRY(sl_nvme_drive(n, r, &done, &moved));
  return SL_OK;
}

static enum sl_status carry(struct sl_nvme *n, bool write, int64_t at, int64_t bytes, char *memory) {
  char *through = blocks();
  struct sl_nvme_request r = request(write, at, bytes, memory, through);
  sl_nvme_start(&r);
  const enum sl_status status = finish(n, &r);
  free(through);
  return status;
}

static uint64_t dice = 88172645463325252u;

static int64_t below(int64_t n) {
  dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
  return (int64_t)(dice >> 11) % n;
}

static void fill(char *memory, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i++) memory[i] = (char)below(256);
}

/* Against a copy in memory. The first half of the rounds is not yet held against checksums. */
static void what_is_read_is_what_was_written(void **state) {
  (void)state;
  char *truth = calloc(1, BYTES), *memory = malloc(BYTES);
  struct sl_nvme *n = open_file();
  for (int round = 0; round < 400; round++) {
    if (round % 100 == 99) { /* the file is written through the mapping */
      sl_nvme_close(n);
      n = open_by(round / 100 & 1, round / 200 & 1);
      memcpy(sl_nvme_mapped(n), truth, BYTES);
    }
    if (round % 100 == 50) assert_int_equal(sl_nvme_checksum(n), SL_OK);
    const int64_t at = below(BYTES), most = BYTES - at, bytes = 1 + below(round % 3 == 0 ? most : most / 50 + 1);
    if (round % 2 == 0) {
      fill(memory, bytes);
      memcpy(truth + at, memory, (size_t)bytes);
      if (carry(n, true, at, bytes, memory) != SL_OK) fail_msg("%s", sl_error_message());
    } else {
      if (carry(n, false, at, bytes, memory) != SL_OK) fail_msg("%s", sl_error_message());
      assert_memory_equal(memory, truth + at, (size_t)bytes);
    }
  }
  assert_memory_equal(sl_nvme_mapped(n), truth, BYTES);
  sl_nvme_close(n);
  free(truth);
  free(memory);
}

/* Of 11 blocks by queues of 3: what is left goes block by block as others arrive, in threes when all have, or a call
 * each. */
static void blocks_are_sent_as_the_rules_say(void **state) {
  (void)state;
  enum { BLOCKS = 11 };
  static const int64_t calls[2][2] = {{1 + BLOCKS - DEPTH, (BLOCKS + DEPTH - 1) / DEPTH}, {BLOCKS, BLOCKS}};
  char *memory = calloc(BLOCKS, BLOCK);
  for (int rule = 0; rule < 8; rule++) {
    struct sl_nvme *n = open_by(rule & 1, rule & 2);
    if (carry(n, rule & 4, 0, (int64_t)BLOCKS * BLOCK, memory) != SL_OK) fail_msg("%s", sl_error_message());
    assert_int_equal(sl_nvme_sent(n).blocks, BLOCKS);
    assert_int_equal(sl_nvme_sent(n).calls, calls[rule & 1][rule >> 1 & 1]);
    sl_nvme_close(n);
  }
  free(memory);
}

/* A read and a write at once, of stretches that share a page as often as not: the read finds its own bytes as they
 * were. */
static void both_ways_at_once(void **state) {
  (void)state;
  char *truth = calloc(1, BYTES), *memory = malloc(BYTES), *read = malloc(BYTES), *through[2] = {blocks(), blocks()};
  struct sl_nvme *n = open_file();
  assert_int_equal(sl_nvme_checksum(n), SL_OK);
  for (int round = 0; round < 200; round++) {
    const int64_t cut = 1 + below(BYTES - 2), from = below(cut), to = cut + 1 + below(BYTES - cut - 1);
    struct sl_nvme_request w = request(true, from, cut - from, memory, through[1]),
                           r = request(false, cut, to - cut, read, through[0]);
    bool done[2] = {false, false}, moved;
    fill(memory, cut - from);
    memcpy(truth + from, memory, (size_t)(cut - from));
    sl_nvme_start(&w);
    sl_nvme_start(&r);
    while (!done[0] || !done[1]) {
      if (!done[round % 2] && sl_nvme_drive(n, round % 2 ? &w : &r, &done[round % 2], &moved) != SL_OK)
        fail_msg("%s", sl_error_message());
      if (!done[!(round % 2)] && sl_nvme_drive(n, round % 2 ? &r : &w, &done[!(round % 2)], &moved) != SL_OK)
        fail_msg("%s", sl_error_message());
    }
    assert_memory_equal(read, truth + cut, (size_t)(to - cut));
  }
  sl_nvme_close(n);
  free(truth);
  free(memory);
  free(read);
  free(through[0]);
  free(through[1]);
}

/* The file, which has no name: found among this process's. */
static int handle_of_file(void) {
  DIR *all = opendir("/proc/self/fd");
  struct dirent *entry;
  int handle = -1;
  assert_non_null(all);
  while ((entry = readdir(all)) != NULL) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) continue;
    path[n] = '\0';
    if (strstr(path, "shardlab-nvme-") != NULL) handle = atoi(entry->d_name);
  }
  closedir(all);
  assert_true(handle >= 0);
  return handle;
}

static void expect_error(enum sl_status status, const char *what) {
  assert_int_equal(status, SL_ERR_IO);
  if (strstr(sl_error_message(), "/shardlab-nvme-") == NULL || strstr(sl_error_message(), ": exp_avg: ") == NULL ||
      strstr(sl_error_message(), what) == NULL)
    fail_msg("%s; expected %s", sl_error_message(), what);
  sl_error_clear();
}

/* Wherever it is, and however little of it is read. */
static void a_flipped_bit_is_found(void **state) {
  (void)state;
  char *memory = malloc(BYTES);
  struct sl_nvme *n = open_file();
  assert_int_equal(sl_nvme_checksum(n), SL_OK);
  fill(memory, BYTES);
  assert_int_equal(carry(n, true, 0, BYTES, memory), SL_OK);
  for (int round = 0; round < 20; round++) {
    const int64_t at = below(BYTES);
    sl_nvme_mapped(n)[at] ^= (char)(1 << below(8));
    expect_error(carry(n, false, at, 1, memory + at), "are not those that were written");
    sl_nvme_close(n);
    n = open_file();
    assert_int_equal(sl_nvme_checksum(n), SL_OK);
    fill(memory, BYTES);
    assert_int_equal(carry(n, true, 0, BYTES, memory), SL_OK);
  }
  assert_int_equal(carry(n, false, 0, BYTES, memory), SL_OK);
  sl_nvme_close(n);
  free(memory);
}

static void a_file_that_ends_early_is_said(void **state) {
  (void)state;
  char *memory = calloc(1, BYTES);
  struct sl_nvme *n = open_file();
  assert_int_equal(ftruncate(handle_of_file(), BYTES / 2), 0);
  assert_int_equal(carry(n, false, 0, 1000, memory), SL_OK);
  expect_error(carry(n, false, BYTES / 3, BYTES / 2, memory), "the file ends before them");
  sl_nvme_close(n);
  free(memory);
}

/* Of the byte that has no room first. */
static const char *owner(const void *context, int64_t at) {
  return context == folder && at > 0 && at < INT64_C(1) << 52 ? "exp_avg" : NULL;
}

static void what_cannot_be_opened_is_said(void **state) {
  (void)state;
  struct sl_nvme *n;
  assert_int_equal(sl_nvme_open(&n, "/no/such/folder", BYTES, &(struct sl_nvme_rules){.block = BLOCK, .depth = DEPTH}),
                   SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), "/no/such/folder/shardlab-nvme-"));
  assert_non_null(strstr(sl_error_message(), ": cannot be created: No such file or directory"));
  sl_error_clear();
  assert_int_equal(sl_nvme_open(&n, folder, INT64_C(1) << 52, &(struct sl_nvme_rules){.block = BLOCK, .depth = DEPTH}),
                   SL_ERR_IO);
  assert_non_null(
      strstr(sl_error_message(), ": no room for 4503599627370496 bytes of offloaded states: No space left"));
  sl_error_clear();
  assert_int_equal(
      sl_nvme_open(&n, folder, INT64_C(1) << 52,
                   &(struct sl_nvme_rules){.block = BLOCK, .depth = DEPTH, .owner = owner, .context = folder}),
      SL_ERR_IO);
  assert_non_null(
      strstr(sl_error_message(), ": no room for exp_avg among 4503599627370496 bytes of offloaded states: "));
  sl_error_clear();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_read_is_what_was_written), cmocka_unit_test(both_ways_at_once),
      cmocka_unit_test(blocks_are_sent_as_the_rules_say), cmocka_unit_test(a_flipped_bit_is_found),
      cmocka_unit_test(a_file_that_ends_early_is_said),   cmocka_unit_test(what_cannot_be_opened_is_said),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
