/* What one rank writes of a checkpoint: its runs of the model's files, which all ranks write together, and a file of
 * its own with the optimizer's moments and the state of fp8. pieces-0000R.json lists it, and appears when all of it is on the disk: the
 * process that completes the checkpoint (complete.h) waits for that file of every rank; no other communication is
 * needed. */
#pragma once

#include "core/checkpoint/pieces.h"
#include "core/io/safetensors.h"

#include <stdatomic.h>

struct sl_part {
  const struct sl_job *job; /* borrowed, as everything below except the writers */
  int rank;
  const char *folder; /* the folder being written */
  const struct sl_checkpoint_pieces *pieces;
  const char *copy;               /* starts at a block boundary: the elements of each piece, without padding */
  const int64_t *places;          /* (pieces->count), see sl_part_places: offsets in the copy */
  const atomic_bool *stop;        /* set: give up */
  const atomic_bool *others_told; /* set: all other ranks have written their parts */
  /* the model's files, open for writing */
  struct sl_safetensors_writer *model; /* (model_count), owned */
  int *model_of;                       /* (tensors of the model): the index of each one's file; owned */
  int model_count;
  int64_t written; /* bytes of tensors written to files so far */
};

/* The offset of each piece in the copy, in *places, to be freed; *bytes: the size of the copy. Each piece has the same
 * offset from a block boundary as in its file, so that whole blocks can be written without copying them again
 * (core/io/direct.h). */
enum sl_status sl_part_places(int64_t **places, int64_t *bytes, const struct sl_job *job,
                              const struct sl_checkpoint_pieces *pieces);
/* Rank 0 creates the model's files, others join them once they exist; see sl_safetensors_create and _join. */
enum sl_status sl_part_open(struct sl_part *part, const struct sl_job *job, int rank, const char *folder);
/* Discards what has not been completed; accepts a zeroed one. */
void sl_part_close(struct sl_part *part);
/* Writes the part and its list. The model's files of rank 0 stay open: complete.h finishes them. Errors: SL_ERR_IO. */
enum sl_status sl_part_write(struct sl_part *part);
/* The entry of a file in a manifest: its size, and the checksum of its first `hashed` bytes (-1: of all); a new
 * reference in *out. */
enum sl_status sl_part_file_entry(json_t **out, const char *folder, const char *path, int64_t hashed);
