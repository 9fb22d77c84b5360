/* Whole steps on the exact clock; see whole.h. */
#include "fast/whole.h"

#include "core/base/checked.h"
#include "core/job/job.h"
#include "core/model/families.h"
#include "core/plan/kernels.h"
#include "core/program/memory_report.h"
#include "core/run/timeline.h"
#include "fast/stretch.h"
#include "sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A plan with its programs. */
struct plan {
  struct sl_model model;
  struct sl_config config;
  struct sl_plan plan;
  struct sl_job job;
  bool shallow; /* its model's tensors are its own, not borrowed */
};

/* A step of a number of micro-batches. */
struct step {
  struct plan *plan;
  struct sl_job deep; /* derived from that plan; if it has no classes, the plan's own job is used */
  int64_t micro_batches;
  double *live; /* per class: the peak bytes */
  struct sl_fast_prediction seconds;
  struct sl_fast_prediction each; /* of a micro-batch in the middle of the step, without a pipeline */
};

struct sl_fast_whole {
  struct step steps[3]; /* the shortest first; or only the step itself */
  int count;
  bool straight; /* time and memory grow evenly from the first of three steps to the last, as the second one tells */
};

static void close_plan(struct plan *p) {
  if (p == NULL) return;
  sl_job_free(&p->job);
  sl_plan_free(&p->plan);
  if (p->shallow) free(p->model.tensors);
  free(p);
}

static void close_step(struct step *s) {
  sl_job_free(&s->deep);
  close_plan(s->plan);
  free(s->live);
  *s = (struct step){0};
}

/* What a caller of sl_fast_whole_take asks for. */
struct request {
  const struct sl_model *model;
  const struct sl_config *config;
  const struct sl_cluster *cluster;
  int world;
  int64_t n_micro;
  int stages;
  int64_t layers[SL_MAX_STAGES]; /* of each stage */
  int64_t least;                 /* of those that have any */
  struct sl_strategy strategy;
  int64_t more; /* the number of blocks after which programs repeat; 0: not known yet, -1: they do not */
};

/* ---- plans ---- */

/* Opens the plan with `less` fewer blocks in every stage that has any. */
static enum sl_status open_plan(struct plan **out, const struct request *r, int64_t less, bool build) {
  const struct sl_build_options options = {.memory_curve = less > 0, .unplaced = true, .repeated = less == 0};
  enum sl_status status;
  struct plan *p;
  SL_TRY(sl_calloc(&p, 1, sizeof *p));
  *out = p;
  p->model = *r->model;
  p->config = *r->config;
  p->config.train_batch_size = 0;
  p->config.gradient_accumulation_steps = r->n_micro;
  if (less > 0) {
    p->shallow = true;
    p->model.tensors = NULL;
    p->model.tensor_count = 0;
    p->config.sl.stages_by = SL_STAGES_LIST;
    p->config.sl.stage_count = r->stages;
    for (int i = 0; i < r->stages; i++) {
      p->config.sl.stage_layers[i] = r->layers[i] > 0 ? r->layers[i] - less : 0;
      p->model.n_layer -= r->layers[i] - p->config.sl.stage_layers[i];
    }
    SL_GO_FAIL(r->model->family->make_tensors(&p->model));
  }
  SL_GO_FAIL(sl_plan_build(&p->plan, &p->model, &p->config, r->cluster, r->world));
  if (build) SL_GO_FAIL(sl_job_build(&p->job, &p->plan, &options));
  return SL_OK;
fail:
  close_plan(p);
  *out = NULL;
  return status;
}

/* Reads the stages of the plan at full depth. */
static enum sl_status read_stages(struct request *r) {
  struct plan *p;
  SL_TRY(open_plan(&p, r, 0, false));
  r->stages = p->plan.stage_count;
  r->least = 0;
  r->strategy = p->plan.strategy;
  const bool idle = p->plan.schedule.ranks > 0 && r->stages < p->plan.pp;
  for (int i = 0; i < r->stages && i < SL_MAX_STAGES; i++) {
    r->layers[i] = p->plan.stages[i].layer_count;
    if (r->layers[i] > 0 && (r->least == 0 || r->layers[i] < r->least)) r->least = r->layers[i];
  }
  /* such plans are never shortened */
  if (idle || r->stages > SL_MAX_STAGES || !sl_model_reads_tokens(r->model)) r->least = 0;
  close_plan(p);
  return SL_OK;
}

