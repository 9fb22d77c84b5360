/* Stage 3's parameters: what to gather before an op and what to let go after it, decided over the trace of one
 * micro-batch as DeepSpeed's PartitionedParameterCoordinator decides it
 * (runtime/zero/partitioned_param_coordinator.py):
 *
 *   - an op's parameters that are not there are gathered, in one coalesced call;
 *   - then the trace is read ahead, gathering until stage3_prefetch_bucket_size elements are asked for or
 *     stage3_max_live_parameters would be live;
 *   - after its use a parameter goes, unless it is used again within stage3_max_reuse_distance elements of the trace.
 *
 * Every gather writes a buffer of its own, so the arena planner sees exactly how long each copy lives. */
#include <stdlib.h>
#include <string.h>

#include "core/lower_zero.h"

/* One op that uses parameters. */
struct use {
  const struct sl_draft *draft;
  int placed[SL_MAX_OPERANDS];
  int count;
};

struct live {
  int32_t buffer; /* -1: not gathered */
};

struct sl_fetch {
  struct use *uses;
  size_t use_count, use_capacity, forward_uses;
  size_t cursor;            /* the next use */
  size_t ahead;             /* uses before this one were looked at for prefetching */
  struct live *live, *kept; /* per placed tensor: now, and at the end of the forward */
  int64_t live_numel, kept_numel;
  int32_t *persistent; /* per placed tensor: its lasting whole copy, -1 none */
  int *request;
  int request_count;
};

static enum sl_status trace(struct sl_lowering *l, const struct sl_drafts *drafts) {
  struct sl_fetch *f = l->zero->fetch;
  for (size_t i = 0; i < drafts->count; i++) {
    struct use u = {.draft = &drafts->items[i]};
    for (int k = 0; k < u.draft->operand_count; k++) {
      const struct sl_operand *o = &u.draft->operand[k];
      if (o->buffer < 0 && !o->gradient) u.placed[u.count++] = o->placed;
    }
    if (u.count == 0) continue;
    SL_TRY(sl_grow(&f->uses, &f->use_capacity, f->use_count + 1, sizeof *f->uses));
    f->uses[f->use_count++] = u;
  }
  return SL_OK;
}

static int64_t numel_of(const struct sl_lowering *l, int placed) {
  return l->stage->tensors[placed].numel;
}

static int64_t whole_of(const struct sl_lowering *l, int placed) {
  return l->stage->layout.units[l->stage->tensors[placed].unit].part * l->stage->layout.members;
}

static const char *name_of(const struct sl_lowering *l, int placed) {
  return l->plan->model->tensors[l->stage->tensors[placed].tensor].name;
}

enum sl_status sl_fetch_open(struct sl_lowering *l) {
  const size_t n = (size_t)l->stage->tensor_count;
  struct sl_fetch *f;
  SL_TRY(sl_calloc(&f, 1, sizeof *f));
  l->zero->fetch = f;
  SL_TRY(sl_calloc(&f->live, n, sizeof *f->live));
  SL_TRY(sl_calloc(&f->kept, n, sizeof *f->kept));
  SL_TRY(sl_calloc(&f->persistent, n, sizeof *f->persistent));
  SL_TRY(sl_calloc(&f->request, n, sizeof *f->request));
  for (size_t i = 0; i < n; i++) {
    f->live[i].buffer = f->persistent[i] = -1;
    if (!l->stage->tensors[i].persistent) continue;
    SL_TRY(sl_lower_buffer(l, &f->persistent[i], SL_SCOPE_PERSISTENT, SL_CATEGORY_PARAMETER, SL_F32,
                           whole_of(l, (int)i), 1, "%s", name_of(l, (int)i)));
  }
  return SL_OK;
}

void sl_fetch_close(struct sl_lowering *l) {
  struct sl_fetch *f = l->zero->fetch;
  if (f == NULL) return;
  free(f->uses);
  free(f->live);
  free(f->kept);
  free(f->persistent);
  free(f->request);
  free(f);
  l->zero->fetch = NULL;
}

enum sl_status sl_fetch_begin(struct sl_lowering *l) {
  struct sl_fetch *f = l->zero->fetch;
  if (f->use_count == 0) {
    SL_TRY(trace(l, &l->forward));
    f->forward_uses = f->use_count;
    SL_TRY(trace(l, &l->backward));
  }
  f->cursor = f->ahead = 0;
  f->live_numel = 0;
  for (int i = 0; i < l->stage->tensor_count; i++) f->live[i].buffer = -1;
  return SL_OK;
}

/* The first backward to be lowered follows the forward; others follow another instance of it, in the same state. */
enum sl_status sl_fetch_resume(struct sl_lowering *l) {
  struct sl_fetch *f = l->zero->fetch;
  const size_t bytes = (size_t)l->stage->tensor_count * sizeof *f->live;
  if (f->cursor == f->forward_uses) {
    memcpy(f->kept, f->live, bytes);
    f->kept_numel = f->live_numel;
  }
  memcpy(f->live, f->kept, bytes);
  f->live_numel = f->kept_numel;
  f->cursor = f->ahead = f->forward_uses;
  return SL_OK;
}

