/* A table of one row for tests; any of its cells can be changed. */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A GPT with 24 blocks on two nodes of A100s under Megatron-LM. */
static const char *const usual_cells[][2] = {
    {"id", "odd, one"},
    {"cluster", "selene-a100"},
    {"gpu", "a100-sxm-80g"},
    {"gpus_per_node", "8"},
    {"n_gpus", "16"},
    {"arch", "gpt"},
    {"n_layers", "24"},
    {"d_model", "1536"},
    {"n_heads", "24"},
    {"n_kv_heads", "24"},
    {"d_ff", "6144"},
    {"vocab_size", "51200"},
    {"tied_embeddings", "1"},
    {"seq_len", "512"},
    {"tp", "2"},
    {"pp", "4"},
    {"dp", "2"},
    {"virtual_stages", "1"},
    {"zero_stage", "0"},
    {"micro_batch", "3"},
    {"grad_accum", "5"},
    {"global_batch_seqs", "30"},
    {"sequence_parallel", "0"},
    {"recompute", "full"},
    {"attention", "flash2"},
    {"fused_norm", "1"},
    {"precision", "fp16"},
    {"grad_reduce_dtype", ""},
    {"framework", "megatron"},
    {"step_time_s", "0.07"},
};
enum { USUAL_CELLS = sizeof usual_cells / sizeof *usual_cells };

/* The names of the columns, without `but` (NULL: all of them). */
static inline void put_names(char *text, const char *but) {
  for (int i = 0; i < USUAL_CELLS; i++) {
    if (but != NULL && strcmp(but, usual_cells[i][0]) == 0) continue;
    sprintf(text + strlen(text), "%s%s", i > 0 ? "," : "", usual_cells[i][0]);
  }
  strcat(text, "\n");
}

/* One row; `changes` are names and values in turn, ended by NULL. */
static inline void put_cells(char *text, const char *const *changes) {
  for (int i = 0; i < USUAL_CELLS; i++) {
    const char *value = usual_cells[i][1];
    for (const char *const *c = changes; *c != NULL; c += 2)
      if (strcmp(c[0], usual_cells[i][0]) == 0) value = c[1];
    sprintf(text + strlen(text), strchr(value, ',') != NULL ? "%s\"%s\"" : "%s%s", i > 0 ? "," : "", value);
  }
  strcat(text, "\n");
}
