# A doubled quote stays two.
# file: core/base/csv.c
# tests: test_csv
s/^      s->at++;$/      *out++ = *s->at++;/
