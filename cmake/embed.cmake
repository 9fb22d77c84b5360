# Writes OUT, a C file with three tables, of the built-in clusters, of the devices that they and other files name, and of the costs
# of kernel sets: the name and the text of each file of PROFILES, of DEVICES and of KERNELS.
#   cmake -DOUT=... "-DPROFILES=a.json;b.json" "-DDEVICES=c.json" "-DKERNELS=d.json" -P embed.cmake
# The text is written as bytes: a string literal may not have more than 4095 characters.
set(texts "")
foreach(kind cluster device kernel)
  set(rows "")
  set(paths ${PROFILES})
  if(kind STREQUAL device)
    set(paths ${DEVICES})
  elseif(kind STREQUAL kernel)
    set(paths ${KERNELS})
  endif()
  foreach(path ${paths})
    get_filename_component(name ${path} NAME_WLE)
    string(MAKE_C_IDENTIFIER ${kind}_${name} symbol)
    file(READ ${path} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND texts "static const char ${symbol}[] = {${bytes}0};\n")
    string(APPEND rows "    {\"${name}\", ${symbol}},\n")
  endforeach()
  string(APPEND tables "const struct sl_cluster_preset sl_${kind}_presets[] = {\n${rows}    {NULL, NULL},\n};\n")
endforeach()
file(WRITE ${OUT} "/* The files of profiles, written by cmake/embed.cmake. */\n#include \"core/cluster/presets.h\"\n\n${texts}\n${tables}")
