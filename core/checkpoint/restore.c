/* See restore.h. */
#include "core/checkpoint/restore.h"

#include "core/base/checked.h"
#include "core/base/machine.h"
#include "core/checkpoint/held.h"
#include "core/checkpoint/pieces.h"
#include "core/program/locate.h"
#include "core/program/step_state.h"

#include <stdlib.h>
#include <string.h>

/* Ranks that resolved "latest" at different times, or see different disks, must not mix what they read. */
static enum sl_status check_same(const struct sl_checkpoint *checkpoint, const struct sl_run *run) {
  const int world = run->exec->exchange != NULL ? run->job->plan->world : 1;
  uint64_t *all;
  enum sl_status status = SL_OK;
  if (world == 1) return SL_OK;
  SL_TRY(sl_calloc(&all, (size_t)world, sizeof *all));
  SL_GO(run->exec->exchange(run->state, &checkpoint->manifest.hash, sizeof *all, all));
  for (int r = 1; r < world && status == SL_OK; r++)
    if (all[r] != all[0])
      status = sl_fail(SL_ERR_PEER, "%s: ranks 0 and %d read different manifests; expected one checkpoint for all",
                       checkpoint->path, r);
done:
  free(all);
  return status;
}

/* With more bytes of claims than this no rank makes any, since every rank holds all of them in memory. */
enum { MOST_CLAIMS = 64 << 20 };

/* How many ranks read each piece completely: of all ranks, and of this node's. */
struct claimants {
  int32_t *all, *near;
};

static enum sl_status claim(const struct sl_checkpoint *c, const struct sl_run *run, struct claimants *claimants) {
  const int world = run->exec->exchange != NULL ? run->job->plan->world : 1;
  const int node = run->job->plan->cluster->devices_per_node, rank = run->local_ranks[0];
  const size_t count = (size_t)c->manifest.piece_count;
  unsigned char *mine = NULL, *all = NULL;
  enum sl_status status;
  if (sl_product((int64_t)count, world) > MOST_CLAIMS) return SL_OK;
  SL_GO(sl_calloc(&mine, count, 1));
  SL_GO(sl_calloc(&all, count, (size_t)world));
  status = sl_run_agree(run, sl_held_claims(c, run->job, rank, mine));
  if (status != SL_OK) goto done;
  memcpy(all, mine, count);
  if (world > 1) SL_GO(run->exec->exchange(run->state, mine, count, all));
  for (int r = 0; r < world; r++)
    for (size_t i = 0; i < count; i++) {
      claimants->all[i] += all[(size_t)r * count + i];
      if (world == 1 || r / node == rank / node) claimants->near[i] += all[(size_t)r * count + i];
    }
done:
  free(mine);
  free(all);
  return status;
}

/* Pieces that no rank reads completely are verified before the rest is read; each rank reads part of them again
 * later. */
static enum sl_status open_claimed(const struct sl_checkpoint *c, const struct sl_run *run,
                                   struct claimants *claimants) {
  const size_t count = (size_t)c->manifest.piece_count;
  SL_TRY(sl_calloc(&claimants->all, count, sizeof *claimants->all));
  SL_TRY(sl_calloc(&claimants->near, count, sizeof *claimants->near));
  SL_TRY(sl_run_agree(run, claim(c, run, claimants)));
  const double start = sl_machine_clock();
  enum sl_status status = sl_checkpoint_verify(c, claimants->all, run->local_ranks[0], run->job->plan->world);
  sl_held_spent(c, start);
  SL_TRY(sl_run_agree(run, status));
  return sl_run_agree(run, sl_held_begin(c, claimants->near));
}

enum sl_status sl_restore_opened(const struct sl_checkpoint *checkpoint, const struct sl_run *run) {
  struct claimants claimants = {0};
  SL_TRY(sl_run_agree(run, check_same(checkpoint, run)));
  const enum sl_status status = open_claimed(checkpoint, run, &claimants);
  free(claimants.all);
  free(claimants.near);
  return status;
}

/* Elements [first, first + count) of the local tensor, written to `out`; padding is zero. */
static enum sl_status fill(const struct sl_checkpoint *c, const struct sl_manifest_tensor *from,
                           const struct sl_cut *cut, int member, int64_t first, int64_t count, float *out) {
  for (int64_t local = first; local < first + count;) {
    const struct sl_run_of run = sl_cut_run(cut, member, local, first + count);
    if (run.logical < 0)
      memset(out, 0, (size_t)run.count * sizeof *out);
    else
      SL_TRY(sl_checkpoint_read(c, from, run.logical, run.count, out));
    local += run.count;
    out += run.count;
  }
  return SL_OK;
}

static enum sl_status restore_state(const struct sl_checkpoint *c, const struct sl_run *run, enum sl_role role,
                                    int placed, float *room) {
  const struct sl_plan *plan = run->job->plan;
  const int rank = run->local_ranks[0];
  const struct sl_coord at = sl_plan_coord(plan, rank);
  const struct sl_tensor *t = &plan->model->tensors[plan->pp_ranks[at.pp].tensors[placed].tensor];
  const struct sl_located where = sl_job_locate(run->job, rank, role, placed);
  const struct sl_cut cut = sl_cut_of(plan, t);
  const struct sl_manifest_tensor *from = sl_manifest_find(&c->manifest, t->name, role);
  for (int64_t done = 0; done < where.count; done += SL_PIECE_ELEMENTS) {
    const int64_t left = where.count - done, count = left < SL_PIECE_ELEMENTS ? left : SL_PIECE_ELEMENTS;
    const double start = sl_machine_clock();
    SL_TRY(fill(c, from, &cut, cut.members > 1 ? at.tp : 0, where.first + done, count, room));
    sl_held_spent(c, start);
    SL_TRY(run->exec->write(run->state, 0, where.buffer, where.offset + done * SL_CHECKPOINT_ELEMENT,
                            count * SL_CHECKPOINT_ELEMENT, room));
  }
  return SL_OK;
}

