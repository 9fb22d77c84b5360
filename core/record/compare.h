/* Compares two run records: predicted, measured, error and verdict, per step, op class, memory category, phase, rank
 * and communication call. Works on records alone and never runs a program. */
#pragma once

#include "core/base/json.h"
#include "core/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* How a row is judged.
 *   EXACT    equal to the byte and to the call
 *   PROCESS  within 2 % or 48 MB (decimal), whichever is more: memory of a process as the system counts it
 *   TIME     within the relative tolerance that the caller gives; without one only shown
 *   SHOWN    never judged */
enum sl_compare_rule { SL_COMPARE_EXACT, SL_COMPARE_PROCESS, SL_COMPARE_TIME, SL_COMPARE_SHOWN };
enum sl_verdict { SL_VERDICT_OK, SL_VERDICT_FAIL, SL_VERDICT_NONE };
enum sl_compare_unit { SL_UNIT_SECONDS, SL_UNIT_BYTES, SL_UNIT_COUNT, SL_UNIT_TEXT, SL_UNIT_RATIO };

struct sl_compare_row {
  char section[24], name[64];
  enum sl_compare_unit unit;
  bool has_predicted, has_measured;
  double predicted, measured; /* bytes and calls are exact below 2^53 */
  char predicted_text[24], measured_text[24];
  double error; /* (predicted - measured) / measured; 0 if both are equal */
  enum sl_compare_rule rule;
  enum sl_verdict verdict;
};

struct sl_comparison {
  struct sl_compare_row *rows; /* owned */
  size_t count, capacity;
  char predicted_kind[16], measured_kind[16];
  bool functional;       /* one side has meaningless times: they are shown and not judged */
  double time_tolerance; /* < 0: times are not judged */
  int failed;            /* rows out of tolerance */
};

/* Compares two validated records of the same plan and model. If the measured one is of a rank that ran alone (as_rank),
 * only that rank's compute, memory and calls are compared; the rest is shown as a prediction. time_tolerance < 0: times
 * are only shown. Errors: SL_ERR_INPUT if the records are of different plans or models, naming the first key that
 * differs, or if only one has steps behind freeze_step of 1-bit Adam. Rows out of tolerance are no error, see `failed`.
 */
enum sl_status sl_compare_records(struct sl_comparison *out, const struct sl_json *predicted,
                                  const struct sl_json *measured, double time_tolerance);
/* SL_ERR_CHECK where rows are out of tolerance: how many, and the first by name. */
enum sl_status sl_comparison_judge(const struct sl_comparison *comparison);
void sl_comparison_free(struct sl_comparison *comparison);
