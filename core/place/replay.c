/* Plays a framework's allocations; see replay.h. */
#include "core/place/replay.h"

#include "core/base/checked.h"
#include "core/place/allocator.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 2, NONE = -1 };

/* A block that is free once the device has come to the launch at which the host gave it back. */
struct late {
  int64_t launch;
  uint32_t block;
};

struct replay {
  const struct sl_plan *plan;
  const struct sl_allocations *script;
  const struct sl_pp_rank *pp;
  int pp_index, micro_batches; /* that are played */
  int blocks;                  /* of the rank; a stage has one more, for its head */
  int64_t lead;
  double pace; /* seconds of the host for a second of the device */
  struct sl_allocator allocator;
  int64_t *kept; /* (micro_batches, blocks, SL_TENSORS_OF_STAGE): allocator blocks, NONE */
  int64_t moving[SL_TENSORS];
  int64_t buffers[SL_SCRIPT_BUFFERS], buffer_bytes[SL_SCRIPT_BUFFERS], workspaces[SL_SCRIPT_THREADS];
  int64_t *gradients; /* of the running backward */
  size_t gradient_count, gradient_capacity;
  bool vocabulary; /* one of them is the embedding's */
  struct late *late;
  size_t late_first, late_count, late_capacity;
  bool waited; /* some block was ever given back late */
  int64_t launched;
};

/* ---- requests ---- */

static enum sl_status free_late(struct replay *r, bool all) {
  while (r->late_first < r->late_count) {
    const struct late *l = &r->late[r->late_first];
    const bool over = r->launched - l->launch >= r->lead || (double)r->launched * r->pace >= (double)l->launch;
    if (!all && !over) return SL_OK;
    r->late_first++;
    SL_TRY(sl_allocator_give(&r->allocator, l->block));
  }
  r->late_first = r->late_count = 0;
  return SL_OK;
}

static enum sl_status take(struct replay *r, int64_t bytes, int64_t *out) {
  uint32_t block;
  if (r->late_first < r->late_count) SL_TRY(free_late(r, sl_allocator_is_short(&r->allocator, bytes)));
  SL_TRY(sl_allocator_take(&r->allocator, bytes > 0 ? bytes : 1, &block));
  *out = block;
  return SL_OK;
}

static enum sl_status give(struct replay *r, int64_t *block, bool late) {
  const uint32_t given = (uint32_t)*block;
  *block = NONE;
  if (!late) return sl_allocator_give(&r->allocator, given);
  SL_TRY(sl_grow(&r->late, &r->late_capacity, r->late_count + 1, sizeof *r->late));
  r->late[r->late_count++] = (struct late){r->launched, given};
  r->waited = true;
  return SL_OK;
}

/* ---- sizes ---- */

/* As many as its members have together: of a single one each has a copy. */
static int64_t key_heads(const struct sl_plan *plan) {
  return sl_model_shares_key_head(plan->model) ? plan->tp : plan->model->n_kv_head;
}

static int64_t weight_numel(const struct sl_plan *plan, enum sl_script_weight weight) {
  const struct sl_model *m = plan->model;
  const int64_t c = m->n_embd;
  switch (weight) {
  case SL_WEIGHT_QKV:
    return (m->n_head + 2 * key_heads(plan)) * m->head_dim * c / plan->tp;
  case SL_WEIGHT_OUT:
    return m->n_head * m->head_dim * c / plan->tp;
  case SL_WEIGHT_GATE_UP:
    return 2 * m->n_inner * c / plan->tp;
  case SL_WEIGHT_DOWN:
    return m->n_inner * c / plan->tp;
  default:
    return (m->vocab_size + plan->tp - 1) / plan->tp * c;
  }
}

