/* Predicts choices, and caches blocks, stages and whole steps; see fast.h. */
#include "fast/fast.h"

#include "core/op/op.h"
#include "core/plan/kernels.h"
#include "core/plan/plan.h"
#include "cost/collective.h"
#include "cost/topology.h"
#include "fast/covers.h"
#include "fast/map.h"
#include "fast/paths.h"
#include "fast/sample.h"
#include "fast/schedule.h"
#include "fast/stage.h"
#include "fast/wholes.h"

#include <stdlib.h>
#include <string.h>

struct block {
  int32_t number; /* in the order of first use */
  struct sl_fast_sample sample;
  char *refused; /* why this block cannot be built, NULL if it can */
};

struct stage_key {
  int32_t block, place, dp, blocks; /* block: its number */
  int32_t run; /* in a pipeline its schedule, as some frameworks refuse some; else the micro-batches, where a host that
                * launches may get ahead of them */
};

/* The all-reduce over all ranks of a world: its seconds, and those that a host needs to call it. */
struct agreed {
  int world;
  double seconds, host;
};

/* How the ranks of a choice share states and gradients, and whether the formulas cover that. */
struct way {
  struct sl_strategy strategy;
  struct sl_config config; /* as the strategy leaves it; only what no choice changes is read */
  bool covered;
};

enum { AGREED = 64 };

struct sl_fast {
  const struct sl_model *model;
  const struct sl_config *config;
  const struct sl_cluster *cluster;
  struct sl_kernel_costs costs; /* of the kernel set's profile */
  struct sl_cost_rank rank;     /* in a world that fills its nodes */
  struct sl_fast_map blocks;    /* struct block */
  struct sl_fast_map stages;    /* struct sl_fast_stage_cost */
  struct sl_fast_map ways;      /* struct way */
  struct sl_fast_wholes wholes;
  struct agreed agreed[AGREED];
  bool covered; /* the formulas cover model, configuration and cluster */
};

static void free_block(void *value) {
  struct block *b = value;
  sl_fast_sample_free(&b->sample);
  free(b->refused);
  free(b);
}

enum sl_status sl_fast_open(struct sl_fast **out, const struct sl_model *model, const struct sl_config *config,
                            const struct sl_cluster *cluster) {
  struct sl_fast *f;
  if (config->sl.recompute_count > 1)
    return sl_fail(SL_ERR_INPUT, "recomputation differs between pipeline ranks; expected it to be the choice's");
  SL_TRY(sl_calloc(&f, 1, sizeof *f));
  *f = (struct sl_fast){.model = model, .config = config, .cluster = cluster};
  f->covered = sl_fast_covers_inputs(model, config, cluster);
  enum sl_status status;
  SL_GO_FAIL(sl_kernel_costs_load(&f->costs, sl_kernel_set(config->sl.kernels)->name));
  f->costs.launch_blocking = config->sl.launch_blocking;
  SL_GO_FAIL(sl_cost_share(&f->rank, cluster, &f->costs, 1));
  *out = f;
  return SL_OK;
fail:
  sl_fast_close(f);
  return status;
}

void sl_fast_close(struct sl_fast *f) {
  if (f == NULL) return;
  sl_fast_map_clear(&f->stages, free);
  sl_fast_wholes_clear(&f->wholes);
  sl_fast_map_clear(&f->blocks, free_block);
  sl_fast_map_clear(&f->ways, free);
  free(f);
}

/* ---- blocks ---- */

/* What the cost of a block depends on, beside what all choices have in common. */
struct block_kind {
  bool sequence_parallel, pipeline, many, stalls;
};

static struct block_kind kind_of(const struct sl_fast *f, const struct sl_fast_choice *c, bool many) {
  return (struct block_kind){.sequence_parallel = c->sequence_parallel && c->tp > 1,
                             .pipeline = c->pp > 1,
                             .many = many,
                             .stalls = sl_cost_pipeline_stalls(f->cluster, c->pp, c->world, f->model->n_layer)};
}

static enum sl_status take_block(struct sl_fast *f, const struct sl_fast_choice *choice, struct block_kind kind,
                                 struct sl_fast_sample *sample) {
  struct sl_config config;
  sl_fast_configure(f->config, choice, &config);
  SL_TRY(sl_fast_sample_take(sample, f->model, &config, f->cluster, kind.pipeline, kind.many ? 2 : 1));
  sample->stalls = kind.stalls;
  const enum sl_status status = sl_fast_sample_price(sample, f->cluster, &f->rank);
  if (status != SL_OK) sl_fast_sample_free(sample);
  return status;
}