int32_t sl_fetch_buffer(const struct sl_lowering *l, int placed) {
  const struct sl_fetch *f = l->zero->fetch;
  return f->persistent[placed] >= 0 ? f->persistent[placed] : f->live[placed].buffer;
}

/* Ask for a tensor unless it is there or asked for already. */
static void request(struct sl_fetch *f, int placed) {
  for (int i = 0; i < f->request_count; i++) {
    if (f->request[i] == placed) return;
  }
  if (f->persistent[placed] < 0 && f->live[placed].buffer < 0) f->request[f->request_count++] = placed;
}

/* One coalesced all_gather of everything asked for, into new buffers. */
static enum sl_status gather(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase) {
  struct sl_fetch *f = l->zero->fetch;
  const int32_t shard = l->rank_class->role[SL_ROLE_PARAM].buffer;
  if (f->request_count == 0) return SL_OK;
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, SL_GROUP_SHARD, phase, SL_PAYLOAD_PARAMETER, 0);
  int n = 0;
  for (int i = 0; i < f->request_count; i++) {
    const int placed = f->request[i];
    const struct sl_unit *u = &l->stage->layout.units[l->stage->tensors[placed].unit];
    SL_TRY(sl_lower_buffer(l, &f->live[placed].buffer, SL_SCOPE_MICRO, SL_CATEGORY_COMMUNICATION, SL_F32,
                           whole_of(l, placed), 1, "%s.%s", name_of(l, placed), sl_phase_name(phase)));
    f->live_numel += numel_of(l, placed);
    l->zero->wide[n++] = sl_part(l, shard, SL_READ, u->shard_offset, u->part);
    l->zero->wide[n++] = sl_write(l, f->live[placed].buffer);
    op.dim[0] += whole_of(l, placed);
  }
  op.tensor = f->request[0];
  f->request_count = 0;
  return sl_lower_emit(p, op, n, l->zero->wide);
}

/* Read the trace ahead from where the last prefetch stopped. */
static void prefetch(struct sl_lowering *l) {
  struct sl_fetch *f = l->zero->fetch;
  const struct sl_config *config = l->plan->config;
  int64_t room = config->zero.max_live_parameters - f->live_numel;
  if (room > config->zero.prefetch_bucket_size) room = config->zero.prefetch_bucket_size;
  int64_t asked = 0;
  if (f->ahead <= f->cursor) f->ahead = f->cursor + 1;
  for (; f->ahead < f->use_count && asked < room; f->ahead++) {
    const struct use *u = &f->uses[f->ahead];
    for (int k = 0; k < u->count; k++) {
      const int before = f->request_count;
      request(f, u->placed[k]);
      if (f->request_count > before) asked += numel_of(l, u->placed[k]);
    }
  }
}

enum sl_status sl_fetch_before(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase,
                               const struct sl_draft *draft) {
  struct sl_fetch *f = l->zero->fetch;
  if (f->cursor == f->use_count || f->uses[f->cursor].draft != draft) return SL_OK;
  const struct use *u = &f->uses[f->cursor];
  for (int k = 0; k < u->count; k++) request(f, u->placed[k]);
  SL_TRY(gather(l, p, phase));
  prefetch(l);
  return gather(l, p, phase);
}

/* Is `placed` used within the reuse distance after the current use? */
static bool reused_soon(const struct sl_lowering *l, int placed) {
  const struct sl_fetch *f = l->zero->fetch;
  int64_t distance = 0;
  for (size_t i = f->cursor + 1; i < f->use_count && distance < l->plan->config->zero.max_reuse_distance; i++) {
    for (int k = 0; k < f->uses[i].count; k++) {
      if (f->uses[i].placed[k] == placed) return true;
      distance += numel_of(l, f->uses[i].placed[k]);
    }
  }
  return false;
}

void sl_fetch_after(struct sl_lowering *l, const struct sl_draft *draft) {
  struct sl_fetch *f = l->zero->fetch;
  if (f->cursor == f->use_count || f->uses[f->cursor].draft != draft) return;
  const struct use *u = &f->uses[f->cursor];
  for (int k = 0; k < u->count; k++) {
    const int placed = u->placed[k];
    if (f->live[placed].buffer < 0 || reused_soon(l, placed)) continue;
    f->live[placed].buffer = -1;
    f->live_numel -= numel_of(l, placed);
  }
  f->cursor++;
}

enum sl_status sl_fetch_persistent(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase) {
  const struct sl_fetch *f = l->zero->fetch;
  const int32_t shard = l->rank_class->role[SL_ROLE_PARAM].buffer;
  struct sl_op op = sl_zero_collective(l, SL_OP_ALL_GATHER, SL_GROUP_SHARD, phase, SL_PAYLOAD_PARAMETER, 0);
  int n = 0;
  for (int i = 0; i < l->stage->tensor_count; i++) {
    const struct sl_unit *u = &l->stage->layout.units[l->stage->tensors[i].unit];
    if (f->persistent[i] < 0) continue;
    l->zero->wide[n++] = sl_part(l, shard, SL_READ, u->shard_offset, u->part);
    l->zero->wide[n++] = sl_write(l, f->persistent[i]);
    op.dim[0] += whole_of(l, i);
  }
  return n > 0 ? sl_lower_emit(p, op, n, l->zero->wide) : SL_OK;
}
