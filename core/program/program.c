/* Names of categories and spaces; see program.h. */
#include "core/program/program.h"

#define X(name, text) text,
const char *sl_category_name(enum sl_category category) {
  static const char *const names[] = {SL_CATEGORY_MAP(X)};
  return names[category];
}
#undef X

const char *sl_space_name(enum sl_space space) {
  static const char *const names[] = {"device", "host", "nvme"};
  _Static_assert(sizeof names / sizeof *names == SL_SPACE_COUNT, "a name for each space");
  return names[space];
}
