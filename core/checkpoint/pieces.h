/* What a rank writes into a checkpoint.
 *
 * A checkpoint holds the state of logical tensors: the weight in fp32 (the master where there is one), and the optimizer's moments.
 * Of ranks that hold the same elements each writes a share, so that all disks and links work. What a rank writes of one state is one
 * or more pieces: runs of its local tensor (core/plan/cut.h), short enough to be checked in memory. */
#pragma once

#include "core/plan/cut.h"
#include "core/program/program.h"

enum { SL_PIECE_ELEMENTS = 1 << 22 }; /* of a piece, at most */
enum { SL_SHARE_ELEMENTS = 1 << 12 }; /* of a replica's share, at least */
enum { SL_CHECKPOINT_ELEMENT = 4 };   /* bytes: all states are fp32 */

/* Elements [first, first + count) of the local tensor of `member`, of which the first `held` are no padding. They stand `offset` bytes into
 * `buffer` of the rank. */
struct sl_checkpoint_piece {
  int tensor; /* of the model */
  enum sl_role role;
  int member;
  int64_t first, count, held;
  int32_t buffer;
  int64_t offset;
};

struct sl_checkpoint_pieces {
  struct sl_checkpoint_piece *items; /* by role, then in the order of the rank's tensors; owned */
  size_t count, capacity;
  int64_t bytes; /* of all that is no padding: what is copied and goes to the disk */
};

/* The state that stands for a tensor's weight: SL_ROLE_MASTER or SL_ROLE_PARAM. */
enum sl_role sl_checkpoint_weight(const struct sl_class *rank_class);
/* What `rank` writes. Errors: SL_ERR_INTERNAL where a state is not fp32, or padding stands between elements: tensor parallelism pads
 * the vocabulary's rows alone, which is at the end of a member's local tensor. */
enum sl_status sl_checkpoint_pieces(struct sl_checkpoint_pieces *pieces, const struct sl_job *job, int rank);
void sl_checkpoint_pieces_free(struct sl_checkpoint_pieces *pieces); /* accepts a zeroed one */

/* The states by their names in a manifest: "weight" (of either role), "moment1", "moment2"; NULL for another role. */
const char *sl_checkpoint_role_name(enum sl_role role);
