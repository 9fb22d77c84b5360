/* Data on NVMe, and the host memory that it passes through: optimizer states by sub-groups (update.c has their order),
 * and parameters in a pool of buffers that bounds how far ahead they are read. */
#include "core/base/checked.h"
#include "core/base/machine.h"
#include "core/lower/lower.h"

static enum sl_status host_buffer(struct sl_lowering *l, int32_t *out, enum sl_category category, enum sl_dtype dtype,
                                  int64_t count, const char *name, int i) {
  SL_TRY(sl_build_buffer(l, out, SL_SCOPE_PERSISTENT, category, dtype, count, "nvme.%s.%d", name, i));
  sl_build_move(l, *out, SL_SPACE_HOST);
  return SL_OK;
}

/* Buffers for blocks in flight, in each direction: as many as are requested at once, with room for alignment to a
 * page. */
static enum sl_status open_blocks(struct sl_lowering *l) {
  const struct sl_config *c = l->plan->config;
  const int64_t depth = sl_product(c->aio.queue_depth, c->aio.threads); /* each thread has a queue */
  const int64_t bytes = sl_sum(sl_product(c->aio.block_size, depth), SL_MACHINE_PAGE);
  for (int way = 0; way < 2 && l->homes->nvme.blocks[1] < 0; way++)
    SL_TRY(host_buffer(l, &l->homes->nvme.blocks[way], SL_CATEGORY_COMMUNICATION, SL_U8, bytes, "blocks", way));
  return SL_OK;
}

static int64_t largest_part(const struct sl_pp_rank *pp_rank) {
  int64_t most = 0;
  for (int i = 0; i < pp_rank->unit_count; i++)
    if (pp_rank->units[i].part > most) most = pp_rank->units[i].part;
  return most;
}

/* Sub-groups that fit into max_in_cpu stay in host memory. */
enum sl_status sl_nvme_open_params(struct sl_lowering *l) {
  const struct sl_config *c = l->plan->config;
  struct sl_nvme_home *h = &l->homes->nvme;
  const int64_t shard = sl_layout_shard(l->pp_rank, l->member), part = largest_part(l->pp_rank);
  const int32_t param = l->rank_class->role[SL_ROLE_PARAM].buffer;
  if (!l->plan->strategy.params_on_nvme || shard <= c->zero.param_max_in_cpu) {
    sl_build_move(l, param, l->plan->strategy.offload_params ? SL_SPACE_HOST : SL_SPACE_DEVICE);
    return SL_OK;
  }
  if (part > c->zero.param_buffer_size)
    return sl_json_fail(&c->doc, "zero_optimization.offload_param.buffer_size",
                        "is %lld; a rank's part of a parameter has up to %lld elements; expected at least that",
                        (long long)c->zero.param_buffer_size, (long long)part);
  SL_TRY(sl_home_split(l, SL_ROLE_PARAM, sl_home_within(l, c->zero.param_max_in_cpu), SL_SPACE_HOST, SL_SPACE_NVME));
  SL_TRY(open_blocks(l));
  SL_TRY(sl_calloc(&h->pool, (size_t)c->zero.param_buffer_count, sizeof *h->pool));
  for (; h->pool_count < c->zero.param_buffer_count; h->pool_count++)
    SL_TRY(host_buffer(l, &h->pool[h->pool_count], SL_CATEGORY_PARAMETER, l->dtype, part, "param", h->pool_count));
  return SL_OK;
}

enum sl_status sl_nvme_read_param(struct sl_lowering *l, struct sl_program *p, enum sl_phase phase,
                                  struct sl_operand *part, int64_t count) {
  const struct sl_nvme_home *h = &l->homes->nvme;
  const int32_t buffer = h->pool[l->zero->pool_next++ % h->pool_count];
  SL_TRY(sl_zero_convert(l, p, *part, sl_build_part(l, buffer, SL_WRITE, 0, count), count, phase, false));
  *part = sl_build_part(l, buffer, SL_READ, 0, count);
  return SL_OK;
}

/* The elements of the largest sub-group whose states are not on the device; *count: how many of those a parameter group
 * has at most. */
static int64_t largest_subgroup(const struct sl_lowering *l, int *count) {
  const int64_t on_device = sl_home_on_device(l);
  struct sl_subgroup s = {0};
  int64_t most = 0;
  int group = -1, n = 0;
  *count = 0;
  while (sl_home_next(l, &s)) {
    if (s.first < on_device) continue;
    n = s.group == group ? n + 1 : 1, group = s.group;
    if (n > *count) *count = n;
    if (s.end - s.first > most) most = s.end - s.first;
  }
  return most;
}

/* A set of host memory for a sub-group; with more of them the next is read, and the one before written, beside its
 * update, if there is any. */
enum sl_status sl_nvme_open_optimizer(struct sl_lowering *l) {
  static const char *const names[] = {[SL_ROLE_GRAD] = "grad",
                                      [SL_ROLE_MOMENT1] = "exp_avg",
                                      [SL_ROLE_MOMENT2] = "exp_avg_sq",
                                      [SL_ROLE_MASTER] = "master"};
  const struct sl_config *c = l->plan->config;
  struct sl_nvme_home *h = &l->homes->nvme;
  const int asked = 1 + c->zero.pipeline_read + c->zero.pipeline_write;
  int sets;
  const int64_t most = largest_subgroup(l, &sets);
  if (sets == 0) return SL_OK; /* all are on the device */
  if (sets > asked) sets = asked;
  SL_TRY(open_blocks(l));
  for (; h->sets < sets; h->sets++) {
    for (int role = h->gradients ? SL_ROLE_GRAD : SL_ROLE_MOMENT1; role <= SL_ROLE_MASTER; role++) {
      if (l->rank_class->role[role].form == SL_FORM_ABSENT) continue;
      SL_TRY(host_buffer(l, &h->staged[h->sets][role],
                         role == SL_ROLE_GRAD ? SL_CATEGORY_GRADIENT : SL_CATEGORY_OPTIMIZER, SL_F32, most, names[role],
                         h->sets));
    }
  }
  return SL_OK;
}
