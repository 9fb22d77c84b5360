# Writes OUT, a C file with the table of the built-in clusters: the name and the text of each file of PROFILES.
#   cmake -DOUT=... "-DPROFILES=a.json;b.json" -P embed.cmake
# The text is written as bytes: a string literal may not have more than 4095 characters.
set(texts "")
set(rows "")
foreach(path ${PROFILES})
  get_filename_component(name ${path} NAME_WLE)
  string(MAKE_C_IDENTIFIER ${name} symbol)
  file(READ ${path} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const char ${symbol}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${symbol}},\n")
endforeach()
file(WRITE ${OUT} "/* The files of profiles, written by cmake/embed.cmake. */\n#include \"core/cluster/presets.h\"\n\n${texts}\n"
                  "const struct sl_cluster_preset sl_cluster_presets[] = {\n${rows}    {NULL, NULL},\n};\n")
