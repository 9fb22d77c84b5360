/* A stage as its family writes it: ops over named values, in the order of the forward. From that list come the drafts of the
 * forward, of the backward and of whatever recomputation makes again in between.
 *
 * The forward is written by the functions of norm.h, linear.h, rope.h, attention.h, activation.h, residual.h and ends.h, each of
 * which adds one op and returns the value that it makes. Every op has one rule (struct sl_rule) that drafts its forward and its
 * backward; what else there is to know follows from the list:
 *   kept       a value has a slot for each micro-batch in flight where a backward reads it, or makes another value again from it
 *   made again where recomputation forgets a value (recompute.h), its op is drafted again before the backward of the branch that
 *              reads it (where all of a block is forgotten, before the block's), with whatever it needs and is not there
 *   gradients  ops are undone in reverse. A gradient is written where none was before and added to where one was; that of the
 *              residual stream stands in one buffer throughout. An op may work on the gradient of its output in place. One
 *              buffer may thus stand for several gradients: whoever adds to one of them copies it for the others first. */
#pragma once

#include "core/models/recompute.h"

/* Of an op; and ops and values of a section, on the mean. */
enum { SL_TAPE_IN = 3, SL_TAPE_OUT = 4, SL_TAPE_NODES = 20, SL_TAPE_VALUES = 40 };

struct sl_value {
  const char *name, *gradient_name; /* of their buffers; static */
  enum sl_dtype dtype;
  int64_t count;
  enum sl_made made;
  bool stream;   /* its gradient is the residual stream's */
  bool optional; /* made where it is kept; a backward does without it */
  bool leaves;   /* to the next stage, see boundary.h */
  bool of_step;  /* of no layer: the name of its buffer is `name` alone */
  int over;      /* the value in whose place it is made; 0: none */
  /* the tape's own */
  int layer, node;      /* which makes it; -1: it came from outside */
  int covered;          /* by which value; 0: none */
  bool read, forgotten; /* by a backward or for what is made again; when the forward is over */
  bool here, wanted;    /* now; in what is made again next */
  bool has_gradient;
  struct sl_operand at, gradient;
};

struct sl_tape;
struct sl_node;

/* How an op is drafted. Values are asked for and given by the functions below and those of gradients.h. */
struct sl_rule {
  unsigned reads_in, reads_out; /* bit i: its backward reads input, output i (as it was in the forward) */
  bool apart;                   /* outputs can be made one without the others */
  bool paired;                  /* and output i is made of input i alone */
  bool ends_branch;             /* what is made again for the ops before it is made behind its backward */
  enum sl_status (*forward)(struct sl_tape *tape, const struct sl_node *node);
  enum sl_status (*backward)(struct sl_tape *tape, const struct sl_node *node);
};

/* An op of the list. Values are numbers from 1 on; 0: there is none. */
struct sl_node {
  const struct sl_rule *rule;
  int in[SL_TAPE_IN], out[SL_TAPE_OUT];
  int weight[3], bias[3];       /* tensors of the model; of a bias -1: there is none */
  int kind;                     /* of a rule's own meaning */
  bool no_forward, no_backward; /* that is another stage's */
  int layer;                    /* the tape's own */
};

/* Ops that are recomputed together: a block, or an end. */
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
  int sections_most;          /* room is for that many */
  bool full;                  /* something found no room: the forward will say so */
  struct sl_section *section; /* the one at hand */
  unsigned making;            /* outputs of the op at hand that are wanted */
};

/* ---- for a family ---- */

/* An empty list for a stage of `sections` sections at most; sl_tape_free releases it. */
enum sl_status sl_tape_open(struct sl_tape *tape, struct sl_transformer g, int sections);
void sl_tape_free(struct sl_tape *tape);
/* What follows is of `layer`, and reads `input` of what was before. */
void sl_tape_section(struct sl_tape *tape, int layer, int input);
/* A value that the next op makes, and the op that makes it; or with sl_tape_given, one that came from outside. */
int sl_tape_value(struct sl_tape *tape, struct sl_value value);
int sl_tape_given(struct sl_tape *tape, struct sl_value value, struct sl_operand at);
void sl_tape_node(struct sl_tape *tape, struct sl_node node);
/* The drafts: of the forward; then g.dx is what the stage's last value has for gradient, if it has one, and of the backward. */
enum sl_status sl_tape_forward(struct sl_tape *tape);
enum sl_status sl_tape_backward(struct sl_tape *tape);

/* ---- for rules ---- */

/* Where a value is, to read it. */
struct sl_operand sl_tape_at(const struct sl_tape *tape, int value);
/* Is it there? Of an optional one, or one of another stage. */
bool sl_tape_has(const struct sl_tape *tape, int value);
/* Where output `i` goes; *out is of no bytes where it is not to be made. */
enum sl_status sl_tape_make(struct sl_tape *tape, const struct sl_node *node, int i, struct sl_operand *out);
/* Is output `i` to be kept for the backward? */
bool sl_tape_keeps(const struct sl_tape *tape, const struct sl_node *node, int i);
/* Output `i` is at `at`, where the rule has made room itself. */
void sl_tape_made(struct sl_tape *tape, const struct sl_node *node, int i, struct sl_operand at);