static int64_t extent(const struct sl_plan *plan, enum sl_extent of) {
  const struct sl_model *m = plan->model;
  const int64_t tokens = plan->micro_tokens, own = tokens / plan->tp;
  const int64_t q = m->n_head * m->head_dim, kv = 2 * key_heads(plan) * m->head_dim;
  switch (of) {
  case SL_EXTENT_WHOLE:
    return sl_product(tokens, m->n_embd);
  case SL_EXTENT_ROWS:
    return sl_product(own, m->n_embd);
  case SL_EXTENT_Q:
    return sl_product(own, q);
  case SL_EXTENT_KV:
    return sl_product(own, kv);
  case SL_EXTENT_QKV:
    return sl_product(own, q + kv);
  case SL_EXTENT_HEADS:
    return sl_product(own, m->n_head);
  case SL_EXTENT_INNER:
    return sl_product(own, m->n_inner);
  case SL_EXTENT_LOGITS:
    return sl_product(tokens, (m->vocab_size + plan->tp - 1) / plan->tp);
  case SL_EXTENT_TOKENS:
    return tokens;
  case SL_EXTENT_ROW:
    return own;
  case SL_EXTENT_CHANNELS:
    return sl_product(plan->cluster->device.sm_count, m->n_embd);
  case SL_EXTENT_NONE:
    break;
  }
  return 0;
}

/* ---- scripts ---- */

static int64_t *tensor(struct replay *r, int64_t *block, int which) {
  return which < SL_TENSORS_OF_STAGE ? &block[which] : &r->moving[which];
}

static bool applies(const struct replay *r, enum sl_script_when when) {
  switch (when) {
  case SL_IF_TP:
    return r->plan->tp > 1;
  case SL_UNLESS_TP:
    return r->plan->tp == 1;
  case SL_IF_MANY:
    return r->plan->micro_batch > 1;
  case SL_EVERY:
    break;
  }
  return true;
}

static enum sl_status add_gradient(struct replay *r, const struct sl_script_line *line) {
  int64_t block;
  SL_TRY(take(r, line->bytes * weight_numel(r->plan, line->which), &block));
  const bool vocabulary = line->which == SL_WEIGHT_VOCABULARY;
  if (vocabulary && r->vocabulary && r->plan->model->tied_head) return give(r, &block, false);
  r->vocabulary = r->vocabulary || vocabulary;
  SL_TRY(sl_grow(&r->gradients, &r->gradient_capacity, r->gradient_count + 1, sizeof *r->gradients));
  r->gradients[r->gradient_count++] = block;
  return SL_OK;
}

static enum sl_status grow_buffer(struct replay *r, const struct sl_script_line *line) {
  const int64_t bytes = line->bytes * extent(r->plan, line->extent);
  if (r->buffer_bytes[line->which] >= bytes) return SL_OK;
  r->buffer_bytes[line->which] = bytes;
  return take(r, bytes, &r->buffers[line->which]);
}

static enum sl_status play_line(struct replay *r, const struct sl_script_line *line, int64_t *block) {
  int64_t *at = tensor(r, block, line->which);
  switch (line->what) {
  case SL_TAKE:
    return take(r, line->bytes * extent(r->plan, line->extent), at);
  case SL_GIVE:
  case SL_GIVE_LATE:
    return give(r, at, line->what == SL_GIVE_LATE && r->plan->tp > 1);
  case SL_MOVE:
    *at = *tensor(r, block, line->bytes);
    *tensor(r, block, line->bytes) = NONE;
    return SL_OK;
  case SL_BUFFER:
    return grow_buffer(r, line);
  case SL_WORKSPACE:
    if (r->workspaces[line->which] != NONE) return SL_OK;
    return take(r, r->script->workspace_bytes, &r->workspaces[line->which]);
  case SL_GRADIENT:
    return add_gradient(r, line);
  }
  return SL_OK;
}

static enum sl_status play(struct replay *r, enum sl_script script, int64_t *block) {
  const struct sl_script_line *line = r->script->scripts[script];
  for (; line->what != SL_MOVE || line->extent != SL_EXTENT_NONE; line++) {
    if (!applies(r, line->when)) continue;
    SL_TRY(play_line(r, line, block));
    r->launched += line->launches;
  }
  return SL_OK;
}

