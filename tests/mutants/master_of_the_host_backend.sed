# The host backend passes over where its ranks shall meet.
# file: cli/nodes.c
# tests: test_cli
s/if (sl_options_given(o, meeting\[i\]) \&\& !sl_options_on_gpu(o))/if (sl_options_given(o, meeting[i]) \&\& o->no_ssh \&\& !sl_options_on_gpu(o))/
