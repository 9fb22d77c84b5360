/* Lists of words in one text, "a|b|c", as rows of the table of fields have them. Internal to core/config. */
#pragma once

#include <stdbool.h>

/* The index of `word` in `words`, -1 when it is not there. Upper and lower case differ only where `exact`. */
int sl_config_word_index(const char *words, const char *word, bool exact);
