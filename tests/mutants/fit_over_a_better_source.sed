# A fit of runs on one card overwrites what is known of another of its kind.
# file: refit/write.c
# tests: test_profiles
s/(shares && is_said_otherwise(/(shares \&\& false \&\& is_said_otherwise(/
