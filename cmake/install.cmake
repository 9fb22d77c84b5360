# What `cmake --install` puts where, by GNUInstallDirs. Everything finds everything else relative to itself, so a prefix can be moved:
#   bin/shardlab, bin/shardlab-analyze
#   lib/shardlab/    what is ours alone: the core library, and the backends, which core loads from beside itself
#   lib/libshardlab.so.0, include/shardlab.h, lib/pkgconfig/shardlab.pc     the C interface
#   share/shardlab/profiles    where built-in names of clusters that are no presets are looked for; share/shardlab/examples
#   share/man/man1, share/bash-completion, share/zsh    made of the table of options
# A component is a package: cmake/package.cmake.
include(GNUInstallDirs)
set(private ${CMAKE_INSTALL_LIBDIR}/shardlab)
set(share ${CMAKE_INSTALL_DATADIR}/shardlab)
file(RELATIVE_PATH bin_to_private /${CMAKE_INSTALL_BINDIR} /${private})
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})

set_target_properties(shardlab shardlab-analyze PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_private}")
set_target_properties(shardlab_api PROPERTIES INSTALL_RPATH "$ORIGIN")
set_target_properties(shardlab_core PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/..") # a wheel brings libraries one folder up
install(TARGETS shardlab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT shardlab)
install(TARGETS shardlab-analyze RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT analyze)
install(TARGETS shardlab_core LIBRARY DESTINATION ${private} COMPONENT shardlab)
foreach(backend host cuda)
  if(TARGET shardlab_${backend})
    set_target_properties(shardlab_${backend} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS shardlab_${backend} LIBRARY DESTINATION ${private} COMPONENT ${backend})
  endif()
endforeach()

install(TARGETS shardlab_api LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
configure_file(${PROJECT_SOURCE_DIR}/api/shardlab.pc.in ${PROJECT_BINARY_DIR}/generated/shardlab.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/shardlab.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(FILES examples/predict.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT dev)

install(DIRECTORY profiles/ DESTINATION ${share}/profiles COMPONENT shardlab FILES_MATCHING PATTERN "*.json")
install(DIRECTORY examples/ DESTINATION ${share}/examples COMPONENT shardlab FILES_MATCHING PATTERN "*.json" PATTERN "corpus.txt")
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT shardlab)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT shardlab FILES_MATCHING PATTERN "*.md")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT shardlab RENAME copyright)

# Manual pages and completions, asked of the program that they describe.
set(pages ${PROJECT_BINARY_DIR}/generated/pages)
add_custom_command(OUTPUT ${pages}/stamp VERBATIM DEPENDS shardlab
                   COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:shardlab> -DOUT=${pages} -P ${PROJECT_SOURCE_DIR}/cmake/pages.cmake)
add_custom_target(pages ALL DEPENDS ${pages}/stamp)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT shardlab)
install(FILES ${pages}/bash/shardlab DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT shardlab)
set(SL_ZSH_FUNCTIONS site-functions CACHE STRING "Folder of share/zsh for completions; a package of Debian's has vendor-completions")
install(FILES ${pages}/zsh/_shardlab DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${SL_ZSH_FUNCTIONS} COMPONENT shardlab)

# A wheel (pyproject.toml) has the module beside what it calls, and the libraries that a machine may lack; a package of the system
# has it where that one's Python looks.
if(SKBUILD)
  foreach(package JANSSON YAML PCRE2 UTF8PROC)
    list(GET ${package}_LINK_LIBRARIES 0 library)
    file(REAL_PATH ${library} library)
    string(REGEX MATCH "lib[a-z0-9-]+\\.so\\.[0-9]+" soname ${library})
    install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT wheel RENAME ${soname})
  endforeach()
else()
  install(DIRECTORY python/shardlab DESTINATION lib/python3/dist-packages COMPONENT python FILES_MATCHING PATTERN "*.py")
endif()
