/* The headings under which flags are listed in help and manual pages. */
#pragma once

enum { SL_OPTION_GROUPS = 9 };

/* The heading of group 0 <= i < SL_OPTION_GROUPS, in the order of display. */
const char *sl_groups_title(int i);
/* The group of the flag `name`; the last one, "other flags", for a flag that the table does not list. */
int sl_groups_of(const char *name);
