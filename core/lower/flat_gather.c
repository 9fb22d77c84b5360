/* Flat buffers of gathers; see flat_gather.h. */
#include "core/lower/flat_gather.h"

#include "core/lower/lower.h"
#include "core/plan/kernels.h"

static bool copies(const struct sl_lowering *l) {
  return l->plan->strategy.copies_gathered && l->plan->config->sl.kernels != SL_KERNELS_SHARDLAB;
}

/* Of a unit on the wire. */
static int64_t bytes_of(const struct sl_lowering *l, int unit) {
  const struct sl_unit *u = &l->pp_rank->units[unit];
  const int64_t element = sl_dtype_bytes(sl_flat_gather_in_fp8(l, unit) ? SL_F8 : l->dtype);
  return element * u->part * sl_layout_of(l->pp_rank, u)->group.members;
}

enum sl_status sl_flat_gather_open(struct sl_lowering *l) {
  int64_t most = 0, cast = 0;
  int32_t buffer;
  if (!copies(l)) return SL_OK;
  for (int i = 0; i < l->pp_rank->unit_count; i++) {
    const int64_t one = bytes_of(l, i), both = one + (i > 0 ? bytes_of(l, i - 1) : 0);
    const int64_t part = one / sl_layout_of(l->pp_rank, &l->pp_rank->units[i])->group.members;
    if (both > most) most = both;
    if (part > cast) cast = part;
  }
  most += cast;
  return sl_build_buffer(l, &buffer, SL_SCOPE_PERSISTENT, SL_CATEGORY_COMMUNICATION, SL_U8, most, "gather.flat");
}

bool sl_flat_gather_in_fp8(const struct sl_lowering *l, int unit) {
  const struct sl_config *config = l->plan->config;
  return unit != 0 && l->plan->strategy.units == SL_UNITS_LAYER && sl_config_product_dtype(config) == SL_F8 &&
         config->sl.fp8_recipe == SL_FP8_TENSORWISE && l->plan->shard > l->plan->cp &&
         sl_kernel_set(config->sl.kernels)->fp8_casts == SL_CASTS_TORCHAO;
}

enum sl_status sl_flat_gather_copy_out(const struct sl_lowering *l, struct sl_program *p, enum sl_phase phase,
                                       int unit) {
  struct sl_op pass = sl_zero_op(SL_OP_PASS, SL_U8, phase, 0);
  if (!copies(l)) return SL_OK;
  pass.dim[0] = 2 * bytes_of(l, unit);
  pass.dim[1] = 1;
  return sl_build_emit(p, pass, 0, NULL);
}
