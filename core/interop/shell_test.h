/* What a test of a shell script comes to. Internal to core/interop. */
#pragma once

#include "core/interop/shell_values.h"

/* Whether something is so, or depends on what a script does not say. */
enum sl_truth { SL_NO, SL_MAYBE, SL_YES };

enum sl_truth sl_truth_not(enum sl_truth a);
enum sl_truth sl_truth_and(enum sl_truth a, enum sl_truth b);
enum sl_truth sl_truth_or(enum sl_truth a, enum sl_truth b);

/* Does a word match a pattern of `case` or [[ ]]? MAYBE: one of them is not known. */
enum sl_truth sl_shell_matches(const struct sl_shell_word *word, const struct sl_shell_word *pattern);
/* What the command whose words begin at `from` returns: [ ], [[ ]] and `test` of strings and whole numbers, `true`,
 * `false` and `:`. MAYBE: any other, files, and what is not known. Empty words are not in the list. */
enum sl_truth sl_shell_test(const struct sl_shell_list *command, size_t from);
