/* Byte-pair encoding of a word: symbols, of which the pair that was learnt first is joined again and again. */
#pragma once

#include "core/tokenizer/token_map.h"
#include "core/tokenizer/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>

struct sl_bpe_pair;  /* two symbols and what they become */
struct sl_bpe_entry; /* a word that was encoded before */
struct sl_bpe_symbol;
struct sl_bpe_join;

struct sl_bpe {
  struct sl_token_map vocabulary; /* by bytes of the text: of a byte-level model what its letters stand for */
  bool byte_level;                /* a symbol is a byte, else a character */
  bool byte_fallback, fuse_unknown, ignore_merges;
  int64_t unknown; /* id; -1: what has no symbol leaves none */
  int64_t byte_id[256];
  struct sl_bpe_pair *pairs; /* open addressing */
  size_t pair_slots;
  struct sl_bpe_entry *cache;
  struct sl_bpe_symbol *symbols; /* of the word at hand */
  struct sl_bpe_join *joins;     /* a heap, the next one first */
  size_t symbol_capacity, join_capacity, join_count;
};

/* Read the "model" of tokenizer `name`; byte_level as the pre-tokenizer says. Errors: SL_ERR_INPUT with the key. What was made is
 * sl_bpe_free's after a failure, too. */
enum sl_status sl_bpe_open(struct sl_bpe *bpe, const char *name, const json_t *model, bool byte_level);
void sl_bpe_free(struct sl_bpe *bpe);
/* Append the ids of a word. Errors: SL_ERR_MEMORY. */
enum sl_status sl_bpe_encode(struct sl_bpe *bpe, const char *word, size_t size, struct sl_token_list *out);

/* The byte that a character of a byte-level vocabulary stands for: those that print are themselves, the others follow from U+0100 on.
 * -1: none. Source: openai/gpt-2, src/encoder.py, bytes_to_unicode. */
int sl_bpe_byte_of(int32_t character);
