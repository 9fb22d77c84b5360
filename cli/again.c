/* Runs a failed measurement a second time; see again.h. */
#include "cli/again.h"

#include "cli/children.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const marks_variable = "SHARDLAB_MARK_OPS";
static const char *const before_variable = "SHARDLAB_FAILED_BEFORE"; /* the message of the first run */

enum sl_status sl_again_if_unknown(enum sl_status status, char **argv) {
  const char *said = sl_error_message();
  if (status != SL_ERR_DEVICE || getenv(marks_variable) != NULL) return status;
  if (*said != '\0') fprintf(stderr, "shardlab: %s\n", said);
  fprintf(stderr, "shardlab: running again with every op marked, to name it\n");
  setenv(marks_variable, "1", 1);
  setenv(before_variable, *said != '\0' ? said : "a rank's device failed", 1);
  sl_children_close();
  fflush(NULL);
  execv("/proc/self/exe", argv);
  return sl_fail(SL_ERR_IO, "/proc/self/exe: %s", strerror(errno));
}

enum sl_status sl_again_check(void) {
  const char *before = getenv(before_variable);
  if (before == NULL) return SL_OK;
  return sl_fail(SL_ERR_INTERNAL,
                 "the failure did not come again with every op marked, so nothing is written; before: %s", before);
}
