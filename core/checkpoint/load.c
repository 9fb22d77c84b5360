/* See load.h. */
#include "core/checkpoint/load.h"

#include "core/checkpoint/hash.h"
#include "core/checkpoint/held.h"
#include "core/checkpoint/pieces.h"
#include "core/checkpoint/read_ahead.h"
#include "core/io/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

static enum sl_status open_files(struct sl_checkpoint *c) {
  const struct sl_manifest *m = &c->manifest;
  SL_TRY(sl_calloc(&c->files, (size_t)m->file_count, sizeof *c->files));
  SL_TRY(sl_calloc(&c->names, (size_t)m->file_count, sizeof *c->names));
  for (int i = 0; i < m->file_count; i++) {
    SL_TRY(sl_file_join(&c->names[i], c->path, m->files[i].name));
    SL_TRY(sl_file_open(&c->files[i], c->names[i]));
    if (c->files[i].size != (size_t)m->files[i].bytes)
      return sl_fail(SL_ERR_INPUT, "%s: has %zu bytes; the checkpoint's manifest expects %" PRId64, c->names[i],
                     c->files[i].size, m->files[i].bytes);
  }
  return SL_OK;
}

static bool is_weight_file(const struct sl_checkpoint *c, int file) {
  for (int i = 0; i < c->manifest.piece_count; i++)
    if (c->manifest.pieces[i].file == file && c->manifest.pieces[i].offset < 0) return true;
  return false;
}

/* Finds the offsets in file `file` of the weights whose pieces are there. */
static enum sl_status find_weights(struct sl_checkpoint *c, int file) {
  struct sl_safetensors parsed;
  enum sl_status status = SL_OK;
  if (!is_weight_file(c, file)) return SL_OK;
  SL_TRY(sl_safetensors_open(&parsed, c->names[file]));
  for (int i = 0; i < c->manifest.tensor_count; i++) {
    const struct sl_manifest_tensor *t = &c->manifest.tensors[i];
    for (int k = 0; k < t->piece_count; k++) {
      const struct sl_manifest_piece *p = &c->manifest.pieces[t->first_piece + k];
      if (p->file != file || p->offset >= 0) continue;
      const struct sl_safetensors_tensor *found = sl_safetensors_find(&parsed, t->name);
      if (found == NULL || !found->readable || found->type != SL_F32 || found->numel != t->numel)
        SL_GO(sl_fail(SL_ERR_INPUT, "%s: has no tensor %s of %" PRId64 " fp32 elements, which the manifest expects",
                      c->names[file], t->name, t->numel));
      c->data[i] = (int64_t)parsed.data + found->first;
    }
  }
done:
  sl_safetensors_close(&parsed);
  return status;
}

static enum sl_status open_all(struct sl_checkpoint *c, const char *path) {
  char *manifest;
  c->path = strdup(path);
  if (c->path == NULL) return sl_fail(SL_ERR_MEMORY, "out of memory: the name of a checkpoint");
  SL_TRY(sl_file_join(&manifest, path, "manifest.json"));
  const enum sl_status status = sl_manifest_load(&c->manifest, manifest);
  free(manifest);
  SL_TRY(status);
  SL_TRY(open_files(c));
  SL_TRY(sl_held_open(&c->held));
  SL_TRY(sl_calloc(&c->data, (size_t)c->manifest.tensor_count, sizeof *c->data));
  for (int i = 0; i < c->manifest.file_count; i++) SL_TRY(find_weights(c, i));
  return SL_OK;
}

enum sl_status sl_checkpoint_open(struct sl_checkpoint *checkpoint, const char *path) {
  *checkpoint = (struct sl_checkpoint){0};
  const enum sl_status status = open_all(checkpoint, path);
  if (status != SL_OK) sl_checkpoint_close(checkpoint);
  return status;
}