/* The parameters that a rank has of one block, or of all tensors. */
static int64_t numel_of(const struct request *r, bool all) {
  int64_t sum = 0;
  for (int i = 0; i < r->model->tensor_count; i++)
    sum += all || r->model->tensors[i].layer == 0 ? r->model->tensors[i].numel : 0;
  return sum / r->config->sl.tp;
}

/* Does an update copy the gradients of one sub-group after another? What it needs then does not grow with the blocks. */
static bool by_sub_groups(const struct request *r) {
  const struct sl_strategy *s = &r->strategy;
  const int64_t ranks = r->world / (r->config->sl.tp * r->config->sl.pp),
                members = s->shard_size > 0 ? s->shard_size : ranks;
  const bool copies = s->copies_gradients == SL_COPIES_FLAT && s->units == SL_UNITS_PARAMETER;
  return copies && numel_of(r, true) / members >= r->config->zero.sub_group_size;
}

/* The number of blocks from either end after which all blocks are treated the same: those whose parameters ZeRO stage 3
 * prefetches or keeps gathered, and those that a bucket spans. */
static int64_t reach(const struct request *r) {
  const struct sl_config *c = r->config;
  const struct sl_strategy *s = &r->strategy;
  const int64_t block = numel_of(r, false), all = numel_of(r, true), bucket = s->bucket;
  int64_t most = s->units != SL_UNITS_LAYER && bucket < all ? bucket : 0;
  if (!sl_model_blocks_alike(r->model) || by_sub_groups(r))
    return r->model->n_layer; /* where attention windows alternate, no block represents the others */
  if (block < 1 || (s->units == SL_UNITS_FLAT && all >= 2 * c->zero.allgather_bucket_size)) return r->model->n_layer;
  if (!s->shard_params || s->release != SL_RELEASE_DISTANCE) return most > 0 ? most / block + 1 : 0;
  if (c->zero.max_reuse_distance > most) most = c->zero.max_reuse_distance;
  if (c->zero.max_live_parameters > most) most = c->zero.max_live_parameters;
  if (c->zero.prefetch_bucket_size > most) most = c->zero.prefetch_bucket_size;
  return 2 * (most / block + 1);
}

/* ---- one step ---- */

static enum sl_status take_live(struct step *s, const struct sl_job *a, const struct sl_job *b, int64_t times) {
  SL_TRY(sl_calloc(&s->live, (size_t)a->class_count, sizeof *s->live));
  for (int i = 0; i < a->class_count; i++) {
    s->live[i] = (double)a->classes[i].memory[SL_SPACE_DEVICE].live_peak_bytes;
    if (b != NULL) SL_TRY(sl_fast_stretch_live(a, b, NULL, i, times, &s->live[i]));
  }
  return SL_OK;
}

/* Whether a third depth confirms what was derived from two: the same programs and the same memory. */
static enum sl_status check_third(const struct request *r, int64_t less, const struct sl_job *a, const struct sl_job *b,
                                  bool *fits) {
  enum sl_status status;
  struct plan *c = NULL;
  struct sl_job two = {0};
  double live = 0;
  SL_GO(sl_fast_stretch(&two, a, b, 2, fits));
  if (!*fits) goto done;
  SL_GO(open_plan(&c, r, less, true));
  *fits = sl_fast_same_steps(&two, &c->job);
  for (int i = 0; *fits && i < c->job.class_count; i++) {
    const double own = (double)c->job.classes[i].memory[SL_SPACE_DEVICE].live_peak_bytes;
    SL_GO(sl_fast_stretch_live(a, b, &c->job, i, 2, &live));
    *fits = fabs(live / own - 1) < 1e-3;
  }
done:
  sl_job_free(&two);
  close_plan(c);
  return status;
}

/* Derives the step from a plan with `depth` blocks in the shallowest stage and one with `more` blocks more. A third
 * one, with twice as many more, tells whether the result is right. */
