/* Text that becomes tokens as it is opened: plain text, or JSON lines of which a field is the text. */
#pragma once

#include "core/base/file.h"

#include <stdint.h>

/* How text is read; tokenizer NULL: a byte is a token. */
struct sl_data_text {
  const char *tokenizer; /* a tokenizer.json (core/tokenizer/tokenizer.h) */
  const char *field;     /* of JSON lines; NULL: "text" */
  const char *eod;       /* a token of the tokenizer, put behind every document; NULL: none */
};

/* The tokens of `file`, *count of them, in *ids, which is to be freed. A file that begins with "{" and whose first line is an object is JSON lines, a
 * document each line; any other is one document. Errors: SL_ERR_INPUT with the file and, of JSON lines, the line: no JSON, no such field or no string in
 * it, no UTF-8; and those of the tokenizer; SL_ERR_IO; SL_ERR_MEMORY. */
enum sl_status sl_data_text_read(const struct sl_file *file, const struct sl_data_text *text, uint32_t **ids,
                                 int64_t *count);
