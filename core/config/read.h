/* Reading the document section by section. */
#ifndef SL_CORE_CONFIG_READ_H
#define SL_CORE_CONFIG_READ_H

#include "core/config/fields.h"

struct sl_reader {
  struct sl_config *config;
  int version; /* of DeepSpeed, SL_DEEPSPEED */
  bool strict;
  char *unmodelled; /* ", a.b, c.d": keys to name in the one warning; owned */
  size_t unmodelled_length, unmodelled_capacity;
};

/* "0.19.6" as SL_DEEPSPEED(0, 19, 6); -1 when malformed. */
int sl_config_version(const char *text);
/* Check and store the object of the section `name`; where it is absent, the defaults. */
enum sl_status sl_config_read_section(struct sl_reader *reader, const char *name);
/* The object of `section` in the file, NULL when absent; `path` (of `size`) gets its path as written. */
enum sl_status sl_config_find_section(const struct sl_config *config, const struct sl_section *section,
                                      const json_t **out, char *path, size_t size);

#endif
