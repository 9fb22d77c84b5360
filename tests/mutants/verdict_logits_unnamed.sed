# Logits at the peak are activations like any other.
# file: core/place/live.c
# tests: test_cli_verdict
s/strstr(b->name, "logits")/strstr(b->name, "no logits")/
