/* Which kinds of parallelism and which ZeRO stages each framework supported in October 2024 and in November 2026: a
 * table with sources, printed by `shardlab show frameworks`. The later column is what the presets accept
 * (plan/refusals.c); a test compares the two. */
#pragma once

enum sl_parallelism { SL_DATA_PARALLEL, SL_PIPELINE_PARALLEL, SL_TENSOR_PARALLEL, SL_3D_PARALLEL };

struct sl_framework_support {
  const char *framework;
  enum sl_parallelism parallelism; /* in addition to data parallelism, which all have */
  unsigned then, now;              /* bit s: with ZeRO stage s; 2024-10 and 2026-11 */
  const char *presets[4];          /* by stage: the preset to use; NULL: there is none */
  const char *source;              /* where to read it, and what the bits leave out */
};

/* Row `i`, NULL past the end. */
const struct sl_framework_support *sl_framework_support(int i);
/* "DP", "PP", "TP", "3D". */
const char *sl_parallelism_name(enum sl_parallelism parallelism);
