/* Drawing the configurations of the equivalence grid; see grid3d_draw.h. */
#include "tests/mpi/grid3d_draw.h"
#include "tests/mpi/grid3d_dice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MODEL(name) SL_SOURCE_DIR "/tests/mpi/" name ".json"
#define TOKENS SL_SOURCE_DIR "/tests/golden/gpt2_odd/tokens.bin"

const struct draw_model draw_models[DRAW_MODELS] = {
    {"gpt2", MODEL("grid_gpt2"), TOKENS, 4, 4, 4, 8, true, false},
    {"gpt2-dropout", MODEL("grid_gpt2_dropout"), TOKENS, 8, 6, 6, 9, true, true},
    {"gpt2-deep", MODEL("grid_gpt2_deep"), TOKENS, 8, 8, 8, 8, true, false},
    {"gpt2-odd", SL_SOURCE_DIR "/tests/golden/gpt2_odd/config.json", TOKENS, 3, 5, 5, 7, true, false},
    {"llama", MODEL("grid_llama"), TOKENS, 4, 4, 2, 8, true, false},
    {"llama-tied-dropout", MODEL("grid_llama_tied"), TOKENS, 8, 6, 3, 9, true, true},
    {"llama-deep", MODEL("grid_llama_deep"), TOKENS, 8, 8, 8, 8, true, false},
    {"mlp", MODEL("grid_mlp"), "random:1000", 8, 24, 24, 1, false, false},
};

static const int batches[DRAW_BATCHES] = {24, 40, 42, 48, 64};

/* --- what a framework's preset goes together with --- */

enum {
  ALONE = 1,       /* data parallel only */
  NO_PP = 2,       /* no pipeline */
  NO_SP = 4,       /* no sequence parallelism, and every layer recomputed alike */
  ONE_STAGE = 8,   /* 1f1b, one stage a rank */
  MEGATRON = 16,   /* 1f1b, or interleaved over several stages a rank; layers dealt evenly or by hand */
  MAY_SHARD = 32,  /* hybrid: shard_size */
  MUST_SHARD = 64, /* the same, always */
  MICS = 128,      /* shard_size in DeepSpeed's word */
  PLAIN = 256,     /* no preset: no framework's limits */
  MUST_HPZ = 512,  /* ZeRO++'s second copy of the parameters: zero_hpz_partition_size */
  ANY = 1023
};

static const struct strategy {
  const char *name, *preset;
  int stage; /* zero_optimization.stage, -1: not said */
  unsigned rules;
} strategies[] = {
    {"zero-0", "", 0, PLAIN},
    {"zero-1", "", 1, PLAIN},
    {"zero-2", "", 2, PLAIN},
    {"zero-3", "", 3, PLAIN},
    {"zero-3-hpz", "", 3, PLAIN | MUST_HPZ},
    {"deepspeed-0", "deepspeed-0", 0, NO_SP | ONE_STAGE},
    {"deepspeed-1", "deepspeed-1", 1, NO_SP | ONE_STAGE},
    {"deepspeed-2", "deepspeed-2", 2, NO_SP | NO_PP},
    {"deepspeed-3", "deepspeed-3", 3, NO_SP | NO_PP},
    {"deepspeed-pipeline", "deepspeed-pipeline", 1, NO_SP | ONE_STAGE},
    {"mics", "mics", 3, NO_SP | NO_PP | MUST_SHARD | MICS},
    {"zero++", "zero++", 3, NO_SP | NO_PP | MUST_HPZ},
    {"ddp", "ddp", -1, ALONE},
    {"zero-redundancy-optimizer", "zero-redundancy-optimizer", -1, ALONE},
    {"fsdp", "fsdp", -1, ALONE},
    {"fsdp-shard-grad-op", "fsdp-shard-grad-op", -1, ALONE},
    {"fsdp-hybrid-shard", "fsdp-hybrid-shard", -1, ALONE | MUST_SHARD},
    {"fsdp-hybrid-shard-zero2", "fsdp-hybrid-shard-zero2", -1, ALONE | MUST_SHARD},
    {"fsdp2", "fsdp2", -1, MAY_SHARD},
    {"fsdp2-no-reshard", "fsdp2-no-reshard", -1, MAY_SHARD},
    {"megatron-lm", "megatron-lm", -1, MEGATRON},
    {"megatron-distributed-optimizer", "megatron-distributed-optimizer", -1, MEGATRON | MAY_SHARD},
    {"megatron-fsdp", "megatron-fsdp", -1, MEGATRON | NO_PP | MAY_SHARD},
    {"accelerate-ddp", "accelerate-ddp", -1, ALONE},
    {"accelerate-fsdp", "accelerate-fsdp", -1, NO_PP | MAY_SHARD},
    {"accelerate-deepspeed", "accelerate-deepspeed", 2, NO_SP | NO_PP},
    {"accelerate-megatron", "accelerate-megatron", -1, MEGATRON},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies, PLAINS = 5 };

