/* Which parallelism and which ZeRO stages frameworks express, as of October 2024 and of November 2026: data with sources,
 * read by `shardlab show frameworks`. The later column is what the presets accept (plan/refusals.c); a test holds the two
 * together. */
#pragma once

enum sl_parallelism { SL_DATA_PARALLEL, SL_PIPELINE_PARALLEL, SL_TENSOR_PARALLEL, SL_3D_PARALLEL };

struct sl_framework_support {
  const char *framework;
  enum sl_parallelism parallelism; /* beside data parallelism, which all have */
  unsigned then, now;              /* bit s: with ZeRO stage s; 2024-10 and 2026-11 */
  const char *presets[4];          /* by stage: the preset that stands for it; NULL: there is none to try */
  const char *source;              /* where it can be read, and what the bits leave out */
};

/* Row `i`, NULL past the end. */
const struct sl_framework_support *sl_framework_support(int i);
/* "DP", "PP", "TP", "3D". */
const char *sl_parallelism_name(enum sl_parallelism parallelism);
