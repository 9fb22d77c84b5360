/* Verifies pieces of a checkpoint as they are read, so that a resume reads its bytes only once.
 *
 * A rank that needs all of a piece claims it: the piece is read completely, before its first element is requested
 * (read_ahead.h), and compared with its checksum. Pieces that several ranks of a node claim reach them through its page
 * cache and are read from the disk once. Pieces that nobody claims are verified beforehand, by all ranks together. A
 * piece that was verified but is no longer in memory is read again in part: this happens if other pieces came in
 * between, as for tensors whose rows are sharded. */
#pragma once

#include "core/checkpoint/load.h"
#include "core/run/executor.h"

/* Which pieces this rank needs completely: claims[piece], 1 or 0, for the manifest's piece_count; and their order. */
enum sl_status sl_held_claims(const struct sl_checkpoint *checkpoint, const struct sl_job *job, int rank,
                              unsigned char *claims);
/* Starts reading what this rank has claimed; claimants[piece]: how many ranks of this node have claimed it. */
enum sl_status sl_held_begin(const struct sl_checkpoint *checkpoint, const int32_t *claimants);
/* Waits until everything this rank has claimed is verified, requested or not, and frees the memory of pieces. Returns
 * the first error of a weight that was read in between (sl_held_fail). */
enum sl_status sl_held_end(const struct sl_checkpoint *checkpoint);
/* Elements first .. first+count of `piece`, counted without padding. False: it is not claimed, or is no longer in
 * memory. Errors: as sl_checkpoint_verify. */
enum sl_status sl_held_read(const struct sl_checkpoint *checkpoint, const struct sl_manifest_piece *piece,
                            int64_t first, int64_t count, float *out, bool *read);
/* Seconds that this rank has spent reading and verifying the checkpoint so far; adds those since `start`, of
 * sl_machine_clock. */
double sl_held_seconds(const struct sl_checkpoint *checkpoint);
void sl_held_spent(const struct sl_checkpoint *checkpoint, double start);
enum sl_status sl_held_open(struct sl_held **out); /* nothing is claimed yet */
void sl_held_free(struct sl_held *held);           /* accepts NULL */

/* Keeps the error `status`, whose message is this thread's, until all ranks agree on it (sl_held_end). A failing op
 * would end only this rank, and each rank with a different message. */
void sl_held_fail(const struct sl_checkpoint *checkpoint, enum sl_status status);
bool sl_held_failed(const struct sl_checkpoint *checkpoint);
