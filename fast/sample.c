/* Lowers small plans and plays their actions; see sample.h. */
#include "fast/sample.h"

#include "core/job/job.h"
#include "core/model/families.h"
#include "fast/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At least three blocks: the topmost, whose backward runs before there are gradients, the lowest, and one that is
 * neither. */
enum { LEAST_BLOCKS = 3, PIPELINE = 3 };

/* A small plan and what was built from it. */
struct small {
  struct sl_model model;
  struct sl_config config;
  struct sl_plan plan;
  struct sl_job job;
};

static void close_small(struct small *s) {
  sl_job_free(&s->job);
  sl_plan_free(&s->plan);
  free(s->model.tensors);
}

/* Builds a plan with `blocks` blocks per stage. */
static enum sl_status open_small(struct small *s, const struct sl_model *model, const struct sl_config *config,
                                 const struct sl_cluster *cluster, int blocks, int pp, int members) {
  const struct sl_build_options options = {.memory_curve = true, .unplaced = true};
  enum sl_status status;
  *s = (struct small){.model = *model, .config = *config};
  s->model.tensors = NULL;
  s->model.tensor_count = 0;
  s->model.n_layer = (int64_t)blocks * pp; /* may be more than the model's; all see as much as the model's first */
  const bool windowed = sl_model_window(model, 0) > 0;
  memset(s->model.form.windowed, windowed ? 0xff : 0, sizeof s->model.form.windowed);
  s->config.sl.pp = pp;
  s->config.sl.virtual_stages = 1;
  snprintf(s->config.sl.schedule, sizeof s->config.sl.schedule, "1f1b");
  s->config.sl.stages_by = SL_STAGES_UNIFORM;
  s->config.train_batch_size = 0;
  s->config.gradient_accumulation_steps = SL_FAST_SAMPLED;
  SL_GO_FAIL(model->family->make_tensors(&s->model));
  SL_GO_FAIL(sl_plan_build(&s->plan, &s->model, &s->config, cluster, pp * members * config->sl.tp));
  SL_GO_FAIL(sl_job_build(&s->job, &s->plan, &options));
  return SL_OK;
fail:
  close_small(s);
  return status;
}

/* ---- works of ops ---- */

/* work_of[op]: the index of its work. The only communication that is priced here is that of tensor parallelism. */
static enum sl_status take_works(const struct small *s, const struct sl_class *c, const struct sl_program *p,
                                 struct sl_fast_works *works, int32_t *work_of) {
  for (size_t i = 0; i < p->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const struct sl_members m = sl_plan_group(&s->plan, op->group, c->first_rank);
    const bool comm = sl_op_is_comm(op->kind);
    struct sl_fast_work x = {.work = sl_work_of(op, sl_op_slices(p, op), comm ? m.size : 0)};
    if (comm && op->group == SL_GROUP_TP)
      x.group = (struct sl_cost_group){
          .first = m.first, .stride = m.stride, .outer = m.outer, .size = m.size, .inner = m.inner};
    SL_TRY(sl_fast_works_add(works, &x, &work_of[i]));
  }
  return SL_OK;
}

/* ---- one depth ---- */

/* Reads the tensors of the first stage of a rank that has two blocks or more: those outside the blocks, and those of
 * the topmost block. number[t]: which of them the rank's tensor t is; -1: none. */
static enum sl_status read_tensors(const struct small *s, const struct sl_pp_rank *pp_rank, struct sl_fast_stage *out,
                                   int32_t *number) {
  const int last = s->plan.stages[pp_rank->stages[0]].first_layer + s->plan.stages[pp_rank->stages[0]].layer_count - 1;
  for (int i = 0; i < pp_rank->tensor_count; i++) {
    const struct sl_placed *t = &pp_rank->tensors[i];
    const int layer = s->plan.model->tensors[t->tensor].layer;
    number[i] = -1;
    if (layer >= 0 && layer < last) continue;
    if (out->tensor_count == SL_FAST_TENSORS)
      return sl_fail(SL_ERR_INTERNAL, "a block and the ends of model %s have more than %d tensors", s->model.name,
                     SL_FAST_TENSORS);
    number[i] = out->tensor_count;
    out->tensor[out->tensor_count++] = (struct sl_fast_tensor){.numel = t->numel,
                                                               .where = layer < 0 ? -1 : layer > last,
                                                               .partial = t->partial,
                                                               .tied = t->tied,
                                                               .replicated = t->replicated};
  }
  return SL_OK;
}

