# An error about torchtitan's file names a key of ours.
# file: core/interop/settings.c
# tests: test_frames
s/    json_object_set_new(names, ties->key, json_pack("{s:s, s:s}", "where", where, "word", path));/    (void)where;/
