/* What a row's framework means, one entry per framework; see inputs.h. Internal to table. */
#pragma once

#include "core/cluster/cluster.h"
#include "table/predict.h"
#include "table/rows.h"

#include <stdbool.h>

/* How layers are divided among pipeline stages if they do not divide evenly. */
enum sl_table_stages {
  SL_TABLE_STAGES_PLAIN,         /* as shardlab.stages says */
  SL_TABLE_STAGES_FILLED,        /* by DeepSpeed, which fills stages one by one */
  SL_TABLE_STAGES_OF_TORCHTITAN, /* as its version deals them */
  SL_TABLE_STAGES_SHORT_ENDS,    /* the same, by Megatron-LM, where only so they divide evenly */
  SL_TABLE_STAGES_WITH_ENDS      /* evenly, with the embedding, the last norm and the head counted as layers */
};

struct sl_table_framework {
  const char *name;
  const char *presets[4]; /* by ZeRO stage; NULL: none */
  const char *version;    /* YYYY-MM, where a row does not say; NULL: the newest */
  bool stage_in_config;   /* zero_optimization.stage gives the stage, as DeepSpeed's presets require */
  int vocab_multiple;     /* each tp rank's rows of the vocabulary are a multiple of it */
  double gpt_dropout;
  const char *recompute;       /* the meaning of "unknown" */
  const char *selective;       /* the meaning of "selective"; NULL: itself */
  const char *stages;          /* shardlab.stages */
  const char *fused, *unfused; /* shardlab.kernels, with and without fused norms and softmax */
  bool llama_unfused;          /* a llama has the second, with norms and softmax fused as a row's cells say */
  const char *grad_type;       /* of gradients while they are reduced, if it is fixed; else NULL */
  enum sl_table_stages dealt;
  bool launch_blocking;     /* the host waits for every kernel */
  bool expandable_segments; /* of torch's allocator */
  bool no_sync;             /* of FSDP: gradients are summed whole over a step's micro-batches */
  bool scatter_gather;      /* of pipeline messages, unless sequence parallelism has split them */
  bool sums_as_reduced;     /* bf16 gradients in `grad_reduce_dtype` are kept so, too: --grad-reduce-in-bf16 */
  const char *grad_sum;     /* of accumulated gradients; NULL: the preset's */
  const char *later;        /* shardlab.kernels instead of `fused` for versions from 2025 on; NULL: the same */
  enum sl_table_memory memory;
};

/* `cluster`: where the row was measured. Errors: SL_ERR_INPUT for an unknown framework. */
enum sl_status sl_table_framework(const struct sl_table_framework **out, const struct sl_table_row *row,
                                  const struct sl_cluster *cluster);
/* Is --cross-entropy-loss-fusion on, as in NeMo's and Megatron Bridge's models (nemo/collections/llm/gpt/model/base.py,
 * GPTConfig; src/megatron/bridge/models/gpt_provider.py), but not in Megatron-LM's own? */
bool sl_table_fuses_loss(const struct sl_table_row *row);
