# Every file may use hjson.
# file: core/base/json.c
# tests: test_json
s/return parse(doc, name, text, length, true);/return parse(doc, name, text, length, false);/
