/* The configurations of the equivalence grid: drawn from a fixed seed, so that (world, index) names one for ever, and valid
 * by construction, so that a refusal is a failure. What one rank must do to be compared with one is a problem: model,
 * global batch, optimizer, clipping; all else is a way to run it. */
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
  int tp, pp, dp, stages; /* stages: stages a rank */
  int model, batch, accumulate, micro;
  enum draw_optimizer optimizer;
  bool clip, poison;
  const char *strategy, *schedule;
  int csv; /* the schedule goes through a file: 0 no, 1 compute only, 2 with unshards, reductions and sends */
  char csv_path[64];
  int problem;
  char config[4096]; /* JSON */
};

/* Configuration `index` of `world`; files stand in the working directory. */
void draw_configuration(struct draw *d, int world, int index);
/* One rank, one micro-batch. */
void draw_problem(struct draw *d, int problem);

/* How often each of what a configuration can have was drawn; names are stable pointers. */
struct draw_count {
  const char *name;
  int count;
};
/* Add the drawn configuration; what cannot be drawn is in no row. Returns the number of rows. */
int draw_tally(const struct draw *d, struct draw_count *rows);
enum { DRAW_ROWS = 80 };
