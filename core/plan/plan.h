/* The plan: how a model, a configuration and a cluster become ranks, stages, batches and shards. plan/coords.h has the
 * coordinates of ranks, plan/layout.h the states that a rank owns, plan/strategy.h how a framework shards them. */
#pragma once

#include "core/base/status.h"
#include "core/cluster/cluster.h"
#include "core/cluster/kernel_costs.h"
#include "core/config/config.h"
#include "core/model/model.h"
#include "core/plan/coords.h"
#include "core/plan/layout.h"
#include "core/plan/strategy.h"
#include "core/schedule/action.h"

/* A stage of the pipeline: consecutive layers, possibly none. A pipeline rank has one, or `virtual_stages` of them
 * ("model chunks" in Megatron-LM). */
struct sl_stage {
  int first_layer, layer_count; /* transformer blocks; mlp: linears */
  bool embedding, head;         /* the model's first and last stage */
  int rank;                     /* pipeline rank */
  int local;                    /* index among its rank's stages */
};

struct sl_plan {
  const struct sl_model *model;     /* borrowed, or `packed` */
  struct sl_model *packed;          /* owned, see plan/packing.h; NULL: the model has its own products */
  struct sl_config *effective;      /* owned, see sl_plan_build; its places in the file are borrowed */
  const struct sl_config *config;   /* the effective one */
  const struct sl_cluster *cluster; /* borrowed */
  int world, tp, cp, dp, pp;
  int dp_cp; /* dp x cp ranks hold the same parameters: gradients are summed over them, and ZeRO shards over them */
  enum sl_rank_order rank_order;
  bool sequence_parallel;      /* norms, dropout and the residual stream are sharded over the tokens, 1 / tp each */
  bool scatter_gather;         /* messages between stages are 1 / tp of the residual stream, see models/boundary.h */
  struct sl_strategy strategy; /* how states are sharded over dp_cp */
  int shard;                   /* members of a shard group; 1 when nothing is sharded */
  int secondary;               /* members of a secondary group; 1 if parameters have no second copy */
  int node, nodes;             /* members of the node and across groups; 1 unless quantised gradients are reduced */
  struct sl_param_group groups[SL_PARAM_GROUPS]; /* tensor->group is the index */
  int group_count;
  int threads;                 /* OpenMP threads of a rank: cores of a node / its ranks, at least 1; 1 on a GPU */
  int64_t micro_batch;         /* sequences (mlp: samples) per rank and micro-batch */
  int64_t n_micro;             /* micro-batches per step and rank */
  int64_t global_batch;        /* sequences per step */
  int64_t seq;                 /* tokens per sequence; 1 for an mlp */
  int64_t micro_tokens;        /* tokens of a rank's micro-batch: micro_batch x seq / cp; an mlp's samples */
  struct sl_pp_rank *pp_ranks; /* pp of them: what each pipeline rank holds */
  struct sl_stage *stages;     /* all stages of the pipeline, in the order of the model: pp x virtual stages */
  int stage_count;             /* fewer than pp if the last ranks hold none */
  int embed_ranks[2];          /* pipeline ranks of the first and the last stage */
  /* all actions of every pipeline rank: compute, sends and receives, unshards, reductions, STEP */
  struct sl_schedule schedule;
  bool unshards;                       /* the schedule says when a stage's sharded parameters are gathered */
  bool fuse_epilogues;                 /* see models/epilogue.c */
  struct sl_kernel_costs kernel_costs; /* of the kernel set; only predictions use them */
  enum sl_tp_vocab tp_vocab; /* how tp divides embedding and head; PARALLEL where it divides nothing, never AUTOTP */
  int vocab_multiple;        /* a tp rank's rows of the vocabulary are a multiple of it, see sl_cut_local_size */
};

/* Builds the plan of `world` ranks. plan->config is `config` with its batch sizes resolved and with the values that its
 * preset imposes; `config`, model and cluster must outlive the plan. Errors: SL_ERR_INPUT with the rule that the
 * request breaks. */
enum sl_status sl_plan_build(struct sl_plan *plan, const struct sl_model *model, const struct sl_config *config,
                             const struct sl_cluster *cluster, int world);
void sl_plan_free(struct sl_plan *plan);
/* Replaces "flash-on-gpu" by the attention that the kernels have on the cluster's devices. */
void sl_plan_choose_attention(struct sl_config *config, const struct sl_cluster *cluster);

/* Bytes of model state per parameter as ZeRO counts them (arXiv:1910.02054, section 3): parameter, gradient and
 * optimizer state for this configuration's precision and optimizer. */
struct sl_state_bytes {
  int param, grad, optimizer;
};
struct sl_state_bytes sl_plan_state_bytes(const struct sl_plan *plan);
