/* Lowering a small plan and playing its actions; see sample.h. */
#include "fast/sample.h"

#include "core/job/job.h"
#include "core/model/families.h"
#include "core/program/memory_report.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "cost/topology.h"
#include "fast/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three blocks at least: the topmost is played before there are gradients, the lowest is the bottom, and one is neither. */
enum { DEPTHS = 2, LEAST_BLOCKS = 3, MICRO_BATCHES = 6, PIPELINE = 3 };

/* One small plan and what was built of it. */
struct small {
  struct sl_model model;
  struct sl_config config;
  struct sl_plan plan;
  struct sl_job job;
  bool stalls; /* at collectives inside a pipeline */
};

static void close_small(struct small *s) {
  sl_job_free(&s->job);
  sl_plan_free(&s->plan);
  free(s->model.tensors);
}

/* `blocks` of the model's blocks a stage. */
static enum sl_status open_small(struct small *s, const struct sl_model *model, const struct sl_config *config,
                                 const struct sl_cluster *cluster, int blocks, int pp, int members) {
  const struct sl_build_options options = {.memory_curve = true};
  enum sl_status status;
  *s = (struct small){.model = *model, .config = *config};
  s->model.tensors = NULL;
  s->model.tensor_count = 0;
  s->model.n_layer = (int64_t)blocks * pp;
  s->config.sl.pp = pp;
  s->config.sl.virtual_stages = 1;
  snprintf(s->config.sl.schedule, sizeof s->config.sl.schedule, "1f1b");
  s->config.sl.stages_by = SL_STAGES_UNIFORM;
  s->config.train_batch_size = 0;
  s->config.gradient_accumulation_steps = MICRO_BATCHES;
  SL_GO_FAIL(sl_family_of(model)->make_tensors(&s->model));
  SL_GO_FAIL(sl_plan_build(&s->plan, &s->model, &s->config, cluster, pp * members * config->sl.tp));
  SL_GO_FAIL(sl_job_build(&s->job, &s->plan, &options));
  return SL_OK;
fail:
  close_small(s);
  return status;
}

/* ---- seconds of ops ---- */

/* Seconds of the host for an op: nothing for the calls of data parallelism, which are not known here. */
static double host_seconds(const struct small *s, const struct sl_cost_rank *rank, const struct sl_op *op,
                           const struct sl_work *work) {
  if (op->lane == SL_LANE_COMPUTE) return rank->kernel_costs.host_launch * work->terms[SL_TERM_LAUNCH];
  return op->group == SL_GROUP_TP ? sl_cost_call_host(rank, work, s->stalls) : 0;
}

static enum sl_status price(const struct small *s, const struct sl_class *c, const struct sl_cost_rank *rank,
                            const struct sl_program *p, double *seconds, double *host, struct sl_work *works) {
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const struct sl_members m = sl_plan_group(&s->plan, op->group, c->first_rank);
    const bool comm = sl_op_is_comm(op->kind);
    works[i] = sl_work_of(op, sl_op_slices(p, op), comm ? m.size : 0);
    seconds[i] = 0;
    if (!comm) {
      SL_TRY(sl_cost_compute(rank, &works[i], &seconds[i]));
    } else if (op->group == SL_GROUP_TP) {
      const struct sl_cost_group group = {
          .first = m.first, .stride = m.stride, .outer = m.outer, .size = m.size, .inner = m.inner};
      const struct sl_link link = sl_cost_group_link(s->plan.cluster, &group);
      seconds[i] = sl_cost_collective(rank, &link, &works[i]);
    }
    if (op->kind == SL_OP_JOIN) seconds[i] += rank->device->step_overhead;
    host[i] = host_seconds(s, rank, op, &works[i]);
  }
  return SL_OK;
}

/* ---- what one depth says ---- */

static const struct sl_instance *find(const struct sl_program *p, enum sl_action_kind kind, int nth) {
  for (size_t i = 0; i < p->instance_count; i++)
    if (p->instances[i].action.kind == kind && nth-- == 0) return &p->instances[i];
  return NULL;
}

/* `bare`: the same program, whose communication is free. */
static enum sl_status read_action(const struct sl_fast_player *player, const struct sl_fast_player *bare,
                                  const struct sl_instance *instance, const struct sl_fast_writes *writes,
                                  struct sl_fast_action *out) {
  struct sl_fast_played played;
  SL_TRY(sl_fast_play(bare, instance, NULL, &played));
  out->bare.ends = played.end;
  SL_TRY(sl_fast_play(player, instance, writes, &played));
  out->end.ends = played.end;
  out->end_arrived.ends = played.end_arrived;
  out->out.ends = played.out;
  out->out_arrived.ends = played.out_arrived;
  out->end_hosted.ends = played.end_hosted;
  out->out_hosted.ends = played.out_hosted;
  out->host.ends = played.host;
  out->host_arrived.ends = played.host_arrived;
  out->launched.ends = played.least;
  return SL_OK;
}

