/* Lists of words in one text, "a|b|c", as in the rows of the table of fields. Internal to core/config. */
#pragma once

#include <stdbool.h>

/* Index of `word` in `words`, -1 if it is not there. Case is ignored unless `exact`. */
int sl_config_word_index(const char *words, const char *word, bool exact);
