/* label: unit
 * Completing a checkpoint: how long the parts of other ranks are waited for. */
#include "core/checkpoint/complete.h"
#include "tests/support/job_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void fails_soon(const struct sl_part *part, enum sl_status expected, const char *text) {
  struct sl_part mine = *part;
  const struct sl_snapshot snapshot = {0};
  const time_t start = time(NULL);
  sl_error_clear();
  assert_int_equal(sl_checkpoint_complete(&mine, &snapshot, mine.folder), expected);
  if (strstr(sl_error_message(), text) == NULL) fail_msg("\"%s\", expected \"%s\"", sl_error_message(), text);
  assert_true(time(NULL) - start <= 8);
  sl_error_clear();
}

/* A part that its rank has written and that is not there was removed, with its folder or alone. Nobody waits for one of
 * a rank that has failed. */
static void parts_that_are_gone_are_not_awaited(void **unused) {
  (void)unused;
  struct fixture f;
  atomic_bool no = false, yes = true;
  char folder[] = "/tmp/test_complete_XXXXXX";
  if (fixture_open(&f, "gpt2-tiny", "{\"train_micro_batch_size_per_gpu\":1}", "localhost", 1, NULL) != SL_OK)
    fail_msg("%s", sl_error_message());
  assert_non_null(mkdtemp(folder));
  struct sl_part part = {.job = &f.job, .folder = folder, .stop = &yes, .others_told = &no};
  fails_soon(&part, SL_ERR_PEER, "is given up");
  part.stop = &no, part.others_told = &yes;
  fails_soon(&part, SL_ERR_IO, "is gone, though its rank has written it");
  assert_int_equal(rmdir(folder), 0);
  const clock_t start = clock();
  fails_soon(&part, SL_ERR_IO, "is gone, though its rank has written it");
  assert_true(clock() - start < CLOCKS_PER_SEC);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_that_are_gone_are_not_awaited)};
  alarm(60); /* who waits for ever fails */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