/* The tensors of a rank's first stage of two blocks or more: those of the ends, and of the topmost block. */
static enum sl_status read_tensors(const struct small *s, const struct sl_fast_writes w[2], struct sl_fast_stage *out) {
  const struct sl_pp_rank *pp_rank = w->pp_rank;
  const int last = s->plan.stages[pp_rank->stages[0]].first_layer + s->plan.stages[pp_rank->stages[0]].layer_count - 1;
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    const struct sl_placed *t = &pp_rank->tensors[i];
    const int layer = s->model.tensors[t->tensor].layer;
    if (layer >= 0 && layer < last) continue;
    if (out->tensor_count == SL_FAST_TENSORS)
      return sl_fail(SL_ERR_INTERNAL, "a block and the ends of model %s have more than %d tensors", s->model.name,
                     SL_FAST_TENSORS);
    out->tensor[out->tensor_count++] = (struct sl_fast_tensor){.numel = t->numel,
                                                               .where = layer < 0 ? -1 : layer > last,
                                                               .partial = t->partial,
                                                               .tied = t->tied,
                                                               .replicated = t->replicated,
                                                               .begins = {{w[0].begins[i], 0}, {w[1].begins[i], 0}},
                                                               .ready = {{w[0].ends[i], 0}, {w[1].ends[i], 0}},
                                                               .hosted = {{w[0].hosted[i], 0}, {w[1].hosted[i], 0}}};
  }
  return SL_OK;
}

static void read_step(const struct sl_program *p, const struct sl_work *works, const double *seconds,
                      const double *host, struct sl_fast_stage *out) {
  const struct sl_instance *n = find(p, SL_ACTION_STEP, 0);
  for (int i = n->first_op; i < n->first_op + n->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const bool update = sl_op_class_of(op->kind) == SL_CLASS_OPTIMIZER;
    struct sl_fast_moved *moved = op->kind == SL_OP_NORM ? &out->norm : &out->update;
    out->host.ends += host[i];
    if (op->kind == SL_OP_NORM) out->host_norm.ends += host[i];
    if (sl_op_is_comm(op->kind)) continue;
    if (!update && op->kind != SL_OP_NORM) {
      out->control += seconds[i];
      continue;
    }
    moved->launches.ends++;
    moved->bytes.ends += works[i].bytes;
  }
}

static double aligned(int64_t bytes) {
  return (double)((bytes + SL_ALIGN - 1) / SL_ALIGN * SL_ALIGN);
}

static double persistent_bytes(const struct sl_class *c) {
  double sum = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->persistent && b->space == SL_SPACE_DEVICE) sum += b->slots * aligned(b->bytes);
  }
  return sum;
}

/* The most that lives beyond the steps at issues [first, end) of a step. */
static double most_live(const struct sl_class *c, size_t first, size_t end) {
  const struct sl_memory_report *r = &c->memory[SL_SPACE_DEVICE];
  const double base = persistent_bytes(c);
  double most = 0, now = 0;
  for (size_t i = 0; i < r->curve_count; i++) {
    const struct sl_memory_sample *x = &r->curve[i];
    const double before = now;
    now = -base;
    for (int k = 0; k < SL_CATEGORY_COUNT; k++) now += (double)x->live[k];
    if (x->issue > first && before > most && (i == 0 || r->curve[i - 1].issue < end)) most = before;
    if (x->issue >= first && x->issue < end && now > most) most = now;
  }
  return most;
}

/* Issues of an instance: the first, and the one behind the last. */
static size_t first_issue(const struct sl_program *p, const struct sl_instance *n) {
  size_t i = 0;
  while (i < p->issue_count && p->issues[i].instance < (uint32_t)(n - p->instances)) i++;
  return i;
}

static size_t end_issue(const struct sl_program *p, const struct sl_instance *n) {
  size_t i = first_issue(p, n);
  while (i < p->issue_count && p->issues[i].instance == (uint32_t)(n - p->instances)) i++;
  return i;
}

/* Where the lowest block of a stage begins in a backward. */
static size_t bottom_issue(const struct sl_program *p, const struct sl_instance *n, int lowest) {
  const size_t end = end_issue(p, n);
  size_t i = first_issue(p, n);
  while (i < end && p->ops[p->issues[i].op].layer != lowest) i++;
  return i;
}

static bool uses(const struct sl_program *p, const struct sl_instance *n, int32_t buffer) {
  for (int32_t o = n->first_op; o < n->first_op + n->op_count; o++) {
    const struct sl_slice *slices = sl_op_slices(p, &p->ops[o]);
    for (int i = 0; i < p->ops[o].slice_count; i++)
      if (slices[i].buffer == buffer) return true;
  }
  return false;
}