/* `many`: several ranks, which share states. */
static enum sl_status find_block(struct sl_fast *f, const struct sl_fast_choice *choice, bool many,
                                 const struct block **out) {
  const struct block_kind kind = kind_of(f, choice, many);
  const struct sl_fast_key key = {{choice->micro_batch, choice->tp, choice->zero_stage, (int64_t)choice->recompute,
                                   kind.sequence_parallel | kind.pipeline << 1 | kind.many << 2 | kind.stalls << 3}};
  struct block *b = sl_fast_map_find(&f->blocks, &key);
  enum sl_status status = SL_OK;
  *out = b;
  if (b != NULL) return b->refused == NULL ? SL_OK : sl_fail(SL_ERR_INPUT, "%s", b->refused);
  SL_TRY(sl_calloc(&b, 1, sizeof *b));
  b->number = (int32_t)f->blocks.count;
  const bool clear = sl_error_message()[0] == '\0'; /* an earlier message must not be taken for this failure's */
  status = take_block(f, choice, kind, &b->sample);
  if (status == SL_ERR_INPUT && clear) b->refused = strdup(sl_error_message());
  if (status != SL_OK && b->refused == NULL) goto fail;
  SL_GO_FAIL(sl_fast_map_add(&f->blocks, &key, b));
  *out = b;
  return b->refused == NULL ? SL_OK : SL_ERR_INPUT;
fail:
  free_block(b);
  return status;
}

/* ---- stages ---- */

struct step {
  const struct sl_fast_choice *choice;
  int dp;
  const struct block *block;
  const struct way *way;
  const struct sl_fast_stage_cost *stages[SL_FAST_MAX_STAGES];
  double transfer[SL_FAST_MAX_STAGES], ends[SL_FAST_MAX_STAGES];
  double hosts[SL_FAST_MAX_STAGES]; /* when each stage's host has launched all backwards */
};

static enum sl_status price_stage(struct sl_fast *f, const struct step *s, const struct stage_key *key,
                                  struct sl_fast_stage_cost *cost) {
  const struct sl_fast_setting setting = {.cluster = f->cluster,
                                          .rank = &f->rank,
                                          .config = &s->way->config,
                                          .strategy = s->way->strategy,
                                          .tp = s->choice->tp,
                                          .dp = key->dp,
                                          .pipeline = s->choice->pp > 1,
                                          .n_micro = s->choice->n_micro};
  return sl_fast_stage_price(cost, &setting, &s->block->sample.stage[key->place], s->block->sample.members, key->blocks,
                             0);
}

static enum sl_status find_stage(struct sl_fast *f, const struct step *s, const struct stage_key *key,
                                 const struct sl_fast_stage_cost **out) {
  const struct sl_fast_key at = {{key->block, key->place, key->dp, key->blocks, key->run}};
  struct sl_fast_stage_cost *cost = sl_fast_map_find(&f->stages, &at);
  enum sl_status status;
  *out = cost;
  if (cost != NULL) return SL_OK;
  SL_TRY(sl_calloc(&cost, 1, sizeof *cost));
  SL_GO_FAIL(price_stage(f, s, key, cost));
  SL_GO_FAIL(sl_fast_map_add(&f->stages, &at, cost));
  *out = cost;
  return SL_OK;
fail:
  free(cost);
  return status;
}

/* ---- a step ---- */

static int64_t blocks_of(const struct sl_fast *f, const struct sl_fast_choice *c, int stage) {
  if (c->stage_layers != NULL) return c->stage_layers[stage];
  return f->model->n_layer / c->pp + (stage < f->model->n_layer % c->pp);
}

static int32_t place_of(int stage, int stages) {
  if (stages == 1) return SL_FAST_WHOLE;
  return stage == 0 ? SL_FAST_FIRST : stage == stages - 1 ? SL_FAST_LAST : SL_FAST_MIDDLE;
}

