/* See recovered.h. */
#include "cli/recovered.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char numbers_variable[] = "SHARDLAB_RECOVERY", from_variable[] = "SHARDLAB_RECOVERY_FROM";

void sl_recovered_pass(const struct sl_recovered *r) {
  char text[256];
  snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.6f %.6f %s", r->restarts, r->most,
           r->lost, r->first, r->down_s, r->since_s, r->job);
  (void)setenv(numbers_variable, text, 1);
  if (r->from != NULL)
    (void)setenv(from_variable, r->from, 1);
  else
    (void)unsetenv(from_variable);
}

enum sl_status sl_recovered_read(struct sl_recovered *out, bool *found) {
  const char *text = getenv(numbers_variable);
  *out = (struct sl_recovered){.from = getenv(from_variable)};
  *found = text != NULL;
  if (text == NULL) return SL_OK;
  const int read = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %lf %lf %16s", &out->restarts,
                          &out->most, &out->lost, &out->first, &out->down_s, &out->since_s, out->job);
  if (read == 7 && sl_owner_is_name(out->job) && out->restarts >= 0 && out->restarts <= out->most && out->lost >= 0 &&
      out->first >= 0)
    return SL_OK;
  return sl_fail(SL_ERR_INPUT,
                 "%s: is '%s'; expected six numbers and the job's name, as shardlab sets it for its ranks",
                 numbers_variable, text);
}

void sl_recovered_forget(void) {
  (void)unsetenv(numbers_variable);
  (void)unsetenv(from_variable);
}

json_t *sl_recovered_json(const struct sl_recovered *r, double begun_s) {
  const double last_s = r->since_s > 0 ? fmax(begun_s - r->since_s, 0) : 0;
  return json_pack("{s:I, s:I, s:I, s:f}", "max_restarts", (json_int_t)r->most, "restarts", (json_int_t)r->restarts,
                   "steps_lost", (json_int_t)r->lost, "down_s", r->down_s + last_s);
}