/* ---- a step ---- */

/* What is kept of the first block of a stage for a micro-batch; the head's follows that of the last. */
static int64_t *kept_of(const struct replay *r, int micro_batch, const struct sl_stage *stage) {
  int before = 0;
  for (int i = 0; i < stage->local; i++) before += r->plan->stages[r->pp->stages[i]].layer_count + 1;
  return &r->kept[(sl_product(micro_batch, r->blocks) + before) * SL_TENSORS_OF_STAGE];
}

static enum sl_status receive(struct replay *r, enum sl_script_tensor what, int messages) {
  r->launched += messages * r->script->message_launches;
  return take(r, 2 * extent(r->plan, SL_EXTENT_ROWS), &r->moving[what]);
}

static enum sl_status forward(struct replay *r, const struct sl_action *action) {
  const struct sl_stage *stage = &r->plan->stages[action->stage];
  int64_t *block = kept_of(r, action->micro_batch, stage);
  if (stage->embedding)
    SL_TRY(play(r, SL_SCRIPT_EMBED, block));
  else
    SL_TRY(receive(r, SL_TENSOR_NEXT, r->script->sent));
  for (int i = 0; i < stage->layer_count; i++, block += SL_TENSORS_OF_STAGE) {
    block[SL_TENSOR_INPUT] = r->moving[SL_TENSOR_NEXT];
    SL_TRY(play(r, SL_SCRIPT_BLOCK, block));
  }
  block[SL_TENSOR_INPUT] = r->moving[SL_TENSOR_NEXT];
  if (stage->head) return play(r, SL_SCRIPT_HEAD, block);
  r->launched += r->script->sent * r->script->message_launches;
  return SL_OK;
}

/* That an activation stays until its gradient has come, though it was sent, is a guess that published figures
 * suggest. */
static enum sl_status backward(struct replay *r, const struct sl_action *action) {
  const struct sl_stage *stage = &r->plan->stages[action->stage];
  int64_t *last = kept_of(r, action->micro_batch, stage) + (size_t)stage->layer_count * SL_TENSORS_OF_STAGE;
  int64_t *block = last;
  if (stage->head)
    SL_TRY(play(r, SL_SCRIPT_HEAD_BACK, block));
  else
    SL_TRY(receive(r, SL_TENSOR_STREAM, 1));
  for (int i = 0; i < stage->layer_count; i++) SL_TRY(play(r, SL_SCRIPT_BLOCK_BACK, block -= SL_TENSORS_OF_STAGE));
  if (!stage->head) SL_TRY(give(r, &last[SL_TENSOR_INPUT], false));
  if (stage->embedding)
    SL_TRY(play(r, SL_SCRIPT_EMBED_BACK, block));
  else
    SL_TRY(give(r, &r->moving[SL_TENSOR_STREAM], true));
  for (size_t i = 0; i < r->gradient_count; i++) SL_TRY(give(r, &r->gradients[i], false));
  r->launched += (int64_t)r->gradient_count;
  r->gradient_count = 0;
  r->vocabulary = false;
  return SL_OK;
}

/* A framework that counts ranks without a stage in its warm-up starts its backwards that much later. */
static enum sl_status micro_batches(struct replay *r) {
  const struct sl_schedule *s = &r->plan->schedule;
  const struct sl_action *next = s->actions[r->pp_index], *end = next + s->counts[r->pp_index];
  int held = 0, idle = r->script->counts_idle_ranks ? r->plan->pp - r->plan->stage_count : 0;
  for (const struct sl_action *a = next; a < end || held > 0; a++) {
    if (a >= end) idle = 0;
    if (a < end && a->micro_batch >= r->micro_batches) continue;
    if (a < end && a->kind == SL_ACTION_FORWARD) SL_TRY(forward(r, a));
    if (a < end && a->kind == SL_ACTION_BACKWARD) held++;
    for (; held > idle; next++) {
      if (next->kind != SL_ACTION_BACKWARD || next->micro_batch >= r->micro_batches) continue;
      SL_TRY(backward(r, next));
      held--;
    }
  }
  return SL_OK;
}

