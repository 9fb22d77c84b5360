/* What a row's framework means: one row a framework, see inputs.h. Internal to table. */
#pragma once

#include "core/cluster/cluster.h"
#include "table/predict.h"
#include "table/rows.h"

#include <stdbool.h>

/* How the layers of a pipeline are dealt to its stages where they do not come out even. */
enum sl_table_stages {
  SL_TABLE_STAGES_PLAIN,     /* as shardlab.stages says */
  SL_TABLE_STAGES_FILLED,    /* by DeepSpeed, which fills stages one by one */
  SL_TABLE_STAGES_THIN_ENDS, /* the first and the last have one less */
  SL_TABLE_STAGES_WITH_ENDS  /* evenly, the embedding, the last norm and the head being layers like others */
};

struct sl_table_framework {
  const char *name;
  const char *presets[4]; /* by ZeRO stage; NULL: it has none */
  bool stage_in_config;   /* zero_optimization.stage says the stage, as DeepSpeed's presets want it */
  int vocab_multiple;     /* rows of the vocabulary on a tp rank are a multiple of it */
  double gpt_dropout;
  const char *recompute;       /* what "unknown" is */
  const char *selective;       /* what "selective" is; NULL: itself */
  const char *stages;          /* shardlab.stages */
  const char *fused, *unfused; /* shardlab.kernels, with fused norms and softmax or without */
  bool llama_unfused;          /* a llama has the second, where norms and softmax are fused or not by a row's cells */
  const char *grad_type;       /* of gradients while they are reduced, where there is no choice; else NULL */
  enum sl_table_stages dealt;
  bool launch_blocking; /* the host waits for every kernel */
  bool scatter_gather;  /* of a pipeline's messages, where sequence parallelism has not cut them */
  bool reduces_last; /* gradients are reduced when a rank's last backward is over, by a preset that can do otherwise */
  const char *grad_sum; /* of accumulated gradients; NULL: the preset's */
  const char *later;    /* shardlab.kernels in place of `fused` of versions from 2025 on; NULL: the same */
  enum sl_table_memory memory;
};

/* Errors: SL_ERR_INPUT for an unknown framework. `cluster`: where the row was measured. */
enum sl_status sl_table_framework(const struct sl_table_framework **out, const struct sl_table_row *row,
                                  const struct sl_cluster *cluster);
