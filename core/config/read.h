/* Reading the document section by section. */
#pragma once

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
