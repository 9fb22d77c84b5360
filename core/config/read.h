/* Reads the document section by section, by the table of keys (config/fields.h). Internal to core/config. */
#pragma once

#include "core/config/fields.h"

struct sl_reader {
  struct sl_config *config;
  int version; /* of DeepSpeed, as SL_DEEPSPEED */
  bool strict;
  char *unmodelled; /* ", a.b, c.d": keys for the one warning; owned */
  size_t unmodelled_length, unmodelled_capacity;
};

/* "0.19.6" as SL_DEEPSPEED(0, 19, 6); -1 if malformed. */
int sl_config_version(const char *text);
/* Checks and stores the object of section `name`; if it is absent, stores the defaults. */
enum sl_status sl_config_read_section(struct sl_reader *reader, const char *name);