static enum sl_status find_stages(struct sl_fast *f, struct step *s) {
  const struct sl_fast_choice *c = s->choice;
  const int64_t run = c->pp > 1 ? (int64_t)c->schedule : sl_cost_has_host(&f->rank) ? c->n_micro : 0;
  struct stage_key before = {-1, -1, -1, -1, -1};
  for (int i = 0; i < c->pp; i++) {
    const struct stage_key key = {s->block->number, place_of(i, c->pp), s->dp, (int32_t)blocks_of(f, c, i),
                                  (int32_t)run};
    if (memcmp(&key, &before, sizeof key) == 0) {
      s->stages[i] = s->stages[i - 1];
    } else {
      SL_TRY(find_stage(f, s, &key, &s->stages[i]));
    }
    before = key;
  }
  return SL_OK;
}

/* Whether stages are a multiple of every level's units apart, so that all messages cross the same link. */
static bool crosses_alike(const struct sl_cluster *cluster, int64_t apart) {
  for (int i = 0; i < cluster->n_link; i++)
    if (cluster->link[i].span != INT64_MAX && apart % cluster->link[i].span != 0) return false;
  return true;
}

static void price_transfers(const struct sl_fast *f, struct step *s) {
  const struct sl_fast_choice *c = s->choice;
  const int64_t seq = f->config->sl.seq_len > 0 ? f->config->sl.seq_len : f->model->n_positions;
  const int64_t apart = (int64_t)s->dp * c->tp;
  const bool cut = c->tp > 1 && (c->sequence_parallel || f->config->sl.scatter_gather);
  const int64_t count = c->micro_batch * seq * f->model->n_embd / (cut ? c->tp : 1);
  const double bytes = (double)(count * sl_dtype_bytes(f->config->param_dtype));
  const struct sl_work work = {
      .kind = SL_OP_SEND, .lane = SL_LANE_SEND_F, .members = 2, .parts = 1, .bytes = bytes, .size = bytes};
  const bool alike = crosses_alike(f->cluster, apart);
  for (int i = 0; i + 1 < c->pp; i++) {
    s->transfer[i] = i > 0 && alike ? s->transfer[0]
                                    : sl_cost_peer(&f->rank, sl_cluster_link(f->cluster, i * apart, apart, 2), &work);
  }
}

/* The all-reduce of the loss, squares and flags over all ranks. */
static const struct agreed *agreement(struct sl_fast *f, int world) {
  struct agreed *const known = &f->agreed[(unsigned)world % AGREED];
  const struct sl_cost_group group = {.stride = 1, .size = world, .inner = world};
  const double size = sl_fast_agreed_bytes();
  const struct sl_work work = {
      .kind = SL_OP_ALL_REDUCE, .dtype = SL_F64, .members = world, .parts = 1, .bytes = size, .size = size};
  static const struct agreed alone = {.world = 1};
  if (world == 1) return &alone;
  if (known->world == world) return known;
  const struct sl_link link = sl_cost_group_link(f->cluster, &group);
  *known = (struct agreed){world, sl_cost_collective(&f->rank, &link, &work), sl_cost_call_host(&f->rank, &work, 0)};
  return known;
}

/* The all-reduce of a tied embedding's gradient over the two pipeline ranks that hold it. */
static double tie(const struct sl_fast *f, const struct step *s) {
  const struct sl_fast_choice *c = s->choice;
  const double size = s->stages[0]->tied_bytes;
  const struct sl_cost_group group = {.stride = (int64_t)(c->pp - 1) * s->dp * c->tp, .size = 2, .inner = 2};
  const struct sl_work work = {
      .kind = SL_OP_ALL_REDUCE, .dtype = SL_F32, .members = 2, .parts = 1, .bytes = size, .size = size};
  if (!(size > 0)) return 0;
  const struct sl_link link = sl_cost_group_link(f->cluster, &group);
  return sl_cost_collective(&f->rank, &link, &work);
}

/* When all gradients of a stage are complete. */
static double reduced_at(const struct step *s, int stage) {
  return s->ends[stage] + s->stages[stage]->tail[s->choice->n_micro == 1];
}

/* When the stage's own part of a tied embedding's gradient is complete. */
static double tied_at(const struct step *s, int stage) {
  return s->ends[stage] + s->stages[stage]->tied_tail[s->choice->n_micro == 1];
}

static double most(double a, double b) {
  return a > b ? a : b;
}

