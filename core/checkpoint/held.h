/* Pieces of a checkpoint that are verified as they are read, so that a resume reads its bytes once.
 *
 * A rank that needs all of a piece claims it: it is read whole, ahead of the first element that is asked for (read_ahead.h), and held against its
 * checksum. What several ranks of a node claim comes to them by its page cache, and from the disk once. What nobody claims is verified
 * before anything is read, by all ranks together. A piece that has been verified but is held no more is read again in part: others came
 * between, as with tensors whose rows are cut. */
#pragma once

#include "core/checkpoint/load.h"
#include "core/run/executor.h"

/* Which pieces this rank needs all of: claims[piece], 1 or 0, of the manifest's piece_count; and in which order. */
enum sl_status sl_held_claims(const struct sl_checkpoint *checkpoint, const struct sl_job *job, int rank,
                              unsigned char *claims);
/* From here on what this rank has claimed is read; claimants[piece]: how many ranks of this node have claimed it. */
enum sl_status sl_held_begin(const struct sl_checkpoint *checkpoint, const int32_t *claimants);
/* All that this rank has claimed is verified, whether somebody asked for it or not; the memory of pieces is given back. The first error of a
 * weight that was read in between (sl_held_fail). */
enum sl_status sl_held_end(const struct sl_checkpoint *checkpoint);
/* Elements first .. first+count of `piece`, counted among those that are no padding; false: it is not claimed, or was read before and is held
 * no more. Errors: as sl_checkpoint_verify. */
enum sl_status sl_held_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                            int64_t first, int64_t count, float *out, bool *read);
/* Seconds that this rank has spent on reading and verifying the checkpoint so far; those since `start`, of sl_machine_clock, are added. */
double sl_held_seconds(const struct sl_checkpoint *checkpoint);
void sl_held_spent(const struct sl_checkpoint *checkpoint, double start);
enum sl_status sl_held_open(struct sl_held **out); /* nothing is claimed */
void sl_held_free(struct sl_held *held);           /* accepts NULL */

/* Keep the error `status`, whose message is this thread's, until all ranks agree on it (sl_held_end): an op that fails would end this rank
 * alone, and each rank with words of its own. */
void sl_held_fail(const struct sl_checkpoint *checkpoint, enum sl_status status);
bool sl_held_failed(const struct sl_checkpoint *checkpoint);