static const struct schedule {
  const char *name;
  int least, most; /* stages a rank */
  bool rounds;     /* micro-batches come in equal rounds */
} schedules[] = {
    {"gpipe", 1, 1, false}, {"1f1b", 1, 1, false}, {"interleaved", 2, 3, true},    {"looped-bfs", 2, 3, false},
    {"zb-h1", 1, 1, false}, {"zbv", 2, 2, false},  {"interleaved-zb", 2, 3, true},
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

/* --- text --- */

static void put(struct draw *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct draw *d, const char *format, ...) {
  const size_t used = strlen(d->config);
  va_list args;
  va_start(args, format);
  vsnprintf(d->config + used, sizeof d->config - used, format, args);
  va_end(args);
}

static void put_head(struct draw *d) {
  static const char *const optimizers[] = {
      [DRAW_SGD] = "{\"type\": \"SGD\", \"params\": {\"lr\": 0.05, \"momentum\": 0.9, \"weight_decay\": 0.01}}",
      [DRAW_ADAMW] = "{\"type\": \"AdamW\", \"params\": {\"lr\": 0.001, \"betas\": [0.9, 0.95], \"eps\": 1e-4, "
                     "\"weight_decay\": 0.1}}",
  };
  d->config[0] = '\0';
  put(d,
      "{\"train_micro_batch_size_per_gpu\": %d, \"gradient_accumulation_steps\": %d, \"gradient_clipping\": %s, "
      "\"zero_allow_untested_optimizer\": true,\n \"optimizer\": %s,\n",
      d->micro, d->accumulate, d->clip ? "0.5" : "0.0", optimizers[d->optimizer]);
}

/* --- problems --- */

static int problem_of(const struct draw *d) {
  int b = 0;
  while (batches[b] != d->batch) b++;
  return ((d->model * DRAW_BATCHES + b) * 2 + (int)d->optimizer) * 2 + d->clip;
}

/* A batch of validation data behind the last step. */
#define EVALUATES ", \"eval_interval\": 5, \"eval_iters\": 1"

void draw_problem(struct draw *d, int problem) {
  *d = (struct draw){.world = 1, .index = -1, .tp = 1, .pp = 1, .dp = 1, .cp = 1, .stages = 1, .accumulate = 1};
  d->strategy = "zero-0", d->schedule = "1f1b";
  d->clip = problem % 2;
  d->optimizer = (enum draw_optimizer)(problem / 2 % 2);
  d->batch = d->micro = batches[problem / 4 % DRAW_BATCHES];
  d->model = problem / 4 / DRAW_BATCHES;
  d->problem = problem;
  put_head(d);
  put(d, " \"shardlab\": {\"seq_len\": %d%s}}", draw_models[d->model].seq, EVALUATES);
}

/* --- one choice after the other --- */

static bool fits(const struct draw_model *m, int tp, int pp) {
  return m->layers >= pp && m->heads % tp == 0 && m->kv_heads % tp == 0;
}

static bool any_fits(int tp, int pp) {
  for (int i = 0; i < DRAW_MODELS; i++) {
    if (fits(&draw_models[i], tp, pp)) return true;
  }
  return false;
}

/* Any way to cut the world, one that cuts it three ways four times as likely. */
static void draw_degrees(struct draw *d, struct dice *dice) {
  int n = 0, tp[64], pp[64];
  for (int i = 1; i <= d->world; i++) {
    for (int k = 1; k <= d->world / i; k++) {
      if (d->world % (i * k) != 0 || !any_fits(i, k)) continue;
      const int times = i > 1 && k > 1 && d->world > i * k ? 4 : 1;
      for (int j = 0; j < times; j++) tp[n] = i, pp[n++] = k;
    }
  }
  const int i = pick(dice, n);
  d->tp = tp[i], d->pp = pp[i], d->dp = d->world / (tp[i] * pp[i]);
}

static void draw_model(struct draw *d, struct dice *dice) {
  do d->model = pick(dice, DRAW_MODELS);
  while (!fits(&draw_models[d->model], d->tp, d->pp));
}

/* Accumulation first; then the smallest batch that it and the data-parallel ranks divide. */
static void draw_batch(struct draw *d, struct dice *dice) {
  d->accumulate = 1 + pick(dice, 8);
  for (;; d->accumulate--) {
    for (int b = 0; b < DRAW_BATCHES; b++) {
      d->batch = batches[b];
      d->micro = d->batch / (d->dp * d->accumulate);
      if (d->micro * d->dp * d->accumulate == d->batch) return;
    }
  }
}

static bool has_divisor(int n) {
  for (int i = 2; i < n; i++) {
    if (n % i == 0) return true;
  }
  return false;
}

static bool goes(const struct draw *d, const struct strategy *s) {
  if ((s->rules & ALONE) && d->tp * d->pp > 1) return false;
  if ((s->rules & NO_PP) && d->pp > 1) return false;
  if ((s->rules & MUST_SHARD) && !has_divisor(d->dp)) return false;
  if ((s->rules & MUST_HPZ) && d->dp == 1) return false;
  return true;
}

/* Data parallelism alone takes the presets that allow nothing else more often, hybrid ones most of all. */
static const struct strategy *draw_strategy(struct draw *d, struct dice *dice) {
  const bool alone = d->tp * d->pp == 1 && d->dp > 1 && chance(dice, 1, 2), plain = !alone && chance(dice, 2, 5);
  const unsigned rules = !alone ? ANY : has_divisor(d->dp) && chance(dice, 1, 2) ? MUST_SHARD : ALONE | NO_PP;
  const struct strategy *s;
  do s = &strategies[pick(dice, plain ? PLAINS : STRATEGIES)];
  while (!goes(d, s) || (s->rules & rules) == 0);
  d->strategy = s->name;
  return s;
}

static bool can_run(const struct draw *d, const struct strategy *s, const struct schedule *k, int stages) {
  const bool f1b1 = strcmp(k->name, "1f1b") == 0, interleaved = strcmp(k->name, "interleaved") == 0;
  const int rounds = d->accumulate > d->pp ? d->accumulate / d->pp : 1;
  if (stages * d->pp > draw_models[d->model].layers) return false;
  if (k->rounds && d->accumulate % rounds != 0) return false;
  if (d->pp == 1 && !(s->rules & PLAIN)) return f1b1;
  if ((s->rules & ONE_STAGE) && !f1b1) return false;
  if ((s->rules & MEGATRON) && !f1b1 && !(interleaved && d->accumulate % d->pp == 0)) return false;
  if (strncmp(s->preset, "fsdp2", 5) == 0 && f1b1 && d->accumulate < d->pp) return false;
  return true;
}

static void draw_schedule(struct draw *d, struct dice *dice, const struct strategy *s) {
  const struct schedule *k;
  if (d->pp == 1 && chance(dice, 1, 3)) {
    d->schedule = "1f1b", d->stages = 1;
    return;
  }
  do {
    k = &schedules[pick(dice, SCHEDULES)];
    d->stages = k->least + pick(dice, k->most - k->least + 1);
  } while (!can_run(d, s, k, d->stages));
  d->schedule = k->name;
  if ((s->rules & PLAIN) && d->pp > 1 && chance(dice, 1, 4)) d->csv = 1 + pick(dice, 2);
}

/* By the index, not by the dice, so that what else is drawn stays what it was. Masks of dropout differ from those of
 * whole sequences. Fewer ranks, of more sequences each, then make the batch. */
static void choose_context(struct draw *d, const struct strategy *s) {
  const struct draw_model *m = &draw_models[d->model];
  const bool may = (s->rules & (PLAIN | MAY_SHARD | MEGATRON)) && !(s->rules & ALONE) && m->transformer && !m->dropout;
  const bool often = d->index % 5 > 2 || (d->tp > 1 && d->pp > 1);
  d->cp = 1;
  for (int cp = 2; cp <= 4 && may && often; cp += 2)
    if (d->dp % cp == 0 && m->seq % (2 * cp) == 0 && (d->cp == 1 || d->index % 2 == 0)) d->cp = cp;
  d->micro *= d->cp;
}

/* Whether heads are exchanged for tokens, as PyTorch never does. */
static bool exchanges_heads(const struct draw *d, const struct strategy *s) {
  const struct draw_model *m = &draw_models[d->model];
  const bool torch = strstr(s->preset, "fsdp2") != NULL || strcmp(s->preset, "accelerate-fsdp") == 0;
  return !torch && m->heads % (d->tp * d->cp) == 0 && m->kv_heads % (d->tp * d->cp) == 0 && d->index % 2 == 0;
}

/* --- the "zero_optimization" object --- */

/* All data-parallel ranks are a group, too. */
static int draw_hpz(const struct draw *d, struct dice *dice, const struct strategy *s) {
  int size = 0;
  while ((s->rules & MUST_HPZ) && (size == 0 || d->dp % size != 0)) size = 2 + pick(dice, d->dp - 1);
  return size;
}

static void put_zero(struct draw *d, struct dice *dice, const struct strategy *s, int shard) {
  const int hpz = draw_hpz(d, dice, s);
  if (s->stage < 0) return;
  put(d, " \"zero_optimization\": {\"stage\": %d, \"overlap_comm\": %s", s->stage,
      chance(dice, 1, 2) ? "true" : "false");
  if (chance(dice, 4, 5)) put(d, ", \"reduce_bucket_size\": %d", 1000 + pick(dice, 9000));
  if (s->stage == 1 || s->stage == 2)
    put(d, ", \"allgather_bucket_size\": %d, \"use_multi_rank_bucket_allreduce\": %s",
        chance(dice, 4, 5) ? 500 + pick(dice, 9000) : 500000000, chance(dice, 1, 3) ? "true" : "false");
  if (s->stage == 3) { /* what is not gathered again needs no second copy */
    static const int thresholds[] = {0, 50, 1000}, reuse[] = {0, 6000, 1000000};
    put(d,
        ", \"stage3_param_persistence_threshold\": %d, \"stage3_prefetch_bucket_size\": %d, "
        "\"stage3_max_reuse_distance\": %d",
        thresholds[pick(dice, 3)], chance(dice, 1, 3) ? 0 : 3000, reuse[pick(dice, hpz > 0 ? 2 : 3)]);
  }
  if ((s->rules & PLAIN) && s->stage > 0 && chance(dice, 1, 5)) {
    put(d, ", \"offload_optimizer\": {\"device\": \"cpu\"}");
    if (s->stage == 3 && chance(dice, 1, 2)) put(d, ", \"offload_param\": {\"device\": \"cpu\"}");
  }
  if (s->rules & MICS) put(d, ", \"mics_shard_size\": %d", shard);
  if (hpz > 0) put(d, ", \"zero_hpz_partition_size\": %d", hpz);
  put(d, "},\n");
}

static int draw_shard(const struct draw *d, struct dice *dice, const struct strategy *s) {
  const bool may = (s->rules & MAY_SHARD) || ((s->rules & PLAIN) && s->stage > 0 && !(s->rules & MUST_HPZ));
  int size;
  if (!(s->rules & MUST_SHARD) && !(may && has_divisor(d->dp) && chance(dice, 1, 2))) return 0;
  do size = 2 + pick(dice, d->dp - 2);
  while (d->dp % size != 0);
  return size;
}

/* --- the "shardlab" object --- */

/* By the index: what else is drawn stays what it was. */
static const char *evaluates(const struct draw *d) {
  return d->index % 4 == 0 ? EVALUATES : "";
}

static void put_stages(struct draw *d, struct dice *dice, const struct strategy *s) {
  static const char *const words[] = {"uniform", "parameters", "flops"};
  const int parts = d->pp * d->stages, how = pick(dice, 4);
  if (parts == 1) return;
  const bool blocks = draw_models[d->model].transformer, evenly = s->rules & MEGATRON;
  const bool by_cost = blocks && !evenly && d->stages == 1 && strcmp(d->schedule, "1f1b") == 0 && !d->csv;
  if (how < 3) {
    put(d, ", \"stages\": \"%s\"", how == 2 && by_cost ? "cost" : words[evenly ? 0 : how]);
    return;
  }
  int left = draw_models[d->model].layers;
  put(d, ", \"stages\": [");
  for (int i = 0; i < parts; i++) {
    const int rest = parts - 1 - i, most = left - rest;
    const int some = 1 + pick(dice, most < 3 ? most : 3);
    const int layers = rest == 0 ? left : blocks && chance(dice, 1, 4) ? 0 : some;
    put(d, "%s%d", i > 0 ? ", " : "", layers);
    left -= layers;
  }
  put(d, "]");
}

static void put_recompute(struct draw *d, struct dice *dice, const struct strategy *s) {
  static const char *const words[] = {"none", "selective", "full", "selective_op"};
  static const char *const modules[] = {"\"core_attn\"", "\"layernorm\"", "\"core_attn\", \"layernorm\""};
  if (!draw_models[d->model].transformer) return;
  if (d->pp > 1 && chance(dice, 1, 3)) {
    put(d, ", \"recompute\": [");
    for (int i = 0; i < d->pp; i++) put(d, "%s\"%s\"", i > 0 ? ", " : "", words[pick(dice, 4)]);
    put(d, "]");
  } else {
    put(d, ", \"recompute\": \"%s\"", words[pick(dice, 4)]);
  }
  put(d, ", \"recompute_modules\": [%s]", modules[pick(dice, 3)]);
  if (!(s->rules & (NO_SP | MEGATRON)) && chance(dice, 1, 3)) put(d, ", \"recompute_every\": %d", 2 + pick(dice, 2));
}

static void put_sequence_parallel(struct draw *d, const struct strategy *s) {
  put(d, ", \"sequence_parallel\": true");
  if ((s->rules & (PLAIN | MEGATRON)) && d->index % 3 != 1) put(d, ", \"tp_comm_overlap\": true");
}

static void put_shardlab(struct draw *d, struct dice *dice, const struct strategy *s, int shard) {
  static const char *const ends[] = {"whole", "gathered", "parallel", "autotp"};
  const struct draw_model *m = &draw_models[d->model];
  put(d, " \"shardlab\": {\"seq_len\": %d, \"tp\": %d, \"pp\": %d, \"virtual_stages\": %d, \"schedule\": \"%s\"%s",
      m->seq, d->tp, d->pp, d->stages, d->csv ? d->csv_path : d->schedule, evaluates(d));
  if (s->preset[0] != '\0') put(d, ", \"preset\": \"%s\"", s->preset);
  if (d->cp > 1) put(d, ", \"cp\": %d", d->cp);
  if (d->cp > 1 && exchanges_heads(d, s)) put(d, ", \"cp_comm_type\": \"a2a\"");
  if (shard > 0 && !(s->rules & MICS)) put(d, ", \"shard_size\": %d", shard);
  put_stages(d, dice, s);
  const bool cut = d->tp > 1 && m->transformer && !(s->rules & NO_SP) && d->micro / d->cp * m->seq % d->tp == 0;
  if (cut && chance(dice, 2, 3)) put_sequence_parallel(d, s);
  if (d->tp > 1 && d->pp > 1 && d->index % 2 == 0) put(d, ", \"scatter_gather_tensors_in_pipeline\": true");
  if (strstr(s->preset, "megatron-distributed") || strstr(s->preset, "accelerate-megatron"))
    put(d, ", \"overlap_param_gather\": %s", d->index % 3 != 0 ? "true" : "false");
  put_recompute(d, dice, s);
  if (m->transformer && chance(dice, 1, 3)) put(d, ", \"attention\": \"flash\"");
  if (m->dropout && chance(dice, 1, 2)) put(d, ", \"store_dropout_masks\": true");
  put(d, ", \"limit_all_gathers\": %s, \"unshard_ahead\": %d", chance(dice, 1, 2) ? "true" : "false",
      1 + pick(dice, 3));
  if (strstr(s->preset, "fsdp") && !strstr(s->preset, "megatron") && d->index % 3 != 0) put(d, ", \"no_sync\": true");
  if (strstr(s->preset, "ddp") && d->index % 3 == 0) put(d, ", \"gradient_as_bucket_view\": true");
  if (m->transformer && chance(dice, 1, 3)) put(d, ", \"make_vocab_size_divisible_by\": %d", 2 + pick(dice, 40));
  const bool parallel = strstr(d->config, "sequence_parallel") != NULL || (s->rules & MEGATRON);
  if (d->tp > 1 && m->transformer && !parallel) put(d, ", \"tp_vocab\": \"%s\"", ends[(d->index / 2 + d->tp) % 4]);
  put(d, "%s}}", chance(dice, 1, 2) ? ", \"fuse_epilogues\": \"always\"" : "");
}

void draw_configuration(struct draw *d, int world, int index) {
  struct dice dice = {UINT64_C(20241017) ^ (uint64_t)world << 40 ^ (uint64_t)index << 8};
  *d = (struct draw){.world = world, .index = index, .cp = 1, .stages = 1};
  draw_degrees(d, &dice);
  draw_model(d, &dice);
  draw_batch(d, &dice);
  d->poison = index % 2;
  d->optimizer = index / 2 % 2 ? DRAW_ADAMW : DRAW_SGD;
  d->clip = chance(&dice, 1, 2);
  const struct strategy *s = draw_strategy(d, &dice);
  draw_schedule(d, &dice, s);
  choose_context(d, s);
  if (d->csv) snprintf(d->csv_path, sizeof d->csv_path, "grid3d-%d-%d.csv", world, index);
  d->problem = problem_of(d);
  const int shard = draw_shard(d, &dice, s);
  put_head(d);
  put_zero(d, &dice, s, shard);
  put_shardlab(d, &dice, s, shard);
}

static void tally(struct draw_count *rows, int *n, const char *name, bool has) {
  rows[*n].name = name;
  rows[(*n)++].count += has;
}

int draw_tally(const struct draw *d, struct draw_count *rows) {
  static const char *const words[] = {"\"overlap_comm\": true",
                                      "allreduce\": true",
                                      "\"tp_comm_overlap\": true",
                                      "\"overlap_param_gather\": true",
                                      "offload_optimizer",
                                      "offload_param",
                                      "\"shard_size\"",
                                      "mics_shard_size",
                                      "sequence_parallel",
                                      "scatter_gather",
                                      "\"recompute\": \"full\"",
                                      "\"recompute\": \"selective\"",
                                      "\"recompute\": \"selective_op\"",
                                      "\"recompute\": [",
                                      "recompute_every",
                                      "\"stages\": [",
                                      "\"stages\": \"parameters\"",
                                      "\"stages\": \"flops\"",
                                      "\"stages\": \"cost\"",
                                      "\"attention\": \"flash\"",
                                      "a2a",
                                      "store_dropout_masks",
                                      "zero_hpz_partition_size",
                                      "make_vocab_size",
                                      "\"tp_vocab\": \"whole\"",
                                      "\"tp_vocab\": \"gathered\"",
                                      "\"tp_vocab\": \"autotp\"",
                                      "fuse_epilogues"};
  int n = 0;
  for (int i = 0; i < DRAW_MODELS; i++) tally(rows, &n, draw_models[i].name, d->model == i);
  for (int i = 0; i < STRATEGIES; i++) tally(rows, &n, strategies[i].name, d->strategy == strategies[i].name);
  for (int i = 0; i < SCHEDULES; i++) tally(rows, &n, schedules[i].name, strcmp(d->schedule, schedules[i].name) == 0);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    tally(rows, &n, words[i], strstr(d->config, words[i]) != NULL);
  tally(rows, &n, "csv", d->csv == 1);
  tally(rows, &n, "lowered csv", d->csv == 2);
  tally(rows, &n, "3D", d->tp > 1 && d->pp > 1 && d->dp > 1);
  tally(rows, &n, "clipping", d->clip);
  tally(rows, &n, "cp", d->cp > 1);
  tally(rows, &n, "cp beside tp and pp", d->cp > 1 && d->tp > 1 && d->pp > 1);
  return n;
}
