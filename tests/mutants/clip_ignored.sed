# The clip factor does not reach the update.
# file: core/control_math.h
# tests: golden_1
/grad_factor \*= rules->clip/d