void sl_checkpoint_close(struct sl_checkpoint *checkpoint) {
  sl_held_free(checkpoint->held); /* its threads read the members that are freed next */
  for (int i = 0; checkpoint->names != NULL && i < checkpoint->manifest.file_count; i++) {
    sl_file_close(&checkpoint->files[i]);
    free(checkpoint->names[i]);
  }
  free(checkpoint->files);
  free(checkpoint->names);
  free(checkpoint->data);
  free(checkpoint->path);
  sl_manifest_free(&checkpoint->manifest);
  *checkpoint = (struct sl_checkpoint){0};
}

/* ---- verification ---- */

static enum sl_status verify_head(const struct sl_checkpoint *c, int file) {
  const struct sl_manifest_file *f = &c->manifest.files[file];
  char *head;
  SL_TRY(sl_malloc(&head, (size_t)f->hashed + 1, 1));
  enum sl_status status = sl_file_read(&c->files[file], 0, head, (size_t)f->hashed);
  const uint64_t hash = status == SL_OK ? sl_hash_of(head, (size_t)f->hashed) : 0;
  free(head);
  if (status != SL_OK || hash == f->hash) return status;
  return sl_fail(SL_ERR_INPUT, "%s: is damaged: its first %" PRId64 " bytes have xxHash %s; expected %s",
                 c->names[file], f->hashed, sl_hash_print(hash).text, sl_hash_print(f->hash).text);
}

/* Is it this share's turn? *turn counts the items that are shared out. */
static bool is_ours(int *turn, int share, int shares) {
  return (*turn)++ % shares == share;
}

enum sl_status sl_checkpoint_verify(const struct sl_checkpoint *checkpoint, const int32_t *claimants, int share,
                                    int shares) {
  const struct sl_manifest *m = &checkpoint->manifest;
  struct sl_read_ahead_entry *ours;
  struct sl_read_ahead *ahead = NULL;
  size_t count = 0;
  int turn = 0;
  enum sl_status status;
  SL_TRY(sl_calloc(&ours, (size_t)m->piece_count, sizeof *ours));
  for (int i = 0; i < m->file_count; i++)
    if (is_ours(&turn, share, shares)) SL_GO(verify_head(checkpoint, i));
  for (int i = 0; i < m->piece_count; i++)
    if ((claimants == NULL || claimants[i] == 0) && is_ours(&turn, share, shares)) ours[count++].piece = i;
  SL_GO(sl_read_ahead_start(&ahead, checkpoint, ours, count));
  status = sl_read_ahead_finish(ahead);
done:
  sl_read_ahead_stop(ahead);
  free(ours);
  return status;
}

/* ---- elements ---- */

/* Reads as many elements from `logical` on as are contiguous in one piece. */
static enum sl_status read_run(const struct sl_checkpoint *c, const struct sl_manifest_tensor *t, int64_t logical,
                               int64_t most, float *out, int64_t *count) {
  const struct sl_cut_place at = sl_cut_find(&t->cut, logical);
  const struct sl_manifest_piece *p = sl_manifest_piece_at(&c->manifest, t, at.member, at.local);
  const int64_t left = p->first + p->count - at.local;
  *count = at.count < most ? at.count : most;
  if (left < *count) *count = left;
  const int64_t skip = sl_cut_held(&t->cut, at.member, at.local) - sl_cut_held(&t->cut, at.member, p->first);
  bool read;
  SL_TRY(sl_held_read(c, p, skip, *count, out, &read));
  if (read) return SL_OK;
  const int64_t from = p->offset >= 0 ? p->offset + skip * SL_CHECKPOINT_ELEMENT
                                      : c->data[t - c->manifest.tensors] + logical * SL_CHECKPOINT_ELEMENT;
  return sl_file_read(&c->files[p->file], (uint64_t)from, out, (size_t)(*count * SL_CHECKPOINT_ELEMENT));
}

enum sl_status sl_checkpoint_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_tensor *tensor,
                                  int64_t first, int64_t count, float *out) {
  for (int64_t done = 0, n; done < count; done += n)
    SL_TRY(read_run(checkpoint, tensor, first + done, count - done, out + done, &n));
  return SL_OK;
}
