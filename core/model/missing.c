/* Features that can be read and counted but not computed yet; see sl_model_missing in model.h. */
#include "core/model/families.h"

#include <stddef.h>

const char *sl_model_missing(const struct sl_model *model) {
  (void)model;
  return NULL;
}
