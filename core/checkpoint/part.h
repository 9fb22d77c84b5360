/* What one rank writes of a checkpoint: its runs of the model's files, which all ranks write together, and a file of its own with the
 * optimizer's moments. It is told in pieces-0000R.json, which appears when all of it is on the disk: the process that completes the
 * checkpoint (complete.h) waits for that of every rank, and nothing else is exchanged. */
#pragma once

#include "core/checkpoint/pieces.h"
#include "core/io/safetensors.h"

#include <stdatomic.h>

struct sl_part {
  const struct sl_job *job; /* borrowed, as all that follows but the writers */
  int rank;
  const char *folder; /* that is being written */
  const struct sl_checkpoint_pieces *pieces;
  const char *copy;        /* from a block's boundary on: the elements of each piece, without padding */
  const int64_t *places;   /* (pieces->count), as sl_part_places: where in the copy */
  const atomic_bool *stop; /* set: give up */
  /* the model's files, open for writing */
  struct sl_safetensors_writer *model; /* (model_count), owned */
  int *model_of;                       /* (tensors of the model): the file of each; owned */
  int model_count;
  int64_t written; /* bytes of tensors that have gone to files */
};

/* Where the copy has each piece, in *places, to be freed; *bytes: how long it is. Each begins as far behind a block's boundary as in its file,
 * so that whole blocks go to the disk from where they are (core/io/direct.h). */
enum sl_status sl_part_places(int64_t **places, int64_t *bytes, const struct sl_job *job,
                              const struct sl_checkpoint_pieces *pieces);
/* Rank 0 makes the model's files, others join them once they are there; as sl_safetensors_create and _join. */
enum sl_status sl_part_open(struct sl_part *part, const struct sl_job *job, int rank, const char *folder);
/* Gives up what has not been completed; accepts a zeroed one. */
void sl_part_close(struct sl_part *part);
/* Write and tell it. The model's files of rank 0 stay open: complete.h finishes them. Errors: SL_ERR_IO. */
enum sl_status sl_part_write(struct sl_part *part);
/* Does the optimizer keep moments, so that every rank has a file of them? */
bool sl_part_has_moments(const struct sl_job *job);
/* The entry of a file in a manifest: its size, and the checksum of its first `hashed` bytes (-1: of all); new reference in *out. */
enum sl_status sl_part_file_entry(json_t **out, const char *folder, const char *path, int64_t hashed);
