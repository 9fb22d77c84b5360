# The clip factor does not reach the update.
# file: core/control.c
# tests: golden_1
s/c->grad_factor \*= clip \/ .*;/(void)clip;/
