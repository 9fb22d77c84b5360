/* See verify.h. */
#include "core/checkpoint/verify.h"

#include "core/checkpoint/hash.h"
#include "core/checkpoint/pieces.h"
#include "core/io/direct.h"

#include <inttypes.h>

/* Reads the bytes of a piece in the order of its elements: from one range, or run by run from a weight. */
static enum sl_status read_piece(const struct sl_checkpoint *c, const struct sl_manifest_piece *p, bool alone,
                                 char *room, float **out) {
  const struct sl_manifest_tensor *t = &c->manifest.tensors[p->tensor];
  const struct sl_file *file = &c->files[p->file];
  const int64_t end = p->first + p->count;
  const struct sl_run_of all = sl_cut_run(&t->cut, p->member, p->first, end);
  const bool one = p->offset >= 0 || (all.logical >= 0 && all.count >= p->held); /* range */
  const int64_t from = p->offset >= 0 ? p->offset : c->data[p->tensor] + all.logical * SL_CHECKPOINT_ELEMENT;
  if (one && alone)
    return sl_direct_read(file, (uint64_t)from, room, (size_t)(p->held * SL_CHECKPOINT_ELEMENT), (void **)out);
  *out = (float *)(void *)room;
  if (one) return sl_file_read(file, (uint64_t)from, room, (size_t)(p->held * SL_CHECKPOINT_ELEMENT));
  for (int64_t local = p->first; local < end;) {
    const struct sl_run_of run = sl_cut_run(&t->cut, p->member, local, end);
    local += run.count;
    if (run.logical < 0) continue; /* padding */
    const int64_t at = c->data[p->tensor] + run.logical * SL_CHECKPOINT_ELEMENT;
    SL_TRY(sl_file_read(file, (uint64_t)at, room, (size_t)(run.count * SL_CHECKPOINT_ELEMENT)));
    room += run.count * SL_CHECKPOINT_ELEMENT;
  }
  return SL_OK;
}

enum sl_status sl_verify_piece(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                               bool alone, char *room, float **out) {
  const struct sl_checkpoint *c = checkpoint;
  const struct sl_manifest_piece *p = piece;
  const struct sl_manifest_tensor *t = &c->manifest.tensors[p->tensor];
  SL_TRY(read_piece(c, p, alone, room, out));
  const uint64_t hash = sl_hash_of(*out, (size_t)(p->held * SL_CHECKPOINT_ELEMENT));
  if (hash == p->hash) return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: is damaged: tensor %s: %s: elements %" PRId64 " to %" PRId64
                 " of member %d have xxHash %s; expected %s",
                 c->names[p->file], t->name, sl_checkpoint_role_name(t->role), p->first, p->first + p->count, p->member,
                 sl_hash_print(hash).text, sl_hash_print(p->hash).text);
}
