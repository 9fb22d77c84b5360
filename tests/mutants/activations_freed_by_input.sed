# A split backward gives its activations back after the I half, which W still reads.
# file: core/lower/slots.c
# tests: grid3d_2 grid3d_4
s/if (!whole \&\& a->kind != SL_ACTION_BACKWARD_WEIGHT) return;/if (!input) return;/
