/* label: unit
 * Ranges that go past the page cache, beside those that do not: whatever their offsets and lengths, all bytes are where
 * they belong. */
#include "core/base/machine.h"
#include "core/io/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SIZE = 24 << 20 };

/* Number `i` of a file: no two near each other are alike. */
static unsigned char byte_at(size_t i) {
  return (unsigned char)((i * 2654435761U) >> 13);
}

/* Ranges that meet inside blocks, as pieces of several tensors do, out of order. */
static const size_t cuts[] = {0, 13, 4096, 5000, 5000 + (3 << 20), (9 << 20) + 17, (17 << 20) + 4096, SIZE - 3, SIZE};
enum { RANGES = sizeof cuts / sizeof *cuts - 1 };

/* `shift`: of the memory against the file's blocks; 0: whole blocks are written from where they are. */
static void written_and_read(const char *folder, size_t shift) {
  char path[128];
  struct sl_direct direct = {0};
  struct sl_file file;
  unsigned char *memory = aligned_alloc(SL_MACHINE_PAGE, SIZE + SL_MACHINE_PAGE), *all = memory + shift;
  snprintf(path, sizeof path, "%s/shardlab-direct-XXXXXX", folder);
  const int handle = mkstemp(path);
  if (handle < 0) skip();
  for (size_t i = 0; i < SIZE; i++) all[i] = byte_at(i);
  for (int r = RANGES; r-- > 0;)
    assert_int_equal(sl_direct_write(&direct, handle, all + cuts[r], cuts[r + 1] - cuts[r], (int64_t)cuts[r]), 0);
  if (shift == 0) assert_null(direct.room); /* not one was copied */
  sl_direct_free(&direct);
  assert_int_equal(sl_file_open(&file, path), SL_OK);
  assert_int_equal(file.size, SIZE);
  char *room = aligned_alloc(SL_MACHINE_PAGE, sl_direct_room(SIZE));
  for (int r = 0; r < RANGES; r++) {
    void *found;
    assert_int_equal(sl_direct_read(&file, cuts[r], room, cuts[r + 1] - cuts[r], &found), SL_OK);
    assert_memory_equal(found, all + cuts[r], cuts[r + 1] - cuts[r]);
  }
  /* what is cut short is said, not read as something else */
  void *found;
  assert_int_equal(ftruncate(handle, SIZE / 2), 0);
  assert_int_equal(sl_direct_read(&file, SIZE / 2 - 4096, room, 2 << 20, &found), SL_ERR_IO);
  assert_non_null(strstr(sl_error_message(), "was cut short while it was read"));
  sl_file_close(&file);
  close(handle);
  unlink(path);
  free(room);
  free(memory);
}

static void on_a_disk(void **state) {
  (void)state;
  written_and_read("/tmp", 52);
  written_and_read("/tmp", 0);
}

static void in_memory(void **state) {
  (void)state;
  written_and_read("/dev/shm", 52);
  written_and_read("/dev/shm", 0);
}

static void errors_are_the_systems(void **state) {
  (void)state;
  struct sl_direct direct = {0};
  char *zeros = calloc(2, 1 << 20);
  const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
  assert_int_equal(sl_direct_write(&direct, full, zeros, 2 << 20, 0), -1);
  assert_int_equal(errno, ENOSPC);
  sl_direct_free(&direct);
  close(full);
  free(zeros);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_a_disk),
      cmocka_unit_test(in_memory),
      cmocka_unit_test(errors_are_the_systems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
