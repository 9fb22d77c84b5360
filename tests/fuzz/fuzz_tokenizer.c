/* Any bytes as a tokenizer.json, which then encodes some texts, and any bytes as a text of one that is known: ids or a
 * message. */
#include "core/tokenizer/tokenizer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char known[] =
    "{\"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
    "[{\"type\": \"Digits\"}, {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\"}]}, \"added_tokens\": "
    "[{\"id\": 9, \"content\": \"<e>\"}], \"model\": {\"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": 1, \"aa\": 2, "
    "\"\\u2581\": 3, \"\\u2581a\": 4}, \"merges\": [\"a a\", \"\\u2581 a\"]}}";

static void encode(struct sl_tokenizer *t, const char *text, size_t size) {
  struct sl_token_list out = {0};
  if (sl_tokenizer_encode(t, "text", text, size, &out) == SL_OK && out.count > 4 * size + 4) abort();
  free(out.ids);
  sl_error_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const texts[] = {"", " a<e>aa 12  b", "it's \xc3\xa9\n\n e\xcc\x81 \xf0\x9f\x98\x80"};
  struct sl_tokenizer *t;
  if (sl_tokenizer_parse(&t, "fuzz.json", (const char *)bytes, size) == SL_OK) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) encode(t, texts[i], strlen(texts[i]));
    sl_tokenizer_close(t);
  }
  sl_error_clear();
  if (sl_tokenizer_parse(&t, "known.json", known, sizeof known - 1) != SL_OK) abort();
  encode(t, (const char *)bytes, size);
  sl_tokenizer_close(t);
  return 0;
}
