/* The sentence in Open MPI's complaints; see mpi_gist.h. Its notices are framed by lines of dashes, and its libraries
 * begin their lines with "[host:pid] ". */
#include "core/base/mpi_gist.h"

#include "core/base/printable.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends the first `length` bytes of `text` to `out`, behind `before` if there is something already. */
static void add(char out[SL_MPI_GIST_BYTES], const char *before, const char *text, size_t length) {
  const size_t size = strlen(out);
  snprintf(out + size, SL_MPI_GIST_BYTES - size, "%s%.*s", size > 0 ? before : "", (int)length, text);
}

/* "Component: nothing" */
static bool is_detail(const char *line, size_t length) {
  const size_t word = strcspn(line, ":");
  return isupper((unsigned char)*line) && word + 2 < length && strcspn(line, " ") == word + 1;
}

/* The first sentence of a notice, and its details. */
static void find_sentence(const char *text, char out[SL_MPI_GIST_BYTES]) {
  bool whole = false, detailed = false;
  for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
    text += strspn(text, " ");
    length = strcspn(text, "\n");
    if (length == 0 || *text == '-' || *text == '[') {
      whole |= out[0] != '\0';
      if (detailed || (whole && *text == '-')) break;
    } else if (whole && is_detail(text, length) && strncmp(text, "Host:", 5) != 0) {
      add(out, detailed ? ", " : " (", text, length);
      detailed = true;
    } else if (!whole) {
      const char *end = strstr(text, ". ");
      whole = text[length - 1] == '.' || (end != NULL && end < text + length);
      add(out, " ", text, whole && end != NULL && end < text + length ? (size_t)(end - text) : length);
    }
  }
  if (detailed) add(out, "", ")", 1);
}

/* The first line of a library that has content. */
static void find_line(const char *text, char out[SL_MPI_GIST_BYTES]) {
  for (; *text != '\0' && out[0] == '\0'; text += strcspn(text, "\n"), text += *text == '\n') {
    const char *at = text;
    if (*at == '[' && memchr(at, ']', strcspn(at, "\n")) != NULL) at = strchr(at, ']') + 1;
    at += strspn(at, "* -\t");
    if (strcspn(at, "\n") >= 8) add(out, "", at, strcspn(at, "\n"));
  }
}

void sl_mpi_gist(const char *text, char out[SL_MPI_GIST_BYTES]) {
  const char *prefix = getenv("OPAL_PREFIX");
  out[0] = '\0';
  find_sentence(text, out);
  if (out[0] == '\0') find_line(text, out);
  if (out[0] != '\0' && prefix != NULL && *prefix != '\0') {
    add(out, "", " (OPAL_PREFIX is ", 17);
    add(out, "", prefix, strlen(prefix));
    add(out, "", ")", 1);
  }
  sl_printable(out, SL_MPI_GIST_BYTES, false);
}
