/* Counts communication calls; see traffic.h. A rank has a dozen rows at most, so a linear search is fast. */
#include "core/run/traffic.h"

#include <stdlib.h>

bool sl_traffic_counts(const struct sl_op *op) {
  return sl_op_is_comm(op->kind) || sl_op_is_copy(op);
}

enum sl_status sl_traffic_row_like(struct sl_traffic_list *list, const struct sl_traffic *like, size_t *row) {
  for (size_t i = 0; i < list->count; i++) {
    const struct sl_traffic *t = &list->items[i];
    if (t->group == like->group && t->op == like->op && t->dtype == like->dtype && t->payload == like->payload &&
        t->link == like->link && t->program == like->program) {
      *row = i;
      return SL_OK;
    }
  }
  SL_TRY(sl_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items));
  list->items[list->count] = (struct sl_traffic){.program = like->program,
                                                 .group = like->group,
                                                 .op = like->op,
                                                 .dtype = like->dtype,
                                                 .payload = like->payload,
                                                 .link = like->link};
  *row = list->count++;
  return SL_OK;
}

enum sl_status sl_traffic_row(struct sl_traffic_list *list, const struct sl_op *op, size_t *row) {
  const struct sl_traffic like = {.program = list->program,
                                  .group = op->group,
                                  .op = op->kind,
                                  .dtype = op->dtype,
                                  .payload = op->payload,
                                  .link = sl_op_is_copy(op) ? op->lane : 0};
  return sl_traffic_row_like(list, &like, row);
}

enum sl_status sl_traffic_add(struct sl_traffic_list *list, const struct sl_op *op, int64_t bytes, int64_t wire_bytes,
                              double time_s) {
  size_t row;
  SL_TRY(sl_traffic_row(list, op, &row));
  struct sl_traffic *t = &list->items[row];
  t->calls++;
  t->bytes += bytes;
  t->wire_bytes += wire_bytes;
  t->time_s += time_s;
  return SL_OK;
}

void sl_traffic_reset(struct sl_traffic_list *list, enum sl_program_kind program) {
  list->program = program;
  for (size_t i = 0; i < list->count; i++) {
    struct sl_traffic *t = &list->items[i];
    if (t->program != program) continue;
    t->calls = t->bytes = t->wire_bytes = 0;
    t->time_s = 0;
  }
}

enum sl_status sl_traffic_copy(const struct sl_traffic_list *list, struct sl_traffic **rows, int *count) {
  SL_TRY(sl_calloc(rows, list->count, sizeof **rows));
  *count = 0;
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].calls > 0) (*rows)[(*count)++] = list->items[i];
  }
  return SL_OK;
}

void sl_traffic_free(struct sl_traffic_list *list) {
  free(list->items);
  *list = (struct sl_traffic_list){0};
}

/* FNV-1a of the lowest `bytes` bytes of `value`, lowest first, from 1 to 8. A byte of 0 only multiplies by the prime, so
 * the last other byte and those of 0 at the end are one multiplication by its power. */
static uint64_t hash_bytes(uint64_t hash, uint64_t value, int bytes) {
  static const uint64_t power[] = {
      0x1,
      0x100000001b3,
      0x366000002e329,
      0x8a97b0004e7feab,
      UINT64_C(0x9ffaac085635bc91),
      0xcaee32a7d4f6a63,
      UINT64_C(0xdc966432edf1c639),
      UINT64_C(0xc5527b8a51d3d2db),
      0x1efac7090aef4a21,
  };
  for (; value > 0xff && bytes > 1; value >>= 8, bytes--) hash = (hash ^ (value & 0xff)) * power[1];
  return (hash ^ (value & 0xff)) * power[bytes];
}

/* Records are compared across versions, so the hash must not change when ops are added or removed. A kind counts as its
 * position among the communication ops, starting from the number that the first of them had when records began. So does
 * a group: the first was 0, and "none" was 9, which no group has had since. */
enum { FIRST_KIND = 40, NO_GROUP = 9 };

static int number_of(enum sl_group group) {
  if (group == SL_GROUP_NONE) return NO_GROUP;
  return (int)group <= NO_GROUP ? (int)group - 1 : (int)group;
}

uint64_t sl_hash_call(uint64_t hash, enum sl_group group, enum sl_op_kind kind, int64_t bytes) {
  hash = hash_bytes(hash, (uint64_t)number_of(group), 4);
  hash = hash_bytes(hash, (uint64_t)(FIRST_KIND + (int)kind - SL_OP_ALL_REDUCE), 4);
  return hash_bytes(hash, (uint64_t)bytes, 8);
}
