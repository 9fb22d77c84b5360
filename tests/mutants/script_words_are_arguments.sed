# 'a b' is two arguments of a script.
# file: core/interop/shell_start.c
# tests: test_shell_start
s/if (behind) SL_TRY(add_end(out, end - from));/for (size_t w = (out->count > 0 ? out->at[out->count - 1] : 0) + 1; behind \&\& w <= end - from; w++) SL_TRY(add_end(out, w));/