/* An op of the step behind the norm that a device runs alone. */
static void note_behind(struct sl_fast_stage *out, double launches, double bytes, bool beside) {
  const int last = SL_FAST_STEPPED - 1, at = out->behind_count < last ? out->behind_count : last;
  struct sl_fast_stepped *x = &out->behind[at];
  x->moved.launches.ends += launches;
  x->moved.bytes.ends += bytes;
  x->beside = beside;
  out->behind_count = at + 1;
}

static enum sl_status read_step(const struct sl_program *p, const struct sl_fast_works *works, const int32_t *work_of,
                                struct sl_fast_recording *out) {
  const struct sl_instance *n = sl_fast_nth(p, SL_ACTION_STEP, 0);
  for (int i = n->first_op; i < n->first_op + n->op_count; i++) {
    const struct sl_op *op = &p->ops[i];
    const bool norm = op->kind == SL_OP_NORM, update = sl_op_class_of(op->kind) == SL_CLASS_OPTIMIZER && !norm;
    /* a pass of the kernel set next to an update, or a copy of what it reads (core/lower/update.c) */
    const bool beside = op->kind == SL_OP_PASS || op->kind == SL_OP_COPY, moves = norm || update || beside;
    const double bytes = works->all[work_of[i]].work.bytes, launches = op->kind == SL_OP_PASS ? (double)op->dim[1] : 1;
    struct sl_fast_moved *moved = norm ? &out->stage.norm : update ? &out->stage.update : &out->stage.beside;
    SL_TRY(
        sl_grow(&out->step[!norm], &out->step_capacity[!norm], out->step_count[!norm] + 1, sizeof *out->step[!norm]));
    out->step[!norm][out->step_count[!norm]++] = work_of[i];
    if (sl_op_is_comm(op->kind)) continue;
    if (!norm) note_behind(&out->stage, moves ? launches : 0, moves ? bytes : 0, beside);
    if (norm) out->stage.norm_last = (struct sl_fast_moved){{launches, 0}, {bytes, 0}};
    if (!moves) {
      SL_TRY(sl_grow(&out->control, &out->control_capacity, out->control_count + 1, sizeof *out->control));
      out->control[out->control_count++] = work_of[i];
      continue;
    }
    moved->launches.ends += launches;
    moved->bytes.ends += bytes;
  }
  return SL_OK;
}

static enum sl_status read_actions(const struct small *s, const struct sl_class *c, const int32_t *work_of,
                                   struct sl_fast_recording *out) {
  enum sl_status status;
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  const struct sl_pp_rank *pp_rank = &s->plan.pp_ranks[c->pp_rank];
  int32_t *number = NULL;
  SL_GO(sl_calloc(&number, (size_t)pp_rank->tensor_count, sizeof *number));
  SL_GO(read_tensors(s, pp_rank, &out->stage, number));
  const struct sl_fast_wanted wanted = {c, pp_rank, number};
  SL_GO(sl_fast_read_left(&out->stage, &s->plan, c, number));
  SL_GO(sl_fast_track_take(&out->forward, p, work_of, sl_fast_nth(p, SL_ACTION_FORWARD, 0), NULL));
  SL_GO(sl_fast_track_take(&out->first, p, work_of, sl_fast_nth(p, SL_ACTION_BACKWARD, 0), &wanted));
  SL_GO(sl_fast_track_take(&out->next, p, work_of, sl_fast_nth(p, SL_ACTION_BACKWARD, 1), &wanted));
done:
  free(number);
  return status;
}

