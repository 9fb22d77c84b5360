/* Are two programs the same, byte for byte? Included behind cmocka.h's own headers. */
#pragma once

#include "core/program/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void same_program(const struct sl_program *a, const struct sl_program *b) {
  assert_int_equal(a->issue_count, b->issue_count);
  assert_int_equal(a->wait_count, b->wait_count);
  assert_memory_equal(a->issues, b->issues, a->issue_count * sizeof *a->issues);
  if (a->wait_count > 0) assert_memory_equal(a->waits, b->waits, a->wait_count * sizeof *a->waits);
  assert_memory_equal(a->lane_ops, b->lane_ops, sizeof a->lane_ops);
}
