/* Removes the folders that were made from the last to the first; see made.h. */
#include "core/base/made.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static char made[PATH_BYTES]; /* "": none */
static size_t made_from;      /* bytes of it that were there before */

void sl_made_name(const char *path) {
  struct stat info;
  char above[PATH_BYTES];
  made[0] = '\0'; /* a signal that arrives meanwhile removes nothing */
  if (stat(path, &info) == 0 || snprintf(above, sizeof above, "%s", path) >= (int)sizeof above) return;
  for (char *slash; (slash = strrchr(above, '/')) != NULL && slash > above && stat(above, &info) != 0;) *slash = '\0';
  made_from = stat(above, &info) == 0 ? strlen(above) : 0;
  snprintf(made, sizeof made, "%s", path);
}

void sl_made_remove(void) {
  const int error = errno;
  while (strlen(made) > made_from && (rmdir(made) == 0 || errno == ENOENT)) { /* those above may be there already */
    char *slash = strrchr(made, '/');
    while (slash != NULL && slash > made && slash[-1] == '/') slash--;
    made[slash != NULL ? slash - made : 0] = '\0';
  }
  errno = error;
}
