/* The table of every key of DeepSpeed's ds_config.json and of the "shardlab" section. Internal to core/config.
 *
 * One row per key gives its type, its default (as JSON text, read by the same code as the file), the default of older
 * versions, its range or words, and its target in struct sl_config. A row without a target is known to DeepSpeed but
 * not modelled. Parsing, defaults, messages and the dump all use this table. */
#pragma once

#include "core/config/config.h"

enum sl_field_type {
  SL_FIELD_BOOL,  /* bool; true, false, 1, 0 */
  SL_FIELD_INT,   /* int or int64_t, by size; accepts a real that is a whole number (5e8) */
  SL_FIELD_WHOLE, /* double that must be a whole number */
  SL_FIELD_REAL,  /* double; null is NAN */
  SL_FIELD_PAIR,  /* two adjacent doubles, from an array of two numbers */
  SL_FIELD_TEXT,  /* char[size] */
  SL_FIELD_WORD,  /* index of a word in `words`, into an enum or a bool */
  SL_FIELD_DTYPE, /* enum sl_dtype; null is SL_DTYPE_COUNT */
  /* lists that fill several fields, from an array or from text with commas; the target is the whole struct:
   * config/lists.c */
  SL_FIELD_STAGES,    /* sl.stages_by, stage_layers, stage_count */
  SL_FIELD_RECOMPUTE, /* sl.recompute, recompute_count */
  SL_FIELD_MODULES,   /* sl.recompute_attention, recompute_norms */
  SL_FIELD_LIST,      /* char[size] with its JSON text, if it is modelled */
  /* never modelled: */
  SL_FIELD_NAMES, /* an array of strings, restricted to `words` if given */
  SL_FIELD_DICT,
  SL_FIELD_ANY
};

struct sl_field {
  const char *section, *key; /* section: the name of its sl_section */
  const char *alias;         /* a second spelling, or NULL */
  enum sl_field_type type;
  bool nullable, modelled;
  const char *value;     /* the default, JSON text */
  const char *old_value; /* the default before version `since`, if given */
  int since;             /* SL_DEEPSPEED(major, minor, patch) */
  bool ranged, open;     /* min <= x <= max; open: min < x */
  double min, max;
  int asked_since;   /* the range, and that it is whole, since this release of DeepSpeed */
  const char *words; /* "a|b|c", compared without case unless `exact`; a DTYPE accepts only these of its spellings */
  bool exact;
  /* not modelled: DeepSpeed refuses other values, even in a section whose unknown keys it ignores */
  bool checked;
  bool plain; /* a number that is never converted, see sl_config_coerce */
  /* modelled: an unknown word is a warning and means the default, as in DeepSpeed; not modelled: the warning does not
   * name the key, because config/check.c or config/parallel.c handles it, or because it changes no training step */
  bool soft;
  const char *complaint; /* DeepSpeed's own message for a value out of range; '@' is replaced by the value */
  double null_value;     /* the value of null in an INT */
  size_t offset, size;   /* target in struct sl_config */
};

/* One JSON object. `strict`: DeepSpeed refuses unknown keys here (a pydantic model, or a constructor's parameters);
 * otherwise it ignores them, and we warn. `model`: a pydantic model, which converts values (sl_config_coerce) and skips
 * every key whose value is "auto", even an unknown one. Sections with '@' in their name are variants, selected by a
 * "type" key. */
struct sl_section {
  const char *name;
  const char *path;       /* key path of the object */
  const char *alias_path; /* older spelling of the path, or NULL */
  bool strict, model;
  bool nullable; /* null means absent */
  int since;     /* strict since this release (SL_DEEPSPEED); before, unknown keys were ignored */
};

/* A release of DeepSpeed as a number that can be compared. */
#define SL_DEEPSPEED(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

extern const struct sl_field sl_fields[];
extern const size_t sl_field_count;
extern const struct sl_section sl_sections[];
extern const size_t sl_section_count;
