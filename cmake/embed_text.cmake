# Writes OUT, a C file with the text of FILE as SYMBOL, a string that HEADER declares.
#   cmake -DOUT=... -DFILE=... -DSYMBOL=... -DHEADER=... -P embed_text.cmake
# The text is written as bytes: a string literal may not have more than 4095 characters.
get_filename_component(name ${FILE} NAME)
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "/* ${name}, written by cmake/embed_text.cmake. */\n#include \"${HEADER}\"\n\nconst char ${SYMBOL}[] = {${bytes}0};\n")
