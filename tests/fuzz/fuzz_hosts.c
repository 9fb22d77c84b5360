/* Any text as a hostfile and a selection, a zero byte between them: what is left prints as a list that reads back to
 * the same, and what an exclusion leaves and what the inclusion of the same text takes are all slots together. */
#include "core/launch/hosts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void round_trip(const struct sl_hosts *hosts) {
  struct sl_hosts again;
  char *text = sl_hosts_print(hosts);
  if (text == NULL || sl_hosts_read(&again, "hosts", text) != SL_OK) abort();
  char *same = sl_hosts_print(&again);
  if (same == NULL || strcmp(text, same) != 0) abort();
  if (sl_hosts_ranks(&again) != sl_hosts_ranks(hosts) || sl_hosts_ranks(hosts) < 1) abort();
  free(text);
  free(same);
  sl_hosts_free(&again);
}

/* Slots that are left; -1: refused. */
static int left(const char *text, size_t size, const char *include, const char *exclude) {
  struct sl_hosts hosts;
  if (sl_hosts_parse(&hosts, "fuzz", text, size) != SL_OK) abort();
  const int ranks = sl_hosts_select(&hosts, include, exclude) == SL_OK ? sl_hosts_ranks(&hosts) : -1;
  if (ranks >= 0) round_trip(&hosts);
  sl_hosts_free(&hosts);
  sl_error_clear();
  return ranks;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_hosts hosts;
  const uint8_t *zero = size > 0 ? memchr(bytes, 0, size) : NULL;
  const size_t length = zero != NULL ? (size_t)(zero - bytes) : size;
  char *selection = zero != NULL ? strndup((const char *)zero + 1, size - length - 1) : strdup("");
  const bool parsed = sl_hosts_parse(&hosts, "fuzz", (const char *)bytes, length) == SL_OK;
  const int all = parsed ? sl_hosts_ranks(&hosts) : -1;
  if (parsed) sl_hosts_free(&hosts);
  sl_error_clear();
  if (all >= 0 && all < 4096) {
    const int taken = left((const char *)bytes, length, selection, NULL),
              others = left((const char *)bytes, length, NULL, selection);
    if (taken > 0 && others > 0 && taken + others != all) abort();
    if (taken > 0 && others < 0 && taken != all) abort();
    (void)left((const char *)bytes, length, NULL, NULL);
  }
  if (sl_hosts_read(&hosts, "fuzz", selection) == SL_OK) {
    if (sl_hosts_ranks(&hosts) < 4096) round_trip(&hosts);
    sl_hosts_free(&hosts);
  }
  sl_error_clear();
  free(selection);
  return 0;
}