/* The end of the step: when the gradients of the slowest stage and their norm are complete, and then what the slowest
 * stage does after the all-reduce of all ranks. A host that is behind launches the norm's last op, calls the all-reduce
 * and launches the update later than that, and what it has launched last still has to run. */
static void put_end(struct sl_fast *f, const struct step *s, struct sl_fast_prediction *out) {
  const struct sl_fast_choice *c = s->choice;
  const struct agreed *agree = agreement(f, c->world);
  const bool blocking = f->rank.kernel_costs.launch_blocking;
  const double seconds = tie(f, s);
  const double tied = seconds > 0 ? most(tied_at(s, 0), tied_at(s, c->pp - 1)) + seconds : 0;
  double agreed = 0, after = 0, norm = 0, update = 0, behind = 0;
  for (int i = 0; i < c->pp; i++) {
    const struct sl_fast_stage_cost *x = s->stages[i];
    const double reduced = i == 0 || i == c->pp - 1 ? most(reduced_at(s, i), tied) : reduced_at(s, i);
    const double host = s->hosts[i] + agree->host;
    agreed = most(agreed, most(reduced + x->norm, s->hosts[i] + x->host_norm + x->norm_last));
    agreed = most(agreed, host + x->host_norm);
    after = most(after, x->update + x->gather + x->control + (blocking ? x->host + agree->host : 0));
    norm = most(norm, x->norm);
    behind = most(behind, host + x->behind + x->gather);
    update = most(update, x->update + x->control);
  }
  out->step_time_s = most(agreed + agree->seconds + after, behind);
  out->optimizer_s = norm + agree->seconds + update;
}

/* The stage with the most computation, and its seconds. */
static int busiest(const struct step *s, double *seconds) {
  const double m = (double)s->choice->n_micro;
  int found = 0;
  *seconds = 0;
  for (int i = 0; i < s->choice->pp; i++) {
    const struct sl_fast_stage_cost *x = s->stages[i];
    const double busy = m * x->forward.end + x->first.end + (m - 1) * x->next.end;
    if (busy > *seconds) found = i;
    *seconds = most(*seconds, busy);
  }
  return found;
}

static double last_end(const struct step *s) {
  double end = 0;
  for (int i = 0; i < s->choice->pp; i++) end = most(end, s->ends[i]);
  return end;
}

/* The parts of the step, once its times are known. `untransferred`: the end of all backwards if messages took no
 * time. */
static void put_parts(const struct step *s, double untransferred, struct sl_fast_prediction *out) {
  const double m = (double)s->choice->n_micro;
  double busy;
  const struct sl_fast_stage_cost *x = s->stages[busiest(s, &busy)];
  const double held = m > 1 ? x->last[0].end - x->next.end : x->last[1].end - x->first.end;
  out->compute_s = m * x->bare_forward + x->bare_first + (m - 1) * x->bare_next;
  out->exposed_tp_s = busy - out->compute_s;
  out->exposed_pp_s = last_end(s) - untransferred;
  out->bubble_s = untransferred - busy - held;
  out->exposed_dp_s = held + out->step_time_s - last_end(s) - out->optimizer_s;
}

/* If all micro-batches are in flight, all forwards precede any backward and the gradients, and no micro-batch is
 * received during a backward. */
static double working(const struct sl_fast_stage_cost *x, int64_t in_flight, int64_t n_micro) {
  const double kept = (double)in_flight * x->kept;
  if (in_flight < n_micro) return kept + x->work;
  const double work = kept + x->work_first, later = kept - x->kept + x->work_backward;
  return (n_micro == 1 ? work : most(work, later)) - x->input;
}

static void put_memory(const struct step *s, struct sl_fast_prediction *out) {
  const struct sl_fast_choice *c = s->choice;
  for (int i = 0; i < c->pp; i++) {
    const struct sl_fast_stage_cost *x = s->stages[i];
    const int64_t held = c->pp > 1 && c->schedule == SL_FAST_GPIPE ? c->n_micro : c->pp - i;
    const int64_t in_flight = held < c->n_micro ? held : c->n_micro;
    const double work = working(x, in_flight, c->n_micro);
    const double bytes =
        x->persistent + most(most(work, x->work_bottom[c->n_micro == 1]), x->work_step[c->n_micro == 1]);
    if (bytes > out->memory_bytes) out->memory_bytes = bytes;
  }
}

