/* Byte-pair encoding of a word: the pair of adjacent symbols that was learnt first is merged repeatedly. */
#pragma once

#include "core/tokenizer/token_map.h"
#include "core/tokenizer/tokenizer.h"

#include <jansson.h>
#include <stdbool.h>

struct sl_bpe_pair;  /* two symbols and the symbol they merge into */
struct sl_bpe_entry; /* a word that was encoded before */
struct sl_bpe_symbol;
struct sl_bpe_join;

struct sl_bpe {
  /* by bytes of the text: for a byte-level model the bytes that its letters stand for */
  struct sl_token_map vocabulary;
  bool byte_level; /* a symbol is a byte, otherwise a character */
  bool byte_fallback, fuse_unknown, ignore_merges;
  int64_t unknown; /* id; -1: characters without a symbol are dropped */
  int64_t byte_id[256];
  struct sl_bpe_pair *pairs; /* open addressing */
  size_t pair_slots;
  struct sl_bpe_entry *cache;
  struct sl_bpe_symbol *symbols; /* of the current word */
  struct sl_bpe_join *joins;     /* a heap, the next one first */
  size_t symbol_capacity, join_capacity, join_count;
};

/* Reads the "model" of tokenizer `name`; byte_level as the pre-tokenizer says. Call sl_bpe_free after a failure too.
 * Errors: SL_ERR_INPUT with the key. */
enum sl_status sl_bpe_open(struct sl_bpe *bpe, const char *name, const json_t *model, bool byte_level);
void sl_bpe_free(struct sl_bpe *bpe);
/* Appends the ids of a word. Errors: SL_ERR_MEMORY. */
enum sl_status sl_bpe_encode(struct sl_bpe *bpe, const char *word, size_t size, struct sl_token_list *out);
