/* Names of the classes of groups. */
#include "core/op/group.h"

const char *sl_group_name(enum sl_group group) {
  static const char *const names[] = {
#define X(name, text) text,
      SL_GROUP_MAP(X)
#undef X
          "p2p"};
  return names[group];
}
