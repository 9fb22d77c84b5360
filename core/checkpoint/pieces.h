/* Which pieces of a checkpoint a rank writes.
 *
 * A checkpoint holds the state of logical tensors: the weight in fp32 (the master if there is one), the optimizer's
 * moments and, of linear weights in fp8, scales and histories of magnitudes. Ranks that hold the same elements write a share each, so that all disks and links are used. What a rank
 * writes of one state is one or more pieces: ranges of its local tensor (core/plan/cut.h), short enough to be verified
 * in memory. */
#pragma once

#include "core/plan/cut.h"
#include "core/program/program.h"

enum { SL_PIECE_ELEMENTS = 1 << 22 }; /* per piece, at most */
enum { SL_SHARE_ELEMENTS = 1 << 12 }; /* per replica's share, at least */
enum { SL_CHECKPOINT_ELEMENT = 4 };   /* bytes: all states are fp32 */

/* Elements [first, first + count) of the local tensor of `member`, of which the first `held` are not padding. They
 * start at byte `offset` of the rank's `buffer`. */
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
  int64_t bytes; /* of everything that is not padding: what is copied and written to the disk */
};

/* The state that is saved as a tensor's weight: SL_ROLE_MASTER or SL_ROLE_PARAM. */
enum sl_role sl_checkpoint_weight(const struct sl_class *rank_class);
/* The pieces that `rank` writes. Errors: SL_ERR_INTERNAL if a state is not fp32, or if there is padding between
 * elements: tensor parallelism pads only the rows of the vocabulary, at the end of a member's local tensor. */
enum sl_status sl_checkpoint_pieces(struct sl_checkpoint_pieces *pieces, const struct sl_job *job, int rank);
/* Their bytes alone, which costs a third. */
enum sl_status sl_checkpoint_bytes(int64_t *bytes, const struct sl_job *job, int rank);
void sl_checkpoint_pieces_free(struct sl_checkpoint_pieces *pieces); /* accepts a zeroed one */

/* A state as a logical tensor: a weight and its moments have the weight's shape; a state of fp8 (core/lower/scaling.h)
 * is a row for each factor, and not sharded. */
struct sl_checkpoint_state {
  int n_dim;
  int64_t shape[2];
  struct sl_cut cut;
};
struct sl_checkpoint_state sl_checkpoint_state_of(const struct sl_plan *plan, int tensor, enum sl_role role);

/* The states that a checkpoint may have of a tensor, in the order in which programs and files have them. */
enum { SL_CHECKPOINT_STATES = 5 };
extern const enum sl_role sl_checkpoint_roles[SL_CHECKPOINT_STATES]; /* SL_ROLE_PARAM stands for the weight */
/* The name of a state in a manifest: "weight" (of either role), "moment1", "moment2", "fp8_scale", "fp8_amax_history";
 * NULL for another role. */
const char *sl_checkpoint_role_name(enum sl_role role);
/* The index in sl_checkpoint_roles of the state of that name; -1: there is none. */
int sl_checkpoint_state_named(const char *name);
