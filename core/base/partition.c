/* See partition.h. */
#include "core/base/partition.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The best division of the first weights into some runs: its heaviest and its lightest run, and where its last one
 * starts. */
struct cut {
  double heaviest, lightest;
  int last;
};

/* Is division `a` preferred to `b`, which was found earlier? */
static bool preferred(const struct cut *a, const struct cut *b, enum sl_partition_by by) {
  if (by == SL_PARTITION_BY_SPREAD) return a->heaviest - a->lightest <= b->heaviest - b->lightest;
  return a->heaviest < b->heaviest;
}

/* best[k * (n + 1) + i]: of the first i weights into k runs, of which prefix[i] is the sum. */
static void divide(struct cut *best, const double *prefix, int n, int parts, enum sl_partition_by by) {
  const size_t row = (size_t)n + 1;
  for (size_t at = 0; at < row * (size_t)(parts + 1); at++) best[at] = (struct cut){INFINITY, 0, 0};
  best[0] = (struct cut){0, INFINITY, 0};
  for (int k = 1; k <= parts; k++) {
    const struct cut *before = &best[(size_t)(k - 1) * row];
    struct cut *now = &best[(size_t)k * row];
    for (int i = k; i <= n - (parts - k); i++) {
      for (int j = k - 1; j < i; j++) {
        const double run = prefix[i] - prefix[j];
        const struct cut c = {fmax(before[j].heaviest, run), fmin(before[j].lightest, run), j};
        if (isfinite(c.heaviest) && preferred(&c, &now[i], by)) now[i] = c;
      }
    }
  }
}

enum sl_status sl_partition(const double *weights, int n, int parts, enum sl_partition_by by, int64_t *counts) {
  enum sl_status status;
  struct cut *best = NULL;
  double *prefix = NULL;
  const size_t row = (size_t)n + 1;
  SL_GO(sl_calloc(&prefix, row, sizeof *prefix));
  SL_GO(sl_calloc(&best, row * (size_t)(parts + 1), sizeof *best));
  for (int i = 0; i < n; i++) prefix[i + 1] = prefix[i] + weights[i];
  divide(best, prefix, n, parts, by);
  for (int k = parts, end = n; k > 0; k--) {
    const int first = best[(size_t)k * row + (size_t)end].last;
    counts[k - 1] = end - first;
    end = first;
  }
done:
  free(best);
  free(prefix);
  return status;
}
