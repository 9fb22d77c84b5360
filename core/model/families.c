/* The table of families; see families.h. */
#include "core/model/families.h"

#include "core/base/nearest.h"

#include <stdio.h>
#include <string.h>

static const struct sl_family *const families[] = {
#define X(type, name) [SL_MODEL_##type] = &sl_model_##name,
    SL_FAMILY_MAP(X)
#undef X
};
enum { FAMILIES = sizeof families / sizeof *families };

bool sl_family_find(const char *name, struct sl_model *model) {
  for (int i = 0; i < FAMILIES; i++) {
    if (strcmp(name, families[i]->name) != 0) continue;
    model->type = (enum sl_model_type)i;
    model->family = families[i];
    return true;
  }
  return false;
}

const char *sl_family_names(char *text, size_t size) {
  text[0] = '\0';
  for (int i = 0; i < FAMILIES; i++) {
    const size_t used = strlen(text);
    const char *between = i == 0 ? "" : i + 1 < FAMILIES ? ", " : " or ";
    snprintf(text + used, size - used, "%s\"%s\"", between, families[i]->name);
  }
  return text;
}

const char *sl_family_nearest(const char *name) {
  const char *names[FAMILIES];
  for (int i = 0; i < FAMILIES; i++) {
    names[i] = families[i]->name;
    if (strncmp(names[i], name, strlen(name)) == 0 && names[i][strlen(name)] == '_')
      return names[i]; /* gemma3: its text */
  }
  return sl_nearest(name, names, FAMILIES);
}