static enum sl_status try_depth(struct step *out, const struct request *r, int64_t depth, int64_t more, bool *fits) {
  enum sl_status status;
  const int64_t less = r->least - depth;
  struct plan *a = NULL, *b = NULL;
  *fits = true;
  SL_GO(open_plan(&a, r, less, true));
  SL_GO(open_plan(&b, r, less - more, true));
  if (r->more == 0) SL_GO(check_third(r, less - 2 * more, &a->job, &b->job, fits));
  if (!*fits) goto done;
  SL_GO(sl_fast_stretch(&out->deep, &a->job, &b->job, less / more, fits));
  if (!*fits) goto done;
  SL_GO(take_live(out, &a->job, &b->job, less / more));
  out->plan = a;
  a = NULL;
done:
  if (status != SL_OK || !*fits) sl_job_free(&out->deep);
  close_plan(a);
  close_plan(b);
  return status;
}

/* The smallest number of blocks after which programs may repeat: those that a bucket spans, rounded up to the interval
 * of recomputation. */
static int64_t least_more(const struct request *r, int64_t every) {
  const struct sl_strategy *s = &r->strategy;
  const bool buckets = s->units != SL_UNITS_LAYER && s->bucket < numel_of(r, true);
  const int64_t block = numel_of(r, false), span = buckets && block > 0 ? (s->bucket + block - 1) / block : 1;
  return sl_round_up(span, every);
}

/* Tries a depth only if all plans tried together have fewer blocks than the model. */
static enum sl_status take_step(struct step *out, struct request *r) {
  enum { LEAST_BLOCKS = 5, TIMES = 3 }; /* memory still changes up to the third block from either end */
  const int64_t every = r->config->sl.recompute_every > 1 ? r->config->sl.recompute_every : 1;
  const int64_t first = r->more > 0 ? r->more : least_more(r, every);
  const int64_t last = r->more > 0 ? r->more : first + (TIMES - 1) * every;
  const int64_t depth = LEAST_BLOCKS + reach(r);
  int64_t tried = 0;
  bool fits = false;
  *out = (struct step){.micro_batches = r->n_micro};
  for (int64_t more = first; more <= last && r->more >= 0 && !fits; more += every) {
    const int64_t from = depth + ((r->least - depth) % more + more) % more;
    tried += 2 * from + more;
    if (from < 1 || tried >= r->least) break;
    SL_TRY(try_depth(out, r, from, more, &fits));
    if (fits) r->more = more;
  }
  if (fits) return SL_OK;
  r->more = -1;
  SL_TRY(open_plan(&out->plan, r, 0, true));
  return take_live(out, &out->plan->job, NULL, 0);
}

/* ---- a whole ---- */

/* Numbers of micro-batches of the steps that serve for many: `count` of them. */
struct lengths {
  int64_t at[3];
  int count;
};

/* Micro-batches without a pipeline. LONE: a first, a last and two between them. SETTLED: until the slowing of kernels is
 * about steady. */
enum { LONE = 4, SETTLED = 8, LEAST_FAR = 32 };

/* From a step whose pipeline is full for a while to one with at least `n_micro` micro-batches. A step is the longest of
 * several paths: through one stage or another, through the device or its host. All grow with the micro-batches, but
 * not alike, so one that is the longest in a few micro-batches may not be in many. A path that goes up and down all
 * stages grows by one such turn for as many micro-batches as there are stages: these steps and the original one have the
 * same rest. With more stages per rank, more micro-batches are in flight, and the slowing of kernels takes a few of them
 * to become steady. */
static struct lengths lengths_of(const struct sl_config *c, int64_t n_micro) {
  const int64_t stages = strcmp(c->sl.schedule, "zbv") == 0 ? 2 : c->sl.virtual_stages > 1 ? c->sl.virtual_stages : 1;
  const int64_t unit = c->sl.pp;
  if (unit == 1 && c->sl.kernels == SL_KERNELS_SHARDLAB) return (struct lengths){{LONE}, 1};
  const int64_t near = unit == 1 ? SETTLED : sl_round_up(SETTLED, unit) + stages * unit;
  const int64_t rest = n_micro % unit;
  int64_t far = LEAST_FAR;
  while (far < n_micro || far < 2 * near) far *= 2;
  far = sl_round_up(far, unit);
  return (struct lengths){{near + rest, near + sl_round_up((far - near) / 4, unit) + rest, far + rest}, 3};
}

/* If all forwards come first, the number of micro-batches in flight grows with their total, and the time of the memory
 * peak changes with it. Some schedules deal micro-batches in rounds of one per rank, larger ones if they do not divide
 * (core/schedule/action.h). */
