/* Text that is tokenised when it is opened: plain text, or JSON lines in which a field is the text. */
#pragma once

#include "core/base/file.h"

#include <stdint.h>

/* How text is read; tokenizer NULL: a byte is a token. */
struct sl_data_text {
  const char *tokenizer; /* a tokenizer.json (core/tokenizer/tokenizer.h) */
  const char *field;     /* of JSON lines; NULL: "text" */
  const char *eod;       /* a token of the tokenizer that is appended to every document; NULL: none */
};

/* The tokens of `file`, *count of them, in *ids, to be freed. A file is JSON lines, one document per line, if
 * `text` has a field, if its name ends with ".jsonl", or if it begins with "{" and its first line is an object; any
 * other is one document. Errors: SL_ERR_INPUT with the file and, for
 * JSON lines, the line: invalid JSON, no such field or not a string, invalid UTF-8; those of the tokenizer; SL_ERR_IO;
 * SL_ERR_MEMORY. */
enum sl_status sl_data_text_read(const struct sl_file *file, const struct sl_data_text *text, uint32_t **ids,
                                 int64_t *count);