/* What a micro-batch in flight holds: what stands from its forward to its backward, the stage's input among it. */
static double kept_bytes(const struct sl_class *c, const struct sl_instance *forward,
                         const struct sl_instance *backward, bool receives) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  double sum = 0;
  for (size_t i = 0; i < c->buffer_count; i++) {
    const struct sl_buffer *b = &c->buffers[i];
    if (b->persistent) continue;
    const bool kept = b->slot == SL_SLOT_ACTIVATION && uses(p, forward, (int32_t)i) && uses(p, backward, (int32_t)i);
    if (kept || (receives && strcmp(b->name, "stream") == 0)) sum += aligned(b->bytes);
  }
  return sum;
}

static void raise(struct sl_fast_linear *x, double to) {
  if (to > x->ends) x->ends = to;
}

static void read_peaks(const struct small *s, const struct sl_class *c, struct sl_fast_stage *out) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  enum sl_fast_time time = SL_FAST_EARLY;
  for (size_t i = 0; i < p->instance_count; i++) {
    const struct sl_instance *n = &p->instances[i];
    const size_t first = first_issue(p, n), end = end_issue(p, n);
    if (n->action.kind == SL_ACTION_STEP) continue;
    if (n->action.kind != SL_ACTION_BACKWARD) {
      raise(&out->peak[time][SL_FAST_FORWARD], most_live(c, first, end));
      continue;
    }
    const size_t bottom = bottom_issue(p, n, s->plan.stages[c->pp_rank].first_layer);
    raise(&out->peak[time][SL_FAST_TOP], most_live(c, first, bottom));
    raise(&out->peak[time][SL_FAST_BOTTOM], most_live(c, bottom, end));
    time = SL_FAST_LATE;
  }
}

static void read_memory(const struct small *s, const struct sl_class *c, struct sl_fast_stage *out) {
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const struct sl_instance *first = find(p, SL_ACTION_BACKWARD, 0),
                           *last = find(p, SL_ACTION_BACKWARD, MICRO_BATCHES - 1);
  const struct sl_instance *step = find(p, SL_ACTION_STEP, 0);
  const struct sl_stage *stage = &s->plan.stages[c->pp_rank];
  out->in_flight = s->plan.pp - c->pp_rank;
  out->kept.ends = kept_bytes(c, find(p, SL_ACTION_FORWARD, 0), first, c->pp_rank > 0);
  read_peaks(s, c, out);
  out->peak_last.ends = most_live(c, bottom_issue(p, last, stage->first_layer), first_issue(p, step));
  out->peak_step.ends = most_live(c, first_issue(p, step), p->issue_count);
  for (size_t i = 0; i < c->buffer_count; i++)
    out->states += c->buffers[i].persistent && c->buffers[i].category == SL_CATEGORY_OPTIMIZER;
}

static enum sl_status read_times(const struct small *s, const struct sl_class *c, const struct sl_fast_player *player,
                                 const struct sl_fast_player *bare, struct sl_fast_stage *out) {
  enum sl_status status;
  const struct sl_program *p = player->program;
  const size_t tensors = (size_t)s->plan.pp_ranks[c->pp_rank].tensor_count;
  struct sl_fast_writes writes[2] = {{0}};
  for (int i = 0; i < 2; i++) {
    writes[i] = (struct sl_fast_writes){.rank_class = c, .pp_rank = &s->plan.pp_ranks[c->pp_rank]};
    SL_GO(sl_calloc(&writes[i].begins, tensors, sizeof(double)));
    SL_GO(sl_calloc(&writes[i].ends, tensors, sizeof(double)));
    SL_GO(sl_calloc(&writes[i].hosted, tensors, sizeof(double)));
    for (size_t k = 0; k < tensors; k++) writes[i].hosted[k] = -INFINITY;
  }
  SL_GO(read_action(player, bare, find(p, SL_ACTION_FORWARD, 0), NULL, &out->forward));
  SL_GO(read_action(player, bare, find(p, SL_ACTION_BACKWARD, 0), &writes[0], &out->first));
  SL_GO(read_action(player, bare, find(p, SL_ACTION_BACKWARD, 1), &writes[1], &out->next));
  SL_GO(read_tensors(s, writes, out));
done:
  for (int i = 0; i < 2; i++) {
    free(writes[i].begins);
    free(writes[i].ends);
    free(writes[i].hosted);
  }
  return status;
}

