/* Measured points: what `shardlab calibrate` writes and `shardlab-analyze fit` reads.
 *
 *   {"schema": 1, "machine": text, "cluster": cluster.json of the machine before the fit, "load": load average before,
 *    "points": [{"op": "gemm", "variant": "trans_b", "dtype": "fp32", "ranks": 2, "shape": [m, n, k], "parts": 1,
 *                "bytes": .., "source": "program" or a step's name, "count": .., "median_s": .., "low_s": .., "high_s":
 *                .., "repeats": ..}],
 *    "steps": [{"name": .., "ranks": .., "ops": .., "compute_s": .., "median_s": .., "low_s": .., "high_s": ..,
 *               "repeats": .., "calls": [{"op", "variant", "dtype", "parts", "bytes", "count"}]}]}
 *
 * shape is sl_op.dim; bytes are those of its work (sl_work); low and high are the 10th and 90th percentile; count is
 * the number of such ops in the program. A step is a whole step of a small model: it shows the time between its ops,
 * what its communication takes from its compute, and how runs differ. Everything is measured in several rounds over the
 * calibration, so points and steps that differ only in their times occur several times. */
#pragma once

#include "core/base/json.h"
#include "core/op/measured.h"

struct sl_point {
  int kind; /* enum sl_op_kind */
  enum sl_variant variant;
  enum sl_dtype dtype;
  int ranks, parts, repeats, count;
  int64_t dim[SL_OP_DIMS];
  double bytes, median_s, low_s, high_s;
  char source[16];
};

/* The communication ops of a step that have the same kind, type and size. */
struct sl_point_call {
  int kind;
  enum sl_variant variant;
  enum sl_dtype dtype;
  int parts, count;
  double bytes;
};

enum { SL_MAX_POINT_CALLS = 64 };

struct sl_point_step {
  char name[48];
  int ranks, ops, repeats;
  double compute_s; /* sum of the medians of its compute ops */
  double median_s, low_s, high_s;
  int call_count;
  struct sl_point_call calls[SL_MAX_POINT_CALLS];
};

struct sl_points {
  char machine[128];
  json_t *cluster; /* owned */
  double load;
  struct sl_point *items; /* owned */
  size_t count, capacity;
  struct sl_point_step *steps; /* owned */
  size_t step_count, step_capacity;
};

enum sl_status sl_points_add(struct sl_points *points, const struct sl_point *point);
enum sl_status sl_points_add_step(struct sl_points *points, const struct sl_point_step *step);
/* Appends the points and steps of a document. Errors: SL_ERR_INPUT with the place. */
enum sl_status sl_points_read(struct sl_points *points, const struct sl_json *doc);
json_t *sl_points_json(const struct sl_points *points);
void sl_points_free(struct sl_points *points);
/* Do two points differ at most in their times and counts? */
bool sl_point_alike(const struct sl_point *a, const struct sl_point *b);
/* The work that a point measured. */
struct sl_work sl_point_work(const struct sl_point *point);
