# DeepSpeed's update reads the gradients where they are.
# file: core/plan/strategy.c
# tests: test_state_bytes
s/s->copies_gradients = s->master_beside_fp32/s->copies_gradients = !s->master_beside_fp32/
