# Periods count as repeated although their micro-batches stand in slots that do not turn into each other.
# file: core/place/repeat.c
# tests: test_repeat
s/same_ops(f, at) \&\& turns(f, at)) at++/same_ops(f, at) \&\& (turns(f, at) || at > 0)) at++/
