/* The configurations of the equivalence grid. They are drawn from a fixed seed, so that (world, index) always gives the
 * same one, and are valid by construction, so that a refusal is a failure. A problem is what a run on one rank must
 * have in common to be compared: model, global batch, optimizer, clipping. Everything else is a way to run it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRAW_MODELS = 8, DRAW_BATCHES = 5, DRAW_PROBLEMS = DRAW_MODELS * DRAW_BATCHES * 4 };

struct draw_model {
  const char *name, *file, *data;
  int layers, heads, kv_heads, seq;
  bool transformer, dropout;
};
extern const struct draw_model draw_models[DRAW_MODELS];

enum draw_optimizer { DRAW_SGD, DRAW_ADAMW };

struct draw {
  int world, index;
  int tp, pp, dp, stages; /* stages: stages per rank */
  int cp;                 /* of dp: the ranks that share sequences */
  int model, batch, accumulate, micro;
  enum draw_optimizer optimizer;
  bool clip, poison;
  const char *strategy, *schedule;
  int csv; /* the schedule goes through a file: 0 no, 1 compute only, 2 with unshards, reductions and sends */
  char csv_path[64];
  int problem;
  char config[4096]; /* JSON */
};

/* Configuration `index` of `world`; its files are in the working directory. */
void draw_configuration(struct draw *d, int world, int index);
/* The problem on one rank, with one micro-batch. */
void draw_problem(struct draw *d, int problem);

/* How often each feature of configurations was drawn; names are stable pointers. */
struct draw_count {
  const char *name;
  int count;
};
/* Adds the drawn configuration; features that cannot be drawn have no row. Returns the number of rows. */
int draw_tally(const struct draw *d, struct draw_count *rows);
enum { DRAW_ROWS = 80 };