/* A state of fp8, of which the checkpoint may have none: then it stays as at the start. Of a history of another length
 * the newest part is taken, and what it lacks is empty (Transformer Engine 2.20, pytorch/module/base.py,
 * adjust_amax_history_length). */
static enum sl_status restore_scaling(const struct sl_checkpoint *c, const struct sl_run *run, enum sl_role role,
                                      int placed, float *room) {
  const struct sl_plan *plan = run->job->plan;
  const int rank = run->local_ranks[0], tensor = plan->pp_ranks[sl_plan_coord(plan, rank).pp].tensors[placed].tensor;
  const struct sl_located where = sl_job_locate(run->job, rank, role, placed);
  const struct sl_checkpoint_state state = sl_checkpoint_state_of(plan, tensor, role);
  const struct sl_manifest_tensor *from = sl_manifest_find(&c->manifest, plan->model->tensors[tensor].name, role);
  const int64_t row = state.shape[1];
  if (where.count == 0 || from == NULL) return SL_OK;
  const int64_t known = from->shape[1] < row ? from->shape[1] : row;
  for (int64_t r = 0; r < state.shape[0]; r++) {
    const double start = sl_machine_clock();
    memset(room, 0, (size_t)row * sizeof *room);
    SL_TRY(sl_checkpoint_read(c, from, r * from->shape[1], known, room));
    sl_held_spent(c, start);
    SL_TRY(run->exec->write(run->state, 0, where.buffer, where.offset + r * row * SL_CHECKPOINT_ELEMENT,
                            row * SL_CHECKPOINT_ELEMENT, room));
  }
  return SL_OK;
}

/* In the order in which they are claimed (held.c). */
static enum sl_status restore_states(const struct sl_checkpoint *c, const struct sl_run *run) {
  const struct sl_class *rank_class = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[0])];
  float *room;
  SL_TRY(sl_malloc(&room, SL_PIECE_ELEMENTS, sizeof *room));
  enum sl_status status = SL_OK;
  for (int s = 1; s < SL_CHECKPOINT_STATES; s++) {
    const enum sl_role role = sl_checkpoint_roles[s];
    if (rank_class->role[role].form == SL_FORM_ABSENT) continue;
    for (int i = 0; i < run->job->plan->pp_ranks[rank_class->pp_rank].tensor_count && status == SL_OK; i++)
      status = role < SL_ROLE_FP8_SCALE ? restore_state(c, run, role, i, room) : restore_scaling(c, run, role, i, room);
  }
  free(room);
  return status;
}

/* Restores the loss scale of the checkpoint if it was of the same number type and the scale is not fixed. */
static enum sl_status restore_control(const struct sl_checkpoint *c, const struct sl_run *run) {
  const struct sl_class *rank_class = &run->job->classes[sl_job_class_of(run->job, run->local_ranks[0])];
  const struct sl_config *config = run->job->plan->config;
  const bool same = strcmp(c->manifest.precision, sl_config_precision(config)) == 0;
  struct sl_step_state state = c->manifest.state, fresh;
  sl_step_state_init(&fresh, config);
  if (!same || config->fp16.loss_scale > 0) state.loss_scale = fresh.loss_scale;
  if (!same) state.hysteresis = fresh.hysteresis, state.last_overflow = fresh.last_overflow, state.exhausted = 0;
  return run->exec->write(run->state, 0, rank_class->control, 0, sizeof state, &state);
}

enum sl_status sl_restore_started(const struct sl_checkpoint *checkpoint, const struct sl_run *run) {
  enum sl_status status = restore_states(checkpoint, run);
  const enum sl_status ended = sl_held_end(checkpoint);
  if (status == SL_OK) status = ended;
  if (status == SL_OK) status = restore_control(checkpoint, run);
  return sl_run_agree(run, status);
}

/* ---- weights ---- */

static enum sl_status read_weight(void *context, const char *tensor, int64_t first, int64_t count, float *out) {
  const struct sl_checkpoint *c = context;
  const struct sl_manifest_tensor *from = sl_manifest_find(&c->manifest, tensor, SL_ROLE_PARAM);
  if (from == NULL) return sl_fail(SL_ERR_INTERNAL, "%s: has no weight of tensor %s", c->path, tensor);
  if (!sl_held_failed(c)) {
    const double start = sl_machine_clock();
    const enum sl_status status = sl_checkpoint_read(c, from, first, count, out);
    sl_held_spent(c, start);
    if (status == SL_OK) return SL_OK;
    sl_held_fail(c, status);
  }
  memset(out, 0, (size_t)count * sizeof *out);
  return SL_OK;
}

struct sl_weight_source sl_restore_weights(const struct sl_checkpoint *checkpoint) {
  return (struct sl_weight_source){.read = read_weight, .context = (void *)(uintptr_t)checkpoint};
}
