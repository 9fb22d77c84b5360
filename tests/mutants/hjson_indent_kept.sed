# The lines of a ''' string keep the blanks that indent them.
# file: core/base/json_text.c
# tests: test_json
s/    if (byte == '\\n') skip_indent(c, indent);/    (void)indent;/
