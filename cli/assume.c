/* The assumptions of a prediction; see assume.h. */
#include "cli/assume.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FACTOR = 1000000 };

/* Reads "RANK:FACTOR" at *text and moves *text behind it. */
static bool read_straggler(const char **text, struct sl_straggler *out) {
  char *end;
  const long rank = strtol(*text, &end, 10);
  if (end == *text || *end != ':' || rank < 0 || rank > INT_MAX) return false;
  const char *number = end + 1;
  const double factor = strtod(number, &end);
  if (end == number || (*end != ',' && *end != '\0') || !(factor >= 1.0 / MOST_FACTOR && factor <= MOST_FACTOR))
    return false;
  *out = (struct sl_straggler){.rank = (int)rank, .factor = factor};
  *text = *end == ',' ? end + 1 : end;
  return *end == '\0' || end[1] != '\0';
}

static enum sl_status read_stragglers(struct sl_exec_assumptions *out, struct sl_straggler *stragglers,
                                      const char *text) {
  out->stragglers = stragglers;
  for (const char *at = text; *at != '\0';) {
    if (out->straggler_count == SL_MAX_STRAGGLERS)
      return sl_fail(SL_ERR_INPUT, "--straggler: names more than %d ranks", SL_MAX_STRAGGLERS);
    struct sl_straggler *const last = &stragglers[out->straggler_count++];
    if (!read_straggler(&at, last))
      return sl_fail(SL_ERR_INPUT,
                     "--straggler: is '%s'; expected ranks and factors from 1e-6 to 1e6, such as 3:1.5,7:2", text);
    for (const struct sl_straggler *other = stragglers; other < last; other++)
      if (other->rank == last->rank)
        return sl_fail(SL_ERR_INPUT, "--straggler: names rank %d twice; expected each rank once", last->rank);
  }
  return SL_OK;
}

enum sl_status sl_assume_read(struct sl_exec_assumptions *out, struct sl_straggler *stragglers,
                              const struct sl_options *options, const struct sl_config *config) {
  *out = (struct sl_exec_assumptions){
      .jitter = options->jitter, .seed = config->sl.seed, .share_links = options->share_links};
  out->nccl_choice = options->nccl_algo != NULL && strcmp(options->nccl_algo, "choice") == 0;
  return options->stragglers != NULL ? read_stragglers(out, stragglers, options->stragglers) : SL_OK;
}
