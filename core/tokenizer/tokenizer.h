/* Text to token ids by a tokenizer.json of Hugging Face's `tokenizers`: byte-pair encoding on bytes (GPT-2, Llama 3, Qwen2 and the
 * like) or on characters behind a meta space (Llama 2, Mistral). The ids are those of the package's encode(text, add_special_tokens=False);
 * tests/golden/tokenizers holds them to that. Taken are:
 *
 *   added_tokens    matched in the text, the longest first; those with single_word, lstrip or rstrip are refused
 *   normalizer      NFC, NFD, NFKC, NFKD, Prepend, Replace of a string, and sequences of them
 *   pre_tokenizer   ByteLevel, Split (but not Contiguous), Digits, Metaspace, and sequences of them
 *   model           BPE, with byte_fallback, fuse_unk, unk_token and ignore_merges
 *
 * post_processor and decoder say nothing of a text's own ids and are not read. All else is an error that names the key.
 * A text stands in memory while it is encoded, with its ids (4 bytes each). */
#pragma once

#include "core/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct sl_tokenizer;

/* Ids, appended to; zero it to start, and free `ids`. */
struct sl_token_list {
  uint32_t *ids;
  size_t count, capacity;
};

/* Read the file `path`, or `text` of `size` bytes, called `name` in messages. Errors: SL_ERR_INPUT with the file and the key, or the line where it is
 * no JSON; SL_ERR_MEMORY. On failure nothing is held. */
enum sl_status sl_tokenizer_open(struct sl_tokenizer **tokenizer, const char *path);
enum sl_status sl_tokenizer_parse(struct sl_tokenizer **tokenizer, const char *name, const char *text, size_t size);
void sl_tokenizer_close(struct sl_tokenizer *tokenizer); /* accepts NULL */

/* Append the ids of `text`. `where` names it in messages. Errors: SL_ERR_INPUT: it is no UTF-8 (the message has the byte's offset), or a
 * pattern of the tokenizer gives up on it; SL_ERR_MEMORY. */
enum sl_status sl_tokenizer_encode(struct sl_tokenizer *tokenizer, const char *where, const char *text, size_t size,
                                   struct sl_token_list *out);
/* The id of a token by its whole text as the file has it, such as "<|endoftext|>"; -1: there is none. */
int64_t sl_tokenizer_find(const struct sl_tokenizer *tokenizer, const char *token);
