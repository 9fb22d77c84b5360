# A version of elasticity is read as far as it is a number.
# file: core/config/elastic.c
# tests: test_config_errors
s/ && \*rest == '\\0') return SL_OK;/) return SL_OK;/
