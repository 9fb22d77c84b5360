# Of an exchange a member's piece for itself counts as sent.
# file: core/op/wire.c
# tests: test_work test_cli_quantized
s|elements += (members - 1) \* sl_share_piece(op, slices, part, 0).count / members;|elements += sl_share_piece(op, slices, part, 0).count;|
