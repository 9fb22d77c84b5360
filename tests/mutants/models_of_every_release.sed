# A section that became a pydantic model refuses unknown keys of older releases, too.
# file: core/config/read.c
# tests: test_config_errors
s/section->strict && reader->version >= section->since/section->strict/