/* ---- states ---- */

typedef enum sl_status (*each_fn)(struct replay *r, int64_t numel, int64_t *sum);

/* Calls `each` with the elements of every tensor of the rank, in the framework's order: a block's norm, qkv, out, norm,
 * gate with up, and down. */
static enum sl_status each_tensor(struct replay *r, each_fn each, int64_t *sum) {
  const struct sl_plan *plan = r->plan;
  static const int weights[] = {NONE, SL_WEIGHT_QKV, SL_WEIGHT_OUT, NONE, SL_WEIGHT_GATE_UP, SL_WEIGHT_DOWN};
  enum { TENSORS = sizeof weights / sizeof *weights };
  for (int s = 0; s < r->pp->stage_count; s++) {
    const struct sl_stage *stage = &plan->stages[r->pp->stages[s]];
    if (stage->embedding) SL_TRY(each(r, weight_numel(plan, SL_WEIGHT_VOCABULARY), sum));
    for (int i = 0; i < stage->layer_count * TENSORS; i++) {
      const int w = weights[i % TENSORS];
      SL_TRY(each(r, w == NONE ? plan->model->n_embd : weight_numel(plan, (enum sl_script_weight)w), sum));
    }
    if (!stage->head) continue;
    SL_TRY(each(r, plan->model->n_embd, sum));
    if (!plan->model->tied_head || !stage->embedding) SL_TRY(each(r, weight_numel(plan, SL_WEIGHT_VOCABULARY), sum));
  }
  return SL_OK;
}

static int64_t shard_of(const struct replay *r, int64_t numel) {
  const int members = r->plan->strategy.shard_optimizer ? r->plan->shard : 1;
  return (numel + members - 1) / members;
}

static enum sl_status add_shard(struct replay *r, int64_t numel, int64_t *sum) {
  *sum += shard_of(r, numel);
  return SL_OK;
}

static enum sl_status take_weight(struct replay *r, int64_t numel, int64_t *sum) {
  int64_t block;
  *sum += numel;
  return take(r, 2 * numel, &block);
}

/* fp32 step, mean and variance, each a tensor of its own. */
static enum sl_status take_moments(struct replay *r, int64_t numel, int64_t *sum) {
  int64_t block;
  SL_TRY(add_shard(r, numel, sum));
  SL_TRY(take(r, 4, &block));
  SL_TRY(take(r, 4 * shard_of(r, numel), &block));
  return take(r, 4 * shard_of(r, numel), &block);
}

/* Parameters, DDP's buckets of 16-bit gradients, the flat fp32 gradients and the fp32 parameters. */
static enum sl_status states(struct replay *r) {
  int64_t block, numel = 0, shards = 0;
  SL_TRY(each_tensor(r, take_weight, &numel));
  SL_TRY(each_tensor(r, add_shard, &shards));
  const int64_t bucket = 2 * sl_plan_bucket_limit(r->plan, r->pp, 0, false);
  if (r->plan->strategy.overlap && r->plan->dp_cp > 1)
    for (int64_t left = 2 * numel; left > 0; left -= bucket) SL_TRY(take(r, left < bucket ? left : bucket, &block));
  SL_TRY(take(r, 4 * numel, &block));
  return take(r, 4 * shards, &block);
}

/* Updated parameters are gathered into a list, see lower/lists.h. */
static enum sl_status gather(struct replay *r) {
  const int members = r->plan->shard;
  int64_t *parts, whole, part = 0;
  enum sl_status status;
  SL_TRY(each_tensor(r, add_shard, &part));
  SL_TRY(sl_calloc(&parts, (size_t)members + 1, sizeof *parts));
  for (int i = 0; i <= members; i++) SL_GO(take(r, 2 * part, &parts[i]));
  SL_GO(take(r, 2 * part * members, &whole));
  SL_GO(give(r, &whole, false));
  for (int i = 0; i <= members; i++) SL_GO(give(r, &parts[i], false));
done:
  free(parts);
  return status;
}