int64_t sl_fast_whole_length(const struct sl_config *config, int64_t n_micro) {
  const char *name = config->sl.schedule;
  const bool first = config->sl.pp > 1 && (strcmp(name, "gpipe") == 0 || strcmp(name, "looped-bfs") == 0);
  const bool even = strncmp(name, "interleaved", 11) != 0 || n_micro % config->sl.pp == 0;
  const struct lengths l = lengths_of(config, n_micro);
  return first || !even || n_micro <= l.at[0] ? n_micro : -l.at[l.count - 1];
}

void sl_fast_whole_free(struct sl_fast_whole *w) {
  if (w == NULL) return;
  for (int i = 0; i < w->count; i++) close_step(&w->steps[i]);
  free(w);
}

enum sl_status sl_fast_whole_take(struct sl_fast_whole **out, const struct sl_model *model,
                                  const struct sl_config *config, const struct sl_cluster *cluster, int world,
                                  int64_t n_micro, bool itself, int64_t *more) {
  const struct lengths l = itself ? (struct lengths){{n_micro}, 1} : lengths_of(config, n_micro);
  struct request *r = NULL;
  struct sl_fast_whole *w = NULL;
  enum sl_status status;
  SL_GO_FAIL(sl_calloc(&r, 1, sizeof *r));
  SL_GO_FAIL(sl_calloc(&w, 1, sizeof *w));
  *r = (struct request){
      .model = model, .config = config, .cluster = cluster, .world = world, .n_micro = l.at[0], .more = *more};
  SL_GO_FAIL(read_stages(r));
  for (; w->count < l.count; w->count++) {
    r->n_micro = l.at[w->count];
    SL_GO_FAIL(take_step(&w->steps[w->count], r));
  }
  *more = r->more;
  free(r);
  *out = w;
  return SL_OK;
fail:
  if (w != NULL && w->count < 3) close_step(&w->steps[w->count]);
  sl_fast_whole_free(w);
  free(r);
  return status;
}

/* ---- seconds ---- */

/* Where the time goes: in the whole step, and up to the ends of the third-last and the second-last micro-batch. */
struct watch {
  struct sl_timeline step, up_to[2];
  int64_t micro_batches;
  bool pipeline;
};

static void observe(void *context, int local, int64_t step, const struct sl_program *program,
                    const struct sl_completion *done) {
  struct watch *w = context;
  const struct sl_action *action =
      &program->instances[sl_issue_instance(program, sl_issue_find(program, done->index))].action;
  sl_timeline_add(&w->step, local, step, program, done);
  for (int i = 0; i < 2 && !w->pipeline; i++)
    if (action->kind != SL_ACTION_STEP && action->micro_batch <= w->micro_batches - 3 + i)
      sl_timeline_add(&w->up_to[i], local, step, program, done);
}

static void forget(void *context) {
  struct watch *w = context;
  sl_timeline_forget(&w->step);
  for (int i = 0; i < 2; i++) sl_timeline_forget(&w->up_to[i]);
}

/* The breakdown of a rank's time. Whatever is neither compute nor a collective is a bubble, transfers included. */
static enum sl_status parts_of(const struct sl_timeline *t, int local, double seconds, struct sl_fast_prediction *out) {
  struct sl_breakdown b;
  SL_TRY(sl_timeline_breakdown(t, local, &b));
  if (!(seconds > 0)) seconds = b.step_s;
  const double optimizer = b.busy_s[SL_CLASS_OPTIMIZER], rest = seconds - b.compute_s;
  *out = (struct sl_fast_prediction){.step_time_s = seconds, .optimizer_s = optimizer < b.compute_s ? optimizer : 0};
  out->compute_s = b.compute_s - out->optimizer_s;
  out->bubble_s = b.bubble_s < rest ? b.bubble_s : rest;
  out->exposed_tp_s = fmin(b.exposed_s[SL_GROUP_TP], rest - out->bubble_s);
  out->exposed_dp_s = rest - out->bubble_s - out->exposed_tp_s;
  return SL_OK;
}

/* x + times (z - y), part by part. */
static struct sl_fast_prediction add_parts(const struct sl_fast_prediction *x, double times,
                                           const struct sl_fast_prediction *y, const struct sl_fast_prediction *z) {
  return (struct sl_fast_prediction){.step_time_s = x->step_time_s + times * (z->step_time_s - y->step_time_s),
                                     .compute_s = x->compute_s + times * (z->compute_s - y->compute_s),
                                     .bubble_s = x->bubble_s + times * (z->bubble_s - y->bubble_s),
                                     .exposed_tp_s = x->exposed_tp_s + times * (z->exposed_tp_s - y->exposed_tp_s),
                                     .exposed_dp_s = x->exposed_dp_s + times * (z->exposed_dp_s - y->exposed_dp_s),
                                     .optimizer_s = x->optimizer_s + times * (z->optimizer_s - y->optimizer_s)};
}