static enum sl_status read_class(const struct small *s, const struct sl_class *c, const struct sl_cost_rank *rank,
                                 struct sl_fast_stage *out) {
  enum sl_status status;
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  struct sl_work *works = NULL;
  double *seconds = NULL, *bare = NULL, *host = NULL;
  SL_GO(sl_calloc(&works, p->op_count, sizeof *works));
  SL_GO(sl_calloc(&seconds, p->op_count, sizeof *seconds));
  SL_GO(sl_calloc(&bare, p->op_count, sizeof *bare));
  SL_GO(sl_calloc(&host, p->op_count, sizeof *host));
  SL_GO(price(s, c, rank, p, seconds, host, works));
  for (size_t i = 0; i < p->op_count; i++) bare[i] = sl_op_is_comm(p->ops[i].kind) ? 0 : seconds[i];
  const struct sl_fast_player free_of_communication = {p, bare, NULL, false, 0};
  const struct sl_fast_player player = {.program = p,
                                        .seconds = seconds,
                                        .host = sl_cost_has_host(rank) ? host : NULL,
                                        .blocking = rank->kernel_costs.launch_blocking,
                                        .slow = rank->kernel_costs.comm_compute_share};
  SL_GO(read_times(s, c, &player, &free_of_communication, out));
  read_step(p, works, seconds, host, out);
  read_memory(s, c, out);
done:
  free(works);
  free(seconds);
  free(bare);
  free(host);
  return status;
}

/* ---- two depths ---- */

static void join(struct sl_fast_linear *x, struct sl_fast_linear deeper) {
  if (isinf(x->ends)) return; /* at every depth */
  const double block = deeper.ends - x->ends;
  *x = (struct sl_fast_linear){x->ends - LEAST_BLOCKS * block, block};
}

static void join_action(struct sl_fast_action *x, const struct sl_fast_action *deeper) {
  join(&x->end, deeper->end);
  join(&x->end_arrived, deeper->end_arrived);
  join(&x->out, deeper->out);
  join(&x->out_arrived, deeper->out_arrived);
  join(&x->end_hosted, deeper->end_hosted);
  join(&x->out_hosted, deeper->out_hosted);
  join(&x->host, deeper->host);
  join(&x->host_arrived, deeper->host_arrived);
  join(&x->launched, deeper->launched);
  join(&x->bare, deeper->bare);
}

static void join_stages(struct sl_fast_stage *x, const struct sl_fast_stage *deeper) {
  join_action(&x->forward, &deeper->forward);
  join_action(&x->first, &deeper->first);
  join_action(&x->next, &deeper->next);
  for (int i = 0; i < x->tensor_count; i++) {
    for (int k = 0; k < 2; k++) {
      join(&x->tensor[i].begins[k], deeper->tensor[i].begins[k]);
      join(&x->tensor[i].ready[k], deeper->tensor[i].ready[k]);
      join(&x->tensor[i].hosted[k], deeper->tensor[i].hosted[k]);
    }
  }
  join(&x->host, deeper->host);
  join(&x->host_norm, deeper->host_norm);
  join(&x->norm.launches, deeper->norm.launches);
  join(&x->norm.bytes, deeper->norm.bytes);
  join(&x->update.launches, deeper->update.launches);
  join(&x->update.bytes, deeper->update.bytes);
  join(&x->kept, deeper->kept);
  for (int t = 0; t < SL_FAST_TIMES; t++)
    for (int k = 0; k < SL_FAST_PARTS; k++) join(&x->peak[t][k], deeper->peak[t][k]);
  join(&x->peak_last, deeper->peak_last);
  join(&x->peak_step, deeper->peak_step);
}

enum sl_status sl_fast_sample_take(struct sl_fast_sample *out, const struct sl_model *model,
                                   const struct sl_config *config, const struct sl_cluster *cluster,
                                   const struct sl_cost_rank *rank, bool pipeline, int members, bool stalls) {
  struct sl_fast_sample depth[DEPTHS];
  memset(depth, 0, sizeof depth);
  for (int d = 0; d < DEPTHS; d++) {
    struct small s;
    enum sl_status status = open_small(&s, model, config, cluster, LEAST_BLOCKS + d, pipeline ? PIPELINE : 1, members);
    if (status != SL_OK) return status;
    s.stalls = stalls;
    for (int i = 0; i < s.job.class_count && status == SL_OK; i++)
      status = read_class(&s, &s.job.classes[i], rank, &depth[d].stage[pipeline ? SL_FAST_FIRST + i : SL_FAST_WHOLE]);
    close_small(&s);
    if (status != SL_OK) return status;
  }
  *out = depth[0];
  out->members = members;
  for (int i = 0; i < SL_FAST_PLACES; i++) {
    out->stage[i].place = (enum sl_fast_place)i;
    join_stages(&out->stage[i], &depth[1].stage[i]);
  }
  return SL_OK;
}
