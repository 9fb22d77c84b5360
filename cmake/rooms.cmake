# Rooms: folders whose files see the headers of the rooms that they may know (cmake/rooms.txt), and no others. A header
# brings what it includes, so a room also sees what the rooms that it knows may know; that it does not include those
# itself is held by tests/layers.
set(SL_ROOMS)
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt lines REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/rooms.txt)
foreach(line ${lines})
  string(REGEX MATCH "^([a-z/]+):([^|]*)" _ "${line}")
  set(room ${CMAKE_MATCH_1})
  string(REGEX REPLACE "/[a-z_]+\\.h" "" known "${CMAKE_MATCH_2}") # of a single header, its room
  string(REGEX MATCHALL "[a-z/]+" known "${known}")
  list(APPEND SL_ROOMS ${room})
  set(SL_ROOM_${room} ${room} core/base ${known})
  foreach(other ${known})
    list(APPEND SL_ROOM_${room} ${SL_ROOM_${other}})
  endforeach()
  list(REMOVE_DUPLICATES SL_ROOM_${room})
  # a folder that holds this room and nothing else, under its own path
  get_filename_component(parent ${PROJECT_BINARY_DIR}/rooms/${room}/${room} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${room} ${PROJECT_BINARY_DIR}/rooms/${room}/${room} SYMBOLIC)
endforeach()

# sl_in_room(TARGET ROOM): what the target's files may include.
function(sl_in_room target room)
  foreach(known ${SL_ROOM_${room}})
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/rooms/${known})
  endforeach()
endfunction()

# sl_room_library(ROOM OUT): an object library of the room's C files; its name goes to OUT.
function(sl_room_library room out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.c)
  string(REPLACE / _ name ${room})
  add_library(${name} OBJECT ${sources})
  sl_in_room(${name} ${room})
  set(${out} ${name} PARENT_SCOPE)
endfunction()
