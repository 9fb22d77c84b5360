/* A table of training configurations, one per row: the input of `shardlab predict --table`.
 *
 * All columns below must be present, in any order, except the optional ones; a missing optional column is the same as
 * an empty one. Other columns (measured times, sources) are ignored. An empty cell is unknown: each column says what
 * replaces it, and only a row that needs an unknown value is refused. Numbers are whole numbers. */
#pragma once

#include "core/base/csv.h"
#include "core/base/status.h"

#include <stdint.h>

/* X(kind, name, least, most, what it is and what an empty cell means) */
#define SL_TABLE_MAP(X)                                                                                                \
  X(TEXT, id, 0, 0, "name of the row, its own in the table")                                                           \
  X(TEXT, cluster, 0, 0, "installation: a cluster's name or file; empty or unknown: one of the gpu's maker")           \
  X(TEXT, gpu, 0, 0, "device, as a100-sxm-80g; must be the cluster's, and chooses one that is not known")              \
  X(NUMBER, gpus_per_node, 1, 100000, "devices of a node; empty: the cluster's")                                       \
  X(NUMBER, n_gpus, 1, 1 << 20, "ranks in all")                                                                        \
  X(TEXT, arch, 0, 0,                                                                                                  \
    "gpt (LayerNorm, GELU, learned positions, biases), llama (RMSNorm, SwiGLU, RoPE) or nemotron (LayerNorm, squared " \
    "ReLU, RoPE of half a head)")                                                                                      \
  X(NUMBER, n_layers, 1, 1 << 20, "blocks")                                                                            \
  X(NUMBER, d_model, 1, 1 << 30, "width")                                                                              \
  X(NUMBER, n_heads, 1, 1 << 30, "attention heads; empty: d_model / 128, or near")                                     \
  X(NUMBER, n_kv_heads, 1, 1 << 30, "key/value heads; empty: n_heads")                                                 \
  X(NUMBER, d_ff, 1, 1 << 30, "inner width of the MLP; empty: 4 d_model of a gpt")                                     \
  X(NUMBER, vocab_size, 1, 1 << 30, "tokens of the vocabulary, before the framework pads it")                          \
  X(NUMBER, tied_embeddings, 0, 1, "1: the head is the embedding; empty: 1 of a gpt, 0 of a llama")                    \
  X(NUMBER, seq_len, 1, 1 << 30, "tokens of a sequence")                                                               \
  X(NUMBER, tp, 1, 1 << 16, "tensor-parallel ranks")                                                                   \
  X(NUMBER, pp, 1, 1 << 16, "pipeline ranks")                                                                          \
  X(NUMBER, dp, 1, 1 << 20, "data-parallel ranks; empty: n_gpus / (tp pp)")                                            \
  X(NUMBER, virtual_stages, 1, 1 << 16, "stages of a pipeline rank; above 1: interleaved 1F1B; empty: 1")              \
  X(NUMBER, zero_stage, 0, 3, "ZeRO stage that the framework's sharding amounts to")                                   \
  X(NUMBER, micro_batch, 1, 1 << 30, "sequences of a micro-batch on a device")                                         \
  X(NUMBER, grad_accum, 1, 1 << 30, "micro-batches of a step; empty: what global_batch_seqs leaves")                   \
  X(NUMBER, global_batch_seqs, 1, 1LL << 40, "sequences of a step; empty: micro_batch grad_accum dp")                  \
  X(NUMBER, sequence_parallel, 0, 1, "Megatron-LM's, beside tp; empty: 0")                                             \
  X(TEXT, recompute, 0, 0, "none, selective, full, or unknown: what the framework is known to do")                     \
  X(TEXT, attention, 0, 0, "materialised, materialised_fused_softmax, flash1, flash2, flash3 or cudnn")                \
  X(NUMBER, fused_norm, 0, 1, "1: norms are one kernel")                                                               \
  X(TEXT, precision, 0, 0, "fp32, tf32, fp16, bf16, fp8, bf16-autocast or fp16-autocast")                              \
  X(TEXT, grad_reduce_dtype, 0, 0, "fp32, bf16 or fp16; empty: the framework's")                                       \
  X(TEXT, framework, 0, 0, "megatron, megatron-deepspeed, deepspeed, fsdp, torchtitan, nanotron, ddp, accelerate")

/* The optional columns. */
#define SL_TABLE_OPTIONAL_MAP(X)                                                                                       \
  X(NUMBER, cp, 1, 1 << 16, "context-parallel ranks; empty: 1")                                                        \
  X(NUMBER, async_tp, 0, 1, "1: transfers of tensor parallelism in pieces beside its products; empty: 0")              \
  X(NUMBER, tp_comm_overlap, 0, 1, "1: Megatron-LM's --tp-comm-overlap; empty: 0")                                     \
  X(NUMBER, overlap_param_gather, 0, 1, "1: Megatron-LM's --overlap-param-gather; empty: 0")                           \
  X(NUMBER, node_gbps, 1, 1 << 20, "Gb/s of a node's network, all cards together; empty: the cluster's")               \
  X(NUMBER, shard_size, 1, 1 << 20, "ranks that share a copy of the states (HSDP); empty: all data-parallel ones")     \
  X(TEXT, fp8_recipe, 0, 0, "tensorwise or rowwise scales of fp8; empty: tensorwise")                                  \
  X(MONTH, framework_version, 0, 0, "the framework's version as YYYY-MM; empty: what the framework's row assumes")

#define SL_TABLE_TEXT const char * /* borrowed from the table's text; "" if the cell is empty */
#define SL_TABLE_MONTH SL_TABLE_TEXT
#define SL_TABLE_NUMBER int64_t /* SL_TABLE_UNKNOWN if the cell is empty */
enum { SL_TABLE_UNKNOWN = -1 };

struct sl_table_row {
#define X(kind, name, least, most, what) SL_TABLE_##kind name;
  SL_TABLE_MAP(X)
  SL_TABLE_OPTIONAL_MAP(X)
#undef X
};

struct sl_table {
  struct sl_csv csv;         /* owned */
  struct sl_table_row *rows; /* (count), owned */
  size_t count;
};

/* Reads the table in a file, or in a text called `name`. On failure nothing is allocated. Errors: SL_ERR_INPUT, with
 * file:line:column, the column's name and what was expected, if the file cannot be read, a column is missing or
 * duplicate, a number is malformed or out of range, or an id is empty or duplicate. */
enum sl_status sl_table_load(struct sl_table *table, const char *path);
enum sl_status sl_table_parse(struct sl_table *table, const char *name, const char *text, size_t size);
void sl_table_free(struct sl_table *table);