/* ---- the report ---- */

static enum sl_status begin(struct replay *r, int64_t capacity) {
  r->allocator = (struct sl_allocator){.capacity = capacity, .expandable = r->plan->config->sl.expandable_segments};
  for (size_t i = 0; i < (size_t)r->micro_batches * (size_t)r->blocks * SL_TENSORS_OF_STAGE; i++) r->kept[i] = NONE;
  for (int i = 0; i < SL_TENSORS; i++) r->moving[i] = NONE;
  for (int i = 0; i < SL_SCRIPT_THREADS; i++) r->workspaces[i] = NONE;
  for (int i = 0; i < SL_SCRIPT_BUFFERS; i++) r->buffers[i] = NONE, r->buffer_bytes[i] = 0;
  r->late_first = r->late_count = r->gradient_count = 0;
  r->launched = 0;
  r->waited = r->vocabulary = false;
  return states(r);
}

/* What is reserved after the backwards of the last step or later: nanotron's logs reset their peak there. More, if the
 * device cannot hold what a step needs. */
static enum sl_status run(struct replay *r, int64_t capacity, double pace, int64_t *reserved) {
  enum sl_status status;
  int64_t left = 0, sharded = 0;
  r->pace = pace;
  SL_GO(begin(r, capacity));
  for (int i = 0; i < STEPS; i++) {
    r->launched = 0;
    SL_GO(micro_batches(r));
    SL_GO(free_late(r, true));
    left = r->allocator.reserved;
    if (i == 0) SL_GO(each_tensor(r, take_moments, &sharded));
    if (r->plan->strategy.shard_optimizer && r->plan->shard > 1) SL_GO(gather(r));
  }
  *reserved = r->allocator.reserved > left ? r->allocator.reserved : left;
  if (capacity == 0 || r->allocator.reserved_peak > capacity) *reserved = r->allocator.reserved_peak;
done:
  sl_allocator_free(&r->allocator);
  return status;
}

enum sl_status sl_replay_report(struct sl_memory_report *report, const struct sl_plan *plan, int pp_rank,
                                const struct sl_allocations *allocations, int64_t room, int64_t lead) {
  enum { MORE_THAN_WARM_UP = 3 }; /* later micro-batches find what these left */
  struct replay r = {
      .plan = plan, .script = allocations, .pp = &plan->pp_ranks[pp_rank], .pp_index = pp_rank, .lead = lead};
  enum sl_status status;
  const int64_t enough = plan->pp + plan->stage_count + MORE_THAN_WARM_UP;
  r.micro_batches = (int)(plan->n_micro < enough ? plan->n_micro : enough);
  for (int i = 0; i < r.pp->stage_count; i++) r.blocks += plan->stages[r.pp->stages[i]].layer_count + 1;
  SL_TRY(sl_calloc(&r.kept, (size_t)r.micro_batches * (size_t)r.blocks * SL_TENSORS_OF_STAGE + 1, sizeof *r.kept));
  SL_GO(run(&r, 0, 0, &report->reserved_bytes));
  report->needed_bytes = report->reserved_bytes;
  if (report->reserved_bytes > room) SL_GO(run(&r, room > 0 ? room : 1, 0, &report->needed_bytes));
  report->needed_at[0] = report->needed_bytes;
  for (int i = 1; i < SL_PACES; i++) {
    report->needed_at[i] = report->needed_bytes;
    if (r.waited) SL_GO(run(&r, room > 0 ? room : 1, (double)i / (SL_PACES - 1), &report->needed_at[i]));
  }
done:
  free(r.kept);
  free(r.gradients);
  free(r.late);
  return status;
}
