/* label: unit
 * Pieces of work on threads: each is done once, and of failures the lowest number's is told, whichever came first. */
#include "core/base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIECES = 200 };

struct work {
  atomic_int done[PIECES];
  int fails_from, first_waits_us;
};

static enum sl_status one(void *context, int i) {
  struct work *w = context;
  atomic_fetch_add(&w->done[i], 1);
  if (i < w->fails_from) return SL_OK;
  if (i == w->fails_from) usleep((useconds_t)w->first_waits_us); /* others fail before it */
  return sl_fail(i % 2 ? SL_ERR_INPUT : SL_ERR_CHECK, "piece %d:\nis bad", i);
}

static void each_piece_is_done_once(void **state) {
  (void)state;
  for (int threads = 0; threads <= 5; threads++) {
    struct work w = {.fails_from = PIECES};
    assert_int_equal(sl_parallel(PIECES, threads, one, &w), SL_OK);
    for (int i = 0; i < PIECES; i++) assert_int_equal(w.done[i], 1);
    assert_int_equal(sl_parallel(0, threads, one, &w), SL_OK);
  }
}

static void the_lowest_failure_is_told(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    struct work w = {.fails_from = 31, .first_waits_us = 2000};
    sl_error_clear();
    assert_int_equal(sl_parallel(PIECES, threads, one, &w), SL_ERR_INPUT);
    assert_string_equal(sl_error_message(), "piece 31:\nis bad");
    for (int i = 0; i <= 31; i++) assert_int_equal(w.done[i], 1);
    int begun = 0; /* behind the failure: what the others had begun */
    for (int i = 32; i < PIECES; i++) begun += w.done[i];
    assert_true(begun < threads);
  }
}

/* Begun, it goes on beside this thread, which takes what is left when it joins, and is told the same however often. */
static void begun_and_joined(void **state) {
  (void)state;
  for (int threads = 0; threads <= 5; threads++) {
    struct work w = {.fails_from = PIECES}, bad = {.fails_from = 31, .first_waits_us = 2000};
    struct sl_parallel *p, *q;
    assert_int_equal(sl_parallel_begin(&p, PIECES, threads, one, &w), SL_OK);
    assert_int_equal(sl_parallel_begin(&q, PIECES, threads, one, &bad), SL_OK);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(sl_parallel_join(p), SL_OK);
      assert_int_equal(sl_parallel_join(q), SL_ERR_INPUT);
      assert_string_equal(sl_error_message(), "piece 31:\nis bad");
    }
    for (int i = 0; i < PIECES; i++) assert_int_equal(w.done[i], 1);
    sl_parallel_free(p);
    sl_parallel_free(q);
  }
  assert_int_equal(sl_parallel_join(NULL), SL_OK);
  sl_parallel_free(NULL);
}

static enum sl_status slow(void *context, int i) {
  struct work *w = context;
  atomic_fetch_add(&w->done[i], 1);
  usleep(5000);
  return SL_OK;
}

/* What is freed without being joined ends with the pieces that were begun. */
static void freed_without_joining(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    struct work w = {0};
    struct sl_parallel *p;
    assert_int_equal(sl_parallel_begin(&p, PIECES, threads, slow, &w), SL_OK);
    sl_parallel_free(p);
    int begun = 0;
    for (int i = 0; i < PIECES; i++) begun += w.done[i];
    assert_true(begun < PIECES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_piece_is_done_once),
      cmocka_unit_test(the_lowest_failure_is_told),
      cmocka_unit_test(begun_and_joined),
      cmocka_unit_test(freed_without_joining),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
