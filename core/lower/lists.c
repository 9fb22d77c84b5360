/* Gathers into lists; see lists.h. Every member's part has a buffer of its own, because an allocator finds room for
 * many small buffers where a single large one does not fit. */
#include "core/lower/lists.h"

#include <stdlib.h>

#include "core/lower/lower.h"
#include "core/lower/zero.h"
#include "core/plan/kernels.h"

static int members_of(const struct sl_lowering *l) {
  return sl_layout_of(l->pp_rank, &l->pp_rank->units[0])->group.members;
}

static int64_t part_bytes(const struct sl_lowering *l) {
  int64_t elements = 0;
  for (int i = 0; i < l->pp_rank->unit_count; i++) elements += l->pp_rank->units[i].part;
  return elements * sl_dtype_bytes(l->dtype);
}

/* One kernel joins the pieces of a part; after the gather each piece is copied by a kernel of its own. The host
 * processes all of them. */
static struct sl_op copy(int64_t bytes, uint32_t flags, int64_t kernels, int64_t pieces) {
  struct sl_op op = sl_zero_op(SL_OP_PASS, SL_U8, SL_PHASE_STEP, bytes);
  op.dim[1] = kernels, op.dim[2] = pieces;
  op.flags = flags;
  return op;
}

static enum sl_status part_buffer(struct sl_lowering *l, int32_t *out, int64_t bytes, const char *name) {
  return sl_build_buffer(l, out, SL_SCOPE_PROGRAM, SL_CATEGORY_COMMUNICATION, SL_U8, bytes, "%s", name);
}

enum sl_status sl_lists_open(struct sl_lowering *l, struct sl_program *p) {
  const int members = members_of(l);
  const int64_t part = part_bytes(l), tensors = l->pp_rank->tensor_count;
  const struct sl_operand params = sl_build_read(l, l->rank_class->role[SL_ROLE_PARAM].buffer);
  int32_t own, whole;
  SL_TRY(sl_calloc(&l->zero->lists, (size_t)members, sizeof *l->zero->lists));
  for (int i = 0; i < members; i++) {
    SL_TRY(part_buffer(l, &l->zero->lists[i], part, "gather.list"));
    SL_TRY(SL_BUILD_EMIT(p, copy(2 * part, SL_OP_KEEPS | SL_OP_READS_KEPT, 1, tensors),
                         sl_build_write(l, l->zero->lists[i]), params));
  }
  SL_TRY(part_buffer(l, &own, part, "gather.own"));
  SL_TRY(part_buffer(l, &whole, part * members, "gather.whole"));
  return SL_BUILD_EMIT(p, copy(2 * part, SL_OP_KEEPS | SL_OP_READS_KEPT | SL_OP_WORKSPACE, 1, tensors),
                       sl_build_write(l, own), params, sl_build_write(l, whole));
}

enum sl_status sl_lists_close(struct sl_lowering *l, struct sl_program *p) {
  const int64_t part = part_bytes(l), tensors = l->pp_rank->tensor_count;
  for (int i = 0; i < members_of(l); i++)
    SL_TRY(SL_BUILD_EMIT(p, copy(4 * part, SL_OP_READS_KEPT | SL_OP_WORKSPACE, tensors, tensors),
                         sl_build_read(l, l->zero->lists[i]),
                         sl_build_write(l, l->rank_class->role[SL_ROLE_PARAM].buffer)));
  free(l->zero->lists);
  l->zero->lists = NULL;
  return SL_OK;
}
