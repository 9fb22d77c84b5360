/* Names of the classes of groups. */
#include "core/op/group.h"

const char *sl_group_name(enum sl_group group) {
  static const char *const names[] = {"pipeline",
#define X(name, text) text,
                                      SL_GROUP_MAP(X)
#undef X
  };
  _Static_assert(sizeof names / sizeof *names == SL_GROUP_COUNT, "a name for each class of groups");
  return names[group];
}
