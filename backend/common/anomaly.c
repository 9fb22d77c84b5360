/* See anomaly.h. All types have an exponent of all ones in what is not finite, so that numbers are looked at by their
 * bits. */
#include "backend/common/anomaly.h"

#include "core/op/wire.h"

#include <string.h>

enum { CHUNK = 1 << 16 };

struct look {
  const struct sl_call_rank *rank;
  const struct sl_issued *it;
  sl_anomaly_fetch_fn fetch;
  void *context;
};

/* A stretch of one operand. */
struct stretch {
  const char *from;
  size_t bytes;
  enum sl_dtype dtype;
};

/* The first of `count` numbers that is not finite, or -1. */
static int64_t first_of(const unsigned char *at, enum sl_dtype dtype, int64_t count) {
  const uint32_t exponent16 = dtype == SL_BF16 ? 0x7f80 : 0x7c00;
  for (int64_t i = 0; i < count; i++) {
    uint64_t eight;
    uint32_t four;
    uint16_t two;
    bool wrong;
    if (dtype == SL_F64)
      memcpy(&eight, at + 8 * i, sizeof eight), wrong = (eight & 0x7ff0000000000000) == 0x7ff0000000000000;
    else if (dtype == SL_F32)
      memcpy(&four, at + 4 * i, sizeof four), wrong = (four & 0x7f800000) == 0x7f800000;
    else
      memcpy(&two, at + 2 * i, sizeof two), wrong = (two & exponent16) == exponent16;
    if (wrong) return i;
  }
  return -1;
}

/* *element: the first one of the stretch that is not finite, or -1. */
static enum sl_status scan(const struct look *look, const struct stretch *s, int64_t *element) {
  unsigned char bytes[CHUNK];
  const size_t each = (size_t)sl_dtype_bytes(s->dtype);
  *element = -1;
  for (size_t at = 0; at < s->bytes && *element < 0; at += CHUNK) {
    const size_t n = s->bytes - at < CHUNK ? s->bytes - at : CHUNK;
    SL_TRY(look->fetch(look->context, bytes, s->from + at, n));
    const int64_t i = first_of(bytes, s->dtype, (int64_t)(n / each));
    if (i >= 0) *element = (int64_t)(at / each) + i;
  }
  return SL_OK;
}

/* What of operand `i` the op gives a value; no bytes: nothing that could be looked at. */
static struct stretch stretch_of(const struct look *look, enum sl_at name, int i) {
  const struct sl_op *op = look->it->op;
  const struct sl_slice *slice = &look->it->program->slices[op->slice + i];
  struct stretch s = {.from = sl_call_operand(look->rank, look->it, i),
                      .bytes = (size_t)slice->bytes,
                      .dtype = look->it->rank_class->buffers[slice->buffer].dtype};
  const struct sl_step_state *control = NULL;
  if (name == SL_AT_CONTROL) { /* the sums stand first */
    s.bytes = sizeof control->reduced;
    s.dtype = SL_F64;
  } else if (name == SL_AT_SCRATCH || (s.dtype != SL_F32 && s.dtype != SL_BF16 && s.dtype != SL_F16)) {
    s.bytes = 0;
  } else if (name == SL_AT_WHOLE && (op->flags & SL_OP_SHARE_CHUNK || sl_op_moves(op->kind) & SL_MOVE_REDUCE)) {
    s.bytes = 0; /* written in parts, or left with sums that nobody reads */
  } else if (name == SL_AT_SHARD) {
    const int part = i / 2;
    const struct sl_share share =
        sl_share_piece(op, sl_op_slices(look->it->program, op), part, look->rank->members[op->group].index);
    s.from += share.shard_first * sl_dtype_bytes(s.dtype);
    s.bytes = (size_t)(share.count * sl_dtype_bytes(s.dtype));
  }
  return s;
}

/* The first operand with one of these accesses that has a number which is not finite; *element -1: none. */
static enum sl_status search(const struct look *look, unsigned access, enum sl_at *name, int *operand,
                             int64_t *element) {
  enum sl_at names[SL_OP_OPERANDS];
  const struct sl_op *op = look->it->op;
  const int rows = sl_op_names(op, names);
  *element = -1;
  for (int i = 0; i < op->slice_count && rows > 0; i++) {
    if (look->it->program->slices[op->slice + i].access != access) continue;
    const struct stretch s = stretch_of(look, names[i % rows], i);
    SL_TRY(scan(look, &s, element));
    if (*element < 0) continue;
    *name = names[i % rows];
    *operand = i;
    return SL_OK;
  }
  return SL_OK;
}

static const char *buffer_of(const struct look *look, int operand) {
  const struct sl_issued *it = look->it;
  return it->rank_class->buffers[it->program->slices[it->op->slice + operand].buffer].name;
}

/* Embeddings and updates belong to no layer; the head follows the last one. */
static void put_layer(char out[24], const struct look *look) {
  const int layer = (int)look->it->op->layer, layers = (int)look->rank->plan->model->n_layer;
  out[0] = '\0';
  if (layer >= 0) snprintf(out, 24, layers > 0 && layer >= layers ? " in the head" : " in layer %d", layer);
}

static void describe(struct sl_anomaly *found, const struct look *look, enum sl_at name, int operand, int64_t element,
                     const char *input) {
  const struct sl_issued *it = look->it;
  const struct sl_plan *plan = look->rank->plan;
  char action[64], layer[24], tensor[96] = "";
  put_layer(layer, look);
  sl_action_print(action, sizeof action, &it->instance->action);
  if (it->op->tensor >= 0) {
    const int index = plan->pp_ranks[look->rank->coord.pp].tensors[it->op->tensor].tensor;
    snprintf(tensor, sizeof tensor, " of tensor %s", plan->model->tensors[index].name);
  }
  snprintf(found->what, sizeof found->what, "%s%s%s%s%s: element %lld of its %s, buffer %s, is not finite%s%s",
           sl_op_label(it->op), tensor, layer, action[0] != '\0' ? ", action " : "", action, (long long)element,
           sl_at_name(name), buffer_of(look, operand), input[0] != '\0' ? "; nor is its input " : "", input);
}

enum sl_status sl_anomaly_look(struct sl_anomaly *found, const struct sl_call_rank *rank, const struct sl_issued *it,
                               double at_s, sl_anomaly_fetch_fn fetch, void *context) {
  const struct look look = {rank, it, fetch, context};
  enum sl_at name = SL_AT_NONE, input_name = SL_AT_NONE;
  int operand = 0, input = 0;
  int64_t element, input_element;
  char from[128] = "";
  if (found->found) return SL_OK;
  SL_TRY(search(&look, SL_WRITE, &name, &operand, &element));
  if (element < 0) SL_TRY(search(&look, SL_READ_WRITE, &name, &operand, &element));
  if (element < 0) return SL_OK;
  SL_TRY(search(&look, SL_READ, &input_name, &input, &input_element));
  if (input_element >= 0) snprintf(from, sizeof from, "%s, buffer %s", sl_at_name(input_name), buffer_of(&look, input));
  describe(found, &look, name, operand, element, from);
  found->found = true;
  found->at_s = at_s;
  return SL_OK;
}
