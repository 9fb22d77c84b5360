/* See megatron_outside.h. */
#include "core/interop/megatron_outside.h"

#include "core/base/listing.h"
#include "core/interop/megatron_words.h"

#include <ctype.h>
#include <string.h>

static enum sl_status check_files(const struct sl_arguments *a, bool strict) {
  struct sl_listing all = {.separator = "; "};
  const struct sl_words *unread = &a->source.unread;
  if (strict && unread->count > 0) return sl_fail(SL_ERR_INPUT, "%s: cannot be read here", unread->list[0]);
  for (size_t i = 0; i < unread->count; i++) sl_listing_add(&all, unread->list[i]);
  const char *text = sl_listing_end(&all);
  if (text != NULL) sl_warn("what these files set is missing, as they cannot be read here: %s", text);
  return SL_OK;
}

/* Does a word begin with what only a shell could tell? Not the program's path, and not "$1" and "$@", which are of the
 * script's own command line: that is taken as empty, unless it is given. */
static bool is_open(const char *word, bool has_arguments) {
  const size_t length = strlen(word);
  if (length > 3 && strcmp(word + length - 3, ".py") == 0) return false;
  if (word[0] == '`') return true;
  const char first = word[0] == '$' ? word[1 + (word[1] == '{')] : '\0';
  const bool is_argument = isdigit((unsigned char)first) || first == '@' || first == '*';
  return isalpha((unsigned char)first) || first == '_' || first == '(' || (has_arguments && is_argument);
}

static enum sl_status check_words(const struct sl_arguments *a, bool strict) {
  struct sl_listing all = {.separator = "; "};
  size_t takes = 0; /* words that the last argument still has */
  for (size_t i = 0; i < a->words.count; i++) {
    const char *word = a->words.list[i];
    const struct sl_shell_place *place = &a->places[i];
    char said[768];
    if (strncmp(word, "--", 2) == 0 && word[2] != '\0') {
      takes = sl_megatron_takes(word + 2);
    } else if (takes > 0) {
      takes--;
    } else if (is_open(word, a->source.has_arguments)) {
      snprintf(said, sizeof said, "%.256s:%d: %.200s", place->file != NULL ? place->file : a->name, place->line, word);
      if (strict)
        return sl_fail(SL_ERR_INPUT, "%s: nothing in the script tells it, and the environment is not looked at", said);
      sl_listing_add(&all, said);
    }
  }
  const char *text = sl_listing_end(&all);
  if (text != NULL)
    sl_warn("what nothing in the script tells is taken as empty, the environment is not looked at: %s", text);
  return SL_OK;
}

enum sl_status sl_megatron_check_outside(const struct sl_arguments *a, bool strict) {
  if (!a->is_script) return SL_OK;
  SL_TRY(check_files(a, strict));
  return check_words(a, strict);
}