static enum sl_status read_class(const struct small *s, const struct sl_class *c, struct sl_fast_works *works,
                                 struct sl_fast_recording *out) {
  enum sl_status status;
  const struct sl_program *p = &c->programs[SL_PROGRAM_STEP];
  int32_t *work_of = NULL;
  SL_GO(sl_calloc(&work_of, p->op_count, sizeof *work_of));
  SL_GO(take_works(s, c, p, works, work_of));
  SL_GO(read_actions(s, c, work_of, out));
  SL_GO(read_step(p, works, work_of, out));
  SL_GO(sl_fast_read_memory(&out->stage, &s->plan, c));
done:
  free(work_of);
  return status;
}

/* ---- seconds of one depth ---- */

static void play_action(const struct sl_fast_beats *beats, const struct sl_fast_works *works,
                        struct sl_fast_track *track, struct sl_fast_written *written, struct sl_fast_action *out) {
  struct sl_fast_played played;
  sl_fast_play(track, beats, written, &played);
  *out = (struct sl_fast_action){.end.ends = played.end,
                                 .end_arrived.ends = played.end_arrived,
                                 .end_hosted.ends = played.end_hosted,
                                 .out_hosted.ends = played.out_hosted,
                                 .host.ends = played.host,
                                 .host_arrived.ends = played.host_arrived,
                                 .launched.ends = played.least,
                                 .out.ends = played.out,
                                 .out_arrived.ends = played.out_arrived,
                                 .bare.ends = sl_fast_play_end(track, works->bare)};
}

/* The host's seconds for the ops of a step, and those of ops that move no parameters. */
static void price_step(const struct sl_fast_works *works, const struct sl_fast_recording *r,
                       struct sl_fast_stage *out) {
  int at = 0;
  for (size_t i = 0; i < r->control_count; i++) out->control += works->seconds[r->control[i]];
  for (size_t i = 0; i < r->step_count[0]; i++) out->host_norm.ends += works->host[r->step[0][i]];
  out->host.ends = out->host_norm.ends;
  for (size_t i = 0; i < r->step_count[1]; i++) {
    const int32_t work = r->step[1][i];
    struct sl_fast_stepped *x = &out->behind[at];
    out->host.ends += works->host[work];
    if (sl_op_is_comm(works->all[work].work.kind)) continue;
    if (x->host.ends == 0) x->host = out->host;
    if (x->moved.launches.ends == 0) x->seconds += works->seconds[work];
    if (at + 1 < out->behind_count) at++;
  }
}

static void play_stage(const struct sl_cost_rank *rank, const struct sl_fast_works *works, struct sl_fast_recording *r,
                       struct sl_fast_stage *out) {
  struct sl_fast_written written[2][SL_FAST_TENSORS] = {{{0, 0, 0}}};
  const struct sl_fast_beats beats = {.seconds = works->seconds,
                                      .host = sl_cost_has_host(rank) ? works->host : NULL,
                                      .blocking = rank->kernel_costs.launch_blocking,
                                      .slow = works->beside};
  *out = r->stage;
  play_action(&beats, works, &r->forward, NULL, &out->forward);
  play_action(&beats, works, &r->first, written[0], &out->first);
  play_action(&beats, works, &r->next, written[1], &out->next);
  for (int i = 0; i < out->tensor_count; i++) {
    for (int k = 0; k < 2; k++) {
      out->tensor[i].begins[k].ends = written[k][i].begin;
      out->tensor[i].ready[k].ends = written[k][i].end;
      out->tensor[i].hosted[k].ends = written[k][i].hosted;
    }
  }
  price_step(works, r, out);
}

/* ---- two depths ---- */

