/* Pieces of a checkpoint, read and verified by threads of their own ahead of who wants them: while one is held against its checksum and taken
 * to where it belongs, the next are on their way, and the disk does not wait.
 *
 * They are read in the order that is given, into memory for a few of them. Who takes one gives up those before it, but for some that were just
 * taken: tensors whose rows are cut are taken from several pieces in turns. */
#pragma once

#include "core/checkpoint/load.h"

struct sl_read_ahead_entry {
  int piece;  /* of the manifest */
  bool alone; /* nobody else on this node reads it: past the page cache, through which others would get it */
};

struct sl_read_ahead;
/* Begin to read `entries`, which are copied; the checkpoint is borrowed until sl_read_ahead_stop. Errors: SL_ERR_MEMORY. */
enum sl_status sl_read_ahead_start(struct sl_read_ahead **out, const struct sl_checkpoint *checkpoint,
                                   const struct sl_read_ahead_entry *entries, size_t count);
/* The elements of entries[entry], when they are verified, until another is taken; *values NULL: it was given up. Errors: of
 * sl_verify_piece, of this entry or of one that was read before it. */
enum sl_status sl_read_ahead_take(struct sl_read_ahead *ahead, size_t entry, float **values);
/* Until all entries have been verified, whether they were taken or not; none can be taken any more. Errors: the same. */
enum sl_status sl_read_ahead_finish(struct sl_read_ahead *ahead);
void sl_read_ahead_stop(struct sl_read_ahead *ahead); /* gives up what is not read yet; accepts NULL */
