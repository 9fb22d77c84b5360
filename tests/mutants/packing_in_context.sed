# Context parallelism exchanges parts of a packed product.
# file: core/plan/packing.c
# tests: test_packing
s/(plan->cp > 1 \&\& !set->packs_in_context) || //
