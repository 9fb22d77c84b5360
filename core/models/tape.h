/* The tape: a stage as its family writes it, a list of ops over named values in the order of the forward. The drafts of
 * the forward, of the backward and of everything that recomputation repeats are derived from that list.
 *
 * The forward is written with the functions of norm.h, linear.h, rope.h, attention.h, activation.h, residual.h and
 * ends.h. Each adds one op and returns the value that it computes. Every op has one rule (struct sl_rule) that drafts
 * its forward and its backward; everything else follows from the list:
 *   kept        a value has a slot for each micro-batch in flight if a backward reads it, or recomputes another value
 *               from it
 *   recomputed  where recomputation drops a value (recompute.h), its op is drafted again before the backward of the
 *               branch that reads it (or before the block's, if all of the block is dropped), with whatever it needs
 *               that is not there
 *   gradients   ops are undone in reverse order. The first gradient of a value is written, further ones are added; the
 *               gradient of the residual stream is in one buffer throughout. An op may work on the gradient of its
 *               output in place, so one buffer may be the gradient of several values: before one of them is added to,
 *               it is copied for the others */
#pragma once

#include "core/models/recompute.h"

/* The most that an op has; and the ops and values that a section has on average. */
enum { SL_TAPE_IN = 3, SL_TAPE_OUT = 4, SL_TAPE_NODES = 32, SL_TAPE_VALUES = 56 };

struct sl_value {
  const char *name, *gradient_name; /* of their buffers; static */
  enum sl_dtype dtype;
  int64_t count;
  enum sl_made made;
  bool stream;   /* its gradient is that of the residual stream */
  bool optional; /* computed only if it is kept; a backward can do without it */
  bool leaves;   /* is sent to the next stage, see boundary.h */
  bool of_step;  /* belongs to no layer: `name` alone is the name of its buffer */
  int over;      /* the value whose buffer it overwrites; 0: none */
  /* private to the tape */
  int layer, node;      /* the op that computes it; -1: it is an input */
  int covered;          /* the value that overwrites it; 0: none */
  bool read, forgotten; /* read by a backward or for recomputation; dropped after the forward */
  bool here, wanted;    /* available now; wanted from the next recomputation */
  bool has_gradient;
  struct sl_operand at, gradient;
};

struct sl_tape;
struct sl_node;

/* How an op is drafted. Rules get their operands from the functions below and those of gradients.h. */
struct sl_rule {
  unsigned reads_in, reads_out; /* bit i: its backward reads input, output i (with its value in the forward) */
  bool apart;                   /* outputs can be computed separately */
  bool paired;                  /* and output i depends on input i only */
  bool ends_branch;             /* what is recomputed for earlier ops is recomputed after its backward */
  enum sl_status (*forward)(struct sl_tape *tape, const struct sl_node *node);
  enum sl_status (*backward)(struct sl_tape *tape, const struct sl_node *node);
};

/* An op of the list. Values are numbers from 1 on; 0 is none. */
struct sl_node {
  const struct sl_rule *rule;
  int in[SL_TAPE_IN], out[SL_TAPE_OUT];
  int weight[3], bias[3];       /* tensors of the model; bias -1: there is none */
  int kind;                     /* its meaning is private to the rule */
  bool no_forward, no_backward; /* belongs to another stage */
  int layer;                    /* private to the tape */
};

/* Ops that are recomputed together: a block, or an end of the stage. */
struct sl_section {
  int layer, first_node, end_node, first_value, end_value, input;
  int32_t kept_input; /* see saved_input.h */
};

struct sl_tape {
  struct sl_transformer g;
  struct sl_value *values;
  struct sl_node *nodes;
  struct sl_section *sections;
  int value_count, node_count, section_count;
  int sections_most;          /* capacity */
  bool full;                  /* an allocation or a limit failed: sl_tape_forward reports it */
  struct sl_section *section; /* the current one */
  unsigned making;            /* outputs of the current op that are wanted */
};

/* ---- for a family ---- */

/* Opens an empty list for a stage of at most `sections` sections; free it with sl_tape_free. */
enum sl_status sl_tape_open(struct sl_tape *tape, struct sl_transformer g, int sections);
void sl_tape_free(struct sl_tape *tape);
/* Starts a section: what follows belongs to `layer` and reads `input` from before. */
void sl_tape_section(struct sl_tape *tape, int layer, int input);
/* Adds a value that the next op computes, and the op that computes it; sl_tape_given adds a value that is an input. */
int sl_tape_value(struct sl_tape *tape, struct sl_value value);
int sl_tape_given(struct sl_tape *tape, struct sl_value value, struct sl_operand at);
void sl_tape_node(struct sl_tape *tape, struct sl_node node);
/* Drafts the forward; then the backward, for which g.dx must be the gradient of the stage's last value, if that has
 * one. */
enum sl_status sl_tape_forward(struct sl_tape *tape);
enum sl_status sl_tape_backward(struct sl_tape *tape);

/* ---- for rules ---- */

/* Where a value is, for reading. */
struct sl_operand sl_tape_at(const struct sl_tape *tape, int value);
/* Does it exist? An optional value, or one of another stage, may not. */
bool sl_tape_has(const struct sl_tape *tape, int value);
/* Where output `i` goes; *out has no bytes if it shall not be computed. */
enum sl_status sl_tape_make(struct sl_tape *tape, const struct sl_node *node, int i, struct sl_operand *out);
/* Is output `i` kept for the backward? */
bool sl_tape_keeps(const struct sl_tape *tape, const struct sl_node *node, int i);
/* Declares that output `i` is at `at`, in a buffer that the rule has chosen. */
void sl_tape_made(struct sl_tape *tape, const struct sl_node *node, int i, struct sl_operand at);
