/* Reads the launchers' variables; see place.h. A launcher whose numbers make no sense is ignored. */
#include "cli/place.h"

#include "core/base/launchers.h"
#include "core/base/limits.h"

#include <stddef.h>
#include <stdlib.h>

static int number_of(const char *text, int otherwise) {
  const long value = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtol(text, NULL, 10) : -1;
  return value >= 0 && value <= SL_MAX_WORLD ? (int)value : otherwise;
}

static int number(const char *name, int otherwise) {
  return number_of(getenv(name), otherwise);
}

struct sl_place sl_place_read(bool torchrun) {
  for (int i = torchrun ? SL_LAUNCHER_TORCHRUN : SL_LAUNCHER_TORCHRUN + 1; i < SL_LAUNCHER_COUNT; i++) {
    const struct sl_launcher *l = &sl_launchers[i];
    const int rank = number_of(sl_launcher_rank(i), -1), size = number(l->world, 0);
    if (rank >= 0 && size > rank) /* of a list of counts by node, only the first is read, which is right if all nodes
                                   * have the same */
      return (struct sl_place){
          .rank = rank, .size = size, .local_size = number(l->by_node != NULL ? l->by_node : l->local_world, size)};
  }
  return (struct sl_place){.rank = 0, .size = 1, .local_size = 1};
}
