# show schedule takes 1F1B for several stages a rank where neither a config nor a flag names a schedule.
# file: cli/show_schedule.c
# tests: test_show_schedule
s/options->virtual_stages > 1 ? "interleaved" : "1f1b"/"1f1b"/