/* Without a pipeline, micro-batches are counted on the rank whose own take longest. Ranks agree on the end of a step,
 * but until the reductions each goes at the pace of its tensor-parallel group, and one that spans nodes is slower. */
static enum sl_status price_step(struct step *s, const struct sl_kernel_costs *costs) {
  enum sl_status status;
  struct watch w = {.pipeline = s->plan->plan.pp > 1, .micro_batches = s->micro_batches};
  struct sl_fast_prediction up_to[2];
  struct sl_run run = {.exec = &sl_exec_sim,
                       .job = s->deep.classes != NULL ? &s->deep : &s->plan->job,
                       .options = {.fold = true, .fail_rank = -1},
                       .steps = 1,
                       .observe = observe,
                       .observe_context = &w,
                       .forget = forget};
  s->plan->plan.kernel_costs = *costs;
  SL_GO(sl_run_execute(&run));
  const int slowest = sl_timeline_slowest(w.up_to[1].count > 0 ? &w.up_to[1] : &w.step);
  SL_GO(parts_of(&w.step, slowest, run.results[0].end_s - run.results[0].start_s, &s->seconds));
  for (int i = 0; i < 2; i++) SL_GO(parts_of(&w.up_to[i], slowest, 0, &up_to[i]));
  s->each = add_parts(&(struct sl_fast_prediction){0}, 1, &up_to[0], &up_to[1]);
done:
  sl_run_close(&run);
  sl_timeline_free(&w.step);
  for (int i = 0; i < 2; i++) sl_timeline_free(&w.up_to[i]);
  return status;
}

/* Bytes of a class in a step of n micro-batches, on the line from step x to step y. */
static double live_between(const struct step *x, const struct step *y, int64_t n, int class) {
  return x->live[class] + (double)(n - x->micro_batches) / (double)(y->micro_batches - x->micro_batches) *
                              (y->live[class] - x->live[class]);
}

static double seconds_between(const struct step *x, const struct step *y, int64_t n) {
  return x->seconds.step_time_s + (double)(n - x->micro_batches) / (double)(y->micro_batches - x->micro_batches) *
                                      (y->seconds.step_time_s - x->seconds.step_time_s);
}

/* Whether the middle one of three steps is on the line between the others: where the longest path changes, steps are
 * shorter than on it. */
static bool is_straight(const struct sl_fast_whole *w) {
  const double near = 1e-3;
  const struct step *x = &w->steps[0], *y = &w->steps[1], *z = &w->steps[2];
  bool straight = fabs(seconds_between(x, z, y->micro_batches) / y->seconds.step_time_s - 1) <= near;
  for (int i = 0; straight && i < x->plan->job.class_count; i++)
    straight = fabs(live_between(x, z, y->micro_batches, i) / y->live[i] - 1) <= near;
  return straight;
}

enum sl_status sl_fast_whole_price(struct sl_fast_whole *w, const struct sl_kernel_costs *costs) {
  for (int i = 0; i < w->count; i++) SL_TRY(price_step(&w->steps[i], costs));
  w->straight = w->count < 3 || is_straight(w);
  return SL_OK;
}

bool sl_fast_whole_predict(const struct sl_fast_whole *w, int64_t n_micro, struct sl_fast_prediction *out) {
  static const struct sl_fast_prediction none;
  const struct step *x = &w->steps[0], *y = &w->steps[w->count - 1];
  const double more = (double)(n_micro - x->micro_batches), apart = (double)(y->micro_batches - x->micro_batches);
  if (!w->straight) return false;
  *out = apart > 0 ? add_parts(&x->seconds, more / apart, &x->seconds, &y->seconds)
                   : add_parts(&x->seconds, more, &none, &x->each);
  for (int i = 0; i < x->plan->job.class_count; i++)
    out->memory_bytes = fmax(out->memory_bytes, apart > 0 ? live_between(x, y, n_micro, i) : x->live[i]);
  return true;
}
