/* Checkpointed activations that are partitioned or in host memory; see saved_input.h. */
#include "core/models/saved_input.h"

#include "core/models/regions.h"

static bool on_host(const struct sl_transformer *g) {
  return g->l->plan->config->activations.on_host;
}

/* Number of members that share the input among themselves. */
static int sharers(const struct sl_transformer *g) {
  return g->l->plan->config->activations.partitioned ? g->tp : 1;
}

static int64_t part(const struct sl_transformer *g) {
  return g->s * g->c / sharers(g);
}

/* DeepSpeed copies with .cpu() and .to(device): the host waits for each, and so do the kernels behind it
 * (runtime/activation_checkpointing/checkpointing.py, partition_activations and move_to_device). Our own copies run
 * beside compute. */
static unsigned waits(const struct sl_transformer *g) {
  const bool ours = g->l->plan->config->sl.kernels == SL_KERNELS_SHARDLAB;
  return on_host(g) && !ours ? SL_OP_AFTER_COMPUTE | SL_OP_BLOCKING : 0;
}

enum sl_status sl_saved_input_keep(struct sl_transformer *g, int layer, struct sl_operand x, int32_t *kept) {
  struct sl_lowering *l = g->l;
  *kept = -1;
  if (!on_host(g) && sharers(g) == 1) return SL_OK;
  SL_TRY(sl_build_buffer(l, kept, SL_SCOPE_MICRO, SL_CATEGORY_ACTIVATION, l->dtype, part(g), "h.%d.x_in.kept", layer));
  sl_build_slots(l, *kept, SL_SLOT_ACTIVATION);
  if (on_host(g)) sl_build_move(l, *kept, SL_SPACE_HOST);
  struct sl_op op = sl_build_copy(l, x.buffer, *kept, part(g), g->phase);
  op.layer = layer;
  op.flags |= waits(g);
  x.slice.access = SL_READ;
  if (sharers(g) > 1) {
    op.place_group = SL_GROUP_TP;
    x.slice.bytes /= g->tp;
    x.slice.shard_stride = x.slice.bytes;
  }
  return SL_BUILD_DRAFT(g->drafts, op, x, sl_build_write(l, *kept));
}

enum sl_status sl_saved_input_fetch(struct sl_transformer *g, int layer, int32_t kept, struct sl_operand *x) {
  struct sl_lowering *l = g->l;
  int32_t here = kept, whole;
  if (kept < 0) return SL_OK;
  if (on_host(g)) {
    SL_TRY(sl_transformer_temporary(g, &here, part(g), layer, "x_in.fetched"));
    struct sl_op op = sl_build_copy(l, kept, here, part(g), g->phase);
    op.layer = layer;
    op.flags |= waits(g);
    SL_TRY(SL_BUILD_DRAFT(g->drafts, op, sl_build_read(l, kept), sl_build_write(l, here)));
  }
  *x = sl_build_read(l, here);
  if (sharers(g) == 1) return SL_OK;
  SL_TRY(sl_transformer_temporary(g, &whole, g->s * g->c, layer, "x_in.gathered"));
  const struct sl_op op = sl_regions_call(g, SL_OP_ALL_GATHER, layer, g->s * g->c);
  SL_TRY(SL_BUILD_DRAFT(g->drafts, op, *x, sl_build_write(l, whole)));
  *x = sl_build_read(l, whole);
  return SL_OK;
}
