/* Added tokens; see added.h. Source: tokenizers, tokenizer/added_vocabulary.rs. */
#include "core/tokenizer/added.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum sl_status sl_added_put(struct sl_added *a, const char *text, size_t bytes, struct sl_added_token token) {
  if (bytes == 0) return SL_OK;
  SL_TRY(sl_grow(&a->tokens, &a->capacity, a->count + 1, sizeof *a->tokens));
  if (bytes > a->longest) a->longest = bytes;
  a->begins[(unsigned char)text[0]] = true;
  a->tokens[a->count++] = token;
  return sl_token_map_put(&a->words, text, bytes, (uint32_t)(a->count - 1));
}

int64_t sl_added_find(const struct sl_added *a, const char *text, size_t bytes) {
  const int64_t found = sl_token_map_find(&a->words, text, bytes);
  return found >= 0 ? (int64_t)a->tokens[found].id : -1;
}

void sl_added_free(struct sl_added *a) {
  sl_token_map_free(&a->words);
  free(a->tokens);
}

/* ---- characters, as Rust's regex has them ---- */

/* White_Space. */
static bool is_blank(utf8proc_int32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Letters, marks, digits, connectors, joiners, and the circled and squared letters that count as alphabetic. */
static bool is_of_word(utf8proc_int32_t c) {
  switch (utf8proc_category(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    break;
  }
  return c == 0x200c || c == 0x200d || (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

/* The character at text[at], of *bytes. */
static utf8proc_int32_t char_at(const char *text, size_t size, size_t at, size_t *bytes) {
  utf8proc_int32_t c;
  const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(size - at), &c);
  *bytes = n > 0 ? (size_t)n : 1;
  return n > 0 ? c : -1;
}

static utf8proc_int32_t char_before(const char *text, size_t at, size_t *bytes) {
  size_t from = at - 1;
  while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80) from--;
  return char_at(text, at, from, bytes);
}

static bool stands_alone(const char *text, size_t size, size_t begin, size_t end) {
  size_t bytes;
  if (begin > 0 && is_of_word(char_before(text, begin, &bytes))) return false;
  return end == size || !is_of_word(char_at(text, size, end, &bytes));
}

static size_t before_blanks(const char *text, size_t at) {
  size_t bytes;
  while (at > 0 && is_blank(char_before(text, at, &bytes))) at -= bytes;
  return at;
}

static size_t behind_blanks(const char *text, size_t size, size_t at) {
  size_t bytes;
  while (at < size && is_blank(char_at(text, size, at, &bytes))) at += bytes;
  return at;
}

/* ---- tokens ---- */

/* The longest token at text[at]; 0: none begins there. */
static size_t match(const struct sl_added *a, const char *text, size_t size, size_t at,
                    const struct sl_added_token **token) {
  size_t bytes = size - at < a->longest ? size - at : a->longest;
  for (; bytes > 0; bytes--) {
    const int64_t found = sl_token_map_find(&a->words, text + at, bytes);
    if (found < 0) continue;
    *token = &a->tokens[found];
    break;
  }
  return bytes;
}

/* A token that is refused for what stands beside it hides those that begin in it; blanks are taken once, but a token
 * among them is still found. */
bool sl_added_next(const struct sl_added *a, const char *text, size_t size, struct sl_added_place *place, size_t *begin,
                   uint32_t *id) {
  const struct sl_added_token *token = NULL;
  for (size_t at = place->searched; a->count > 0 && at < size; at++) {
    const size_t bytes = a->begins[(unsigned char)text[at]] ? match(a, text, size, at, &token) : 0;
    if (bytes == 0) continue;
    const size_t end = at + bytes;
    if (token->single_word && !stands_alone(text, size, at, end)) {
      at = end - 1;
      continue;
    }
    *begin = token->lstrip ? before_blanks(text, at) : at;
    *id = token->id;
    *place = (struct sl_added_place){end, token->rstrip ? behind_blanks(text, size, end) : end};
    return true;
  }
  return false;
}