static void join(struct sl_fast_linear *x, struct sl_fast_linear deeper) {
  if (isinf(x->ends)) return; /* -INFINITY at every depth */
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
      join(&x->tensor[i].now[k], deeper->tensor[i].now[k]);
      join(&x->tensor[i].left[k], deeper->tensor[i].left[k]);
      join(&x->tensor[i].begins[k], deeper->tensor[i].begins[k]);
      join(&x->tensor[i].ready[k], deeper->tensor[i].ready[k]);
      join(&x->tensor[i].hosted[k], deeper->tensor[i].hosted[k]);
    }
  }
  join(&x->host, deeper->host);
  join(&x->host_norm, deeper->host_norm);
  for (int i = 0; i < x->behind_count; i++) {
    join(&x->behind[i].moved.launches, deeper->behind[i].moved.launches);
    join(&x->behind[i].moved.bytes, deeper->behind[i].moved.bytes);
    join(&x->behind[i].host, deeper->behind[i].host);
  }
  join(&x->norm.launches, deeper->norm.launches);
  join(&x->norm.bytes, deeper->norm.bytes);
  join(&x->norm_last.launches, deeper->norm_last.launches);
  join(&x->norm_last.bytes, deeper->norm_last.bytes);
  join(&x->update.launches, deeper->update.launches);
  join(&x->update.bytes, deeper->update.bytes);
  join(&x->beside.launches, deeper->beside.launches);
  join(&x->beside.bytes, deeper->beside.bytes);
  join(&x->kept, deeper->kept);
  for (int k = 0; k < 2; k++) {
    join(&x->under_top[k], deeper->under_top[k]);
    join(&x->under_top_opens[k], deeper->under_top_opens[k]);
  }
  for (int t = 0; t < SL_FAST_TIMES; t++)
    for (int k = 0; k < SL_FAST_PARTS; k++) join(&x->peak[t][k], deeper->peak[t][k]);
  join(&x->peak_last, deeper->peak_last);
  join(&x->peak_step, deeper->peak_step);
}

enum sl_status sl_fast_sample_take(struct sl_fast_sample *out, const struct sl_model *model,
                                   const struct sl_config *config, const struct sl_cluster *cluster, bool pipeline,
                                   int members) {
  enum sl_status status = SL_OK;
  *out = (struct sl_fast_sample){.members = members};
  for (int d = 0; status == SL_OK && d < SL_FAST_DEPTHS; d++) {
    struct small s;
    status = open_small(&s, model, config, cluster, LEAST_BLOCKS + d, pipeline ? PIPELINE : 1, members);
    if (status != SL_OK) break;
    for (int i = 0; status == SL_OK && i < s.job.class_count; i++)
      status = read_class(&s, &s.job.classes[i], &out->works,
                          &out->recording[d][pipeline ? SL_FAST_FIRST + i : SL_FAST_WHOLE]);
    close_small(&s);
  }
  if (status != SL_OK) sl_fast_sample_free(out);
  return status;
}

enum sl_status sl_fast_sample_price(struct sl_fast_sample *sample, const struct sl_cluster *cluster,
                                    const struct sl_cost_rank *rank) {
  SL_TRY(sl_fast_works_price(&sample->works, cluster, rank, sample->stalls));
  for (int i = 0; i < SL_FAST_PLACES; i++) {
    struct sl_fast_stage deeper;
    if (sample->recording[0][i].forward.count == 0) continue;
    play_stage(rank, &sample->works, &sample->recording[0][i], &sample->stage[i]);
    play_stage(rank, &sample->works, &sample->recording[1][i], &deeper);
    sample->stage[i].place = (enum sl_fast_place)i;
    join_stages(&sample->stage[i], &deeper);
  }
  return SL_OK;
}

void sl_fast_sample_free(struct sl_fast_sample *sample) {
  for (int d = 0; d < SL_FAST_DEPTHS; d++) {
    for (int i = 0; i < SL_FAST_PLACES; i++) {
      struct sl_fast_recording *r = &sample->recording[d][i];
      sl_fast_track_free(&r->forward);
      sl_fast_track_free(&r->first);
      sl_fast_track_free(&r->next);
      free(r->control);
      for (int k = 0; k < 2; k++) free(r->step[k]);
    }
  }
  sl_fast_works_free(&sample->works);
  *sample = (struct sl_fast_sample){0};
}
