/* Writes fitted numbers into the files of profiles.
 *
 * FOLDER has the layout of profiles/: devices/NAME.json, NAME.json of clusters, kernels/NAME.json. A number goes to
 * every device of its kind, to its cluster, or to its kernel set, with "<key>_source" and "<key>_stderr" (in the key's
 * unit) next to it, replacing earlier ones; a number that no fitted run depends on, or that is pinned, is left unchanged.
 * A device of which a number is written also gets the scatter of its runs. Everything else stays, in its order; a line
 * has one number and its annotations. */
#pragma once

#include "refit/clock.h"
#include "refit/folds.h"

struct sl_refit_result {
  const struct sl_refit_clocks *clocks;
  const struct sl_refit_solution *solution;
  const struct sl_refit_outcome *outcomes; /* (runs) */
  const struct sl_refit_prior *priors;     /* (numbers) */
};

/* Files that do not exist are skipped. Errors: SL_ERR_INPUT for a file that is not a valid profile, SL_ERR_IO. */
enum sl_status sl_refit_write_profiles(const struct sl_refit_result *result, const char *folder, const char *source);

/* A JSON document in the layout of the files in profiles/; released by free(). NULL: out of memory. */
char *sl_refit_layout(const json_t *root);
