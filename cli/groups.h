/* Under which heading a flag stands in help and manual pages. */
#pragma once

enum { SL_OPTION_GROUPS = 9 };

/* The heading of group 0 <= i < SL_OPTION_GROUPS, in the order in which they are shown. */
const char *sl_groups_title(int i);
/* The group of the flag `name`; the last, "other flags", where the table names it nowhere. */
int sl_groups_of(const char *name);
