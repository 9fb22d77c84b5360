# Where the smallest micro-batch makes no plan, the search ends, though larger ones do.
# file: cli/search.c
# tests: test_cli_search
s/if (first == SL_OK || s->values.value == NULL) return first;/if (first == SL_OK || s->values.value != NULL) return first;/
