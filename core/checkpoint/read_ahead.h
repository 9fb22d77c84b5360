/* Reads and verifies pieces of a checkpoint on separate threads, ahead of their use: while one is checked and copied to
 * its destination, the next are being read, so the disk is never idle.
 *
 * They are read in the given order, into memory for a few of them. Taking one releases the ones before it, except some
 * that were taken recently: tensors whose rows are sharded are taken from several pieces in turn. */
#pragma once

#include "core/checkpoint/load.h"

struct sl_read_ahead_entry {
  int piece;  /* index in the manifest */
  bool alone; /* no other rank on this node reads it: bypass the page cache, through which others would get it */
};

struct sl_read_ahead;
/* Starts reading `entries`, which are copied; the checkpoint is borrowed until sl_read_ahead_stop. Errors:
 * SL_ERR_MEMORY. */
enum sl_status sl_read_ahead_start(struct sl_read_ahead **out, const struct sl_checkpoint *checkpoint,
                                   const struct sl_read_ahead_entry *entries, size_t count);
/* Waits for the elements of entries[entry] to be verified; they are valid until another is taken. *values NULL: the
 * entry was released already. Errors: those of sl_verify_piece, for this entry or an earlier one. */
enum sl_status sl_read_ahead_take(struct sl_read_ahead *ahead, size_t entry, float **values);
/* Waits until all entries have been verified, taken or not; none can be taken afterwards. Errors: the same. */
enum sl_status sl_read_ahead_finish(struct sl_read_ahead *ahead);
void sl_read_ahead_stop(struct sl_read_ahead *ahead); /* discards what is not read yet; accepts NULL */
