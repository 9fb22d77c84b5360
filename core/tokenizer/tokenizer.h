/* Tokenises text with a tokenizer.json of Hugging Face's `tokenizers`: byte-pair encoding on bytes (GPT-2, Llama 3,
 * Qwen2 and the like) or on characters after a meta space (Llama 2, Mistral). The ids are those of the package's
 * encode(text, add_special_tokens=False); tests/golden/tokenizers checks that. Supported are:
 *
 *   added_tokens    matched in the text, the longest first, with single_word, lstrip, rstrip and normalized
 *   normalizer      NFC, NFD, NFKC, NFKD, Prepend, Replace of a string, and sequences of them
 *   pre_tokenizer   ByteLevel, Split (except Contiguous), Digits, Metaspace, and sequences of them
 *   model           BPE, with byte_fallback, fuse_unk, unk_token and ignore_merges
 *
 * post_processor and decoder do not affect the ids of a text and are not read. Everything else is an error that names
 * the key. A text is in memory while it is encoded, together with its ids (4 bytes each). */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sl_tokenizer;

/* A list to which ids are appended; zero it to start, and free `ids`. */
struct sl_token_list {
  uint32_t *ids;
  size_t count, capacity;
};

/* Reads the file `path`, or `text` of `size` bytes, called `name` in messages. Errors: SL_ERR_INPUT with the file and
 * the key, or the line if it is not JSON; SL_ERR_MEMORY. On failure nothing is allocated. */
enum sl_status sl_tokenizer_open(struct sl_tokenizer **tokenizer, const char *path);
enum sl_status sl_tokenizer_parse(struct sl_tokenizer **tokenizer, const char *name, const char *text, size_t size);
void sl_tokenizer_close(struct sl_tokenizer *tokenizer); /* accepts NULL */

/* Appends the ids of `text`. `where` names it in messages. Errors: SL_ERR_INPUT: invalid UTF-8 (the message has the
 * byte offset), or a pattern of the tokenizer exceeded its limits; SL_ERR_MEMORY. */
enum sl_status sl_tokenizer_encode(struct sl_tokenizer *tokenizer, const char *where, const char *text, size_t size,
                                   struct sl_token_list *out);
/* The id of a token by its exact text in the file, such as "<|endoftext|>"; -1: none. */
int64_t sl_tokenizer_find(const struct sl_tokenizer *tokenizer, const char *token);
