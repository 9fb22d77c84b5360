/* label: unit
 * Manifests by hand: what is read has each element of each tensor once, and every number within its file. */
#include "core/checkpoint/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char manifest_format[] =
    "{\"format\": \"shardlab checkpoint\", \"version\": %s, \"model\": {}, \"optimizer\": \"adam\", \"precision\": "
    "\"fp32\","
    "\"step\": 3, \"samples\": 9, \"seed\": 1, \"data\": {\"samples\": 5}, \"state\": {\"good_steps\": 3, \"skipped\": "
    "0, "
    "\"last_overflow\": -1, \"hysteresis\": 2, \"exhausted\": 0, \"loss_scale\": 1, \"lr\": 0.5, \"momentum\": 0.9},"
    "\"files\": [{\"name\": \"a.safetensors\", \"bytes\": 100, \"hashed\": 8, \"xxh3\": \"0123456789abcdef\"}],"
    "\"tensors\": [{\"name\": \"w\", \"role\": \"moment1\", \"type\": \"F32\", \"shape\": [2, 5], %s, \"pieces\": "
    "[%s]}]}";
#define PIECE(member, first, count, offset)                                                                            \
  "{\"file\": 0, \"member\": " member ", \"first\": " first ", \"count\": " count ", \"offset\": " offset              \
  ", \"xxh3\": \"0123456789abcdef\"}"

static void manifest_says(const char *version, const char *cut, const char *pieces, const char *want) {
  struct sl_manifest m;
  char text[4096];
  snprintf(text, sizeof text, manifest_format, version, cut, pieces);
  const enum sl_status status = sl_manifest_parse(&m, "m.json", text, strlen(text));
  if (status == SL_OK) sl_manifest_free(&m);
  if ((status == SL_OK) != (want == NULL) || (want != NULL && strstr(sl_error_message(), want) == NULL))
    fail_msg("\"%s\", expected %s", sl_error_message(), want == NULL ? "success" : want);
  sl_error_clear();
}

static void pieces_have_each_element_once(void **state) {
  (void)state;
  static const char *const whole_cut = "\"row\": 10, \"width\": 10, \"members\": 1";
  static const char *const halves = "\"row\": 5, \"width\": 3, \"members\": 2"; /* the second has 2 and a padding */
  manifest_says("1", whole_cut, PIECE("0", "0", "10", "8"), NULL);
  manifest_says("1", whole_cut, PIECE("0", "4", "6", "8") "," PIECE("0", "0", "4", "60"), NULL);
  manifest_says("1", halves, PIECE("0", "0", "6", "8") "," PIECE("1", "0", "6", "32"), NULL);
  manifest_says("1", halves, PIECE("1", "0", "5", "32") "," PIECE("0", "0", "6", "8"), NULL); /* padding at its end */
  manifest_says("1", halves, PIECE("1", "0", "4", "32") "," PIECE("0", "0", "6", "8"), "element 4 of member 1");
  manifest_says("1", whole_cut, PIECE("0", "0", "9", "8"), "element 9 of member 0");
  manifest_says("1", whole_cut, PIECE("0", "1", "9", "8"), "element 0 of member 0");
  manifest_says("1", whole_cut, PIECE("0", "0", "5", "8") "," PIECE("0", "4", "6", "8"), "element 5 of member 0");
  manifest_says("1", halves, PIECE("0", "0", "6", "8"), "element 0 of member 1");
  manifest_says("1", whole_cut, PIECE("0", "0", "10", "61"), "tensors[0].pieces[0].offset: is 61; expected");
  manifest_says("1", whole_cut, PIECE("0", "0", "11", "8"), "count: is 11");
  manifest_says("1", whole_cut, PIECE("1", "0", "10", "8"), "member: is 1");
  manifest_says("1", "\"row\": 4, \"width\": 4, \"members\": 1", PIECE("0", "0", "10", "8"), "a divisor of 10");
  manifest_says("1", "\"row\": 5, \"width\": 2, \"members\": 2", PIECE("0", "0", "4", "8"), "have a row of 5");
  manifest_says("1", "\"row\": 2, \"width\": 1, \"lead\": 3, \"members\": 2",
                PIECE("0", "0", "5", "8") "," PIECE("1", "0", "5", "32"), NULL);
  manifest_says("1", "\"row\": 2, \"width\": 1, \"lead\": 6, \"members\": 2", PIECE("0", "0", "5", "8"), "lead: is 6");
  manifest_says("1", "\"row\": 5, \"width\": 3, \"lead\": 2, \"members\": 2", PIECE("0", "0", "6", "8"),
                "1 where rows of 5 elements are padded");
  manifest_says("2", whole_cut, PIECE("0", "0", "10", "8"), "version: is 2; expected 1");
  manifest_says("1, \"job\": \"0123456789abcdef\"", whole_cut, PIECE("0", "0", "10", "8"), NULL);
  manifest_says("1, \"job\": \"mine\"", whole_cut, PIECE("0", "0", "10", "8"), "job: is \"mine\"; expected 16");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_have_each_element_once)};
  return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
