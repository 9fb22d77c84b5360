# A forward binds the operands of the drafts themselves, so that a second lowering finds none to gather.
# file: core/lower/zero.c
# tests: test_const_drafts
/^enum sl_status sl_zero_forward/,/^}/{
s/    bind_params(l, &d);/    bind_params(l, \&drafts->items[i]);\n    d = drafts->items[i];/
}
