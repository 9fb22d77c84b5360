/* See timeout.h. */
#include "core/base/timeout.h"

#include <stdlib.h>

enum sl_status sl_timeout_read(double *seconds) {
  static const double least = 1e-3, most = 1e9; /* what every timer of the system supports */
  const char *text = getenv("SHARDLAB_TIMEOUT_S");
  char *end;
  *seconds = 60;
  if (text == NULL || *text == '\0') return SL_OK;
  const double value = strtod(text, &end);
  if (*end != '\0' || !(value >= least && value <= most))
    return sl_fail(SL_ERR_INPUT, "SHARDLAB_TIMEOUT_S=\"%s\": expected a number of seconds from %g to %g", text, least,
                   most);
  *seconds = value;
  return SL_OK;
}
