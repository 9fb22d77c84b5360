/* Any bytes as a schedule's CSV: what is read prints back to a text that prints the same, what is valid and plays
 * without a deadlock takes the sends, and then plays as long as before. */
#include "core/schedule/action.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char *print(const struct sl_schedule *s, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (out == NULL) abort();
  sl_schedule_print(s, out);
  fclose(out);
  return text;
}

static void round_trip(const struct sl_schedule *s) {
  struct sl_schedule same;
  size_t size, again_size;
  char *text = print(s, &size);
  if (sl_schedule_parse(&same, "again.csv", text, size) != SL_OK) abort();
  char *again = print(&same, &again_size);
  if (size != again_size || memcmp(text, again, size) != 0) abort();
  free(text);
  free(again);
  sl_schedule_free(&same);
}

static void play(struct sl_schedule *s) {
  struct sl_schedule_run run = {0}, lowered = {0};
  if (sl_schedule_validate(s) != SL_OK || sl_schedule_dry_run(s, &SL_SCHEDULE_UNIT_COSTS, &run) != SL_OK) return;
  if (sl_schedule_lower_unshard(s, 2) != SL_OK) abort();
  if (sl_schedule_lower_sends(s) == SL_OK) {
    if (sl_schedule_dry_run(s, &SL_SCHEDULE_UNIT_COSTS, &lowered) != SL_OK) abort();
    if (lowered.makespan != run.makespan) abort();
  }
  sl_schedule_run_free(&lowered);
  sl_schedule_run_free(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct sl_schedule s;
  if (size > 4096) return 0;
  sl_error_clear();
  if (sl_schedule_parse(&s, "fuzz.csv", (const char *)bytes, size) != SL_OK) return 0;
  round_trip(&s);
  play(&s);
  sl_schedule_free(&s);
  return 0;
}