static struct sl_fast_pipeline pipeline_of(const struct sl_fast *f, const struct step *s, const double *transfer) {
  return (struct sl_fast_pipeline){.schedule = s->choice->pp > 1 ? s->choice->schedule : SL_FAST_1F1B,
                                   .stages = s->choice->pp,
                                   .micro_batches = s->choice->n_micro,
                                   .stage = s->stages,
                                   .slow = f->rank.kernel_costs.comm_compute_share,
                                   .transfer = transfer};
}

/* Uses the closed form if there is one, and otherwise simulates action by action. */
static enum sl_status run(const struct sl_fast *f, struct step *s, const struct sl_fast_pipeline *p) {
  const bool alone = !sl_cost_has_host(&f->rank) && (p->slow == 0 || p->stages == 1);
  memset(s->hosts, 0, (size_t)p->stages * sizeof *s->hosts);
  if (alone && s->choice->stage_layers == NULL && sl_fast_sum_pipeline(p, s->ends)) return SL_OK;
  return sl_fast_run_pipeline(p, s->ends, s->hosts);
}

/* *covered: false, without a prediction, if they turn out not to cover the choice. */
static enum sl_status predict_by_formulas(struct sl_fast *f, const struct sl_fast_choice *c, const struct way *way,
                                          bool *covered, struct sl_fast_prediction *out) {
  static const double no_transfer[SL_FAST_MAX_STAGES];
  struct step s;
  s.choice = c, s.way = way, s.dp = c->world / (c->tp * c->pp);
  SL_TRY(find_block(f, c, s.dp > 1 && way->strategy.shard_optimizer, &s.block));
  SL_TRY(find_stages(f, &s));
  price_transfers(f, &s);
  const struct sl_fast_pipeline pipeline = pipeline_of(f, &s, s.transfer), bare = pipeline_of(f, &s, no_transfer);
  *covered = sl_fast_messages_keep_up(&pipeline);
  if (!*covered) return SL_OK;
  SL_TRY(run(f, &s, &bare));
  const double untransferred = last_end(&s);
  if (c->pp > 1) SL_TRY(run(f, &s, &pipeline));
  put_end(f, &s, out);
  *covered = sl_fast_hides_little(&pipeline, out->step_time_s);
  put_parts(&s, untransferred, out);
  put_memory(&s, out);
  return SL_OK;
}

/* *out: the way of a choice if the formulas cover both, otherwise NULL. It is chosen once. */
static enum sl_status find_way(struct sl_fast *f, const struct sl_fast_choice *c, const struct way **out) {
  const int dp = c->world / (c->tp * c->pp);
  const struct sl_fast_key key = {{c->tp, c->pp, dp, c->zero_stage, (int64_t)c->schedule}};
  enum sl_status status;
  *out = NULL;
  if (!f->covered || !sl_fast_covers_choice(f->config, f->cluster, &f->rank.kernel_costs, c)) return SL_OK;
  struct way *way = sl_fast_map_find(&f->ways, &key);
  if (way == NULL) {
    SL_TRY(sl_calloc(&way, 1, sizeof *way));
    sl_fast_configure(f->config, c, &way->config);
    SL_GO_FAIL(sl_strategy_choose(&way->strategy, &way->config, dp));
    way->covered = sl_fast_covers_strategy(&way->strategy, &way->config);
    SL_GO_FAIL(sl_fast_map_add(&f->ways, &key, way));
  }
  *out = way->covered ? way : NULL;
  return SL_OK;
fail:
  free(way);
  return status;
}

enum sl_status sl_fast_predict(struct sl_fast *f, const struct sl_fast_choice *c, struct sl_fast_prediction *out) {
  struct sl_config config;
  const struct way *way;
  bool covered = false;
  *out = (struct sl_fast_prediction){0};
  SL_TRY(sl_fast_check_choice(f->model, c));
  SL_TRY(find_way(f, c, &way));
  if (way != NULL) SL_TRY(predict_by_formulas(f, c, way, &covered, out));
  if (covered) return SL_OK;
  sl_fast_configure(f->config, c, &config);
  return sl_fast_wholes_predict(&f->wholes, &(struct sl_fast_inputs){f->model, &config, f->cluster, &f->costs}, c, out);
}
