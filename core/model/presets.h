/* Built-in models, each a config.json as its authors would publish it. Internal to core/model. */
#pragma once

struct sl_model_preset {
  const char *name;
  const char *text; /* the config.json */
};

extern const struct sl_model_preset sl_model_presets[]; /* ends with a NULL name */
