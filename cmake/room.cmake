# nrd_room(NAME path FILES ... USES rooms... HOME_OF libraries...)
#
# Makes one room of the house a library. What it may include is what it names: each room gets a directory
# <build>/rooms/<name>/ that holds links to its headers only, under their full path ("hw/rdt/types.h"), and the include
# path of a room is its own directory and those of the rooms in USES. A wrong include does not compile.
#
#   nrd_room(engine PATH engine SOURCES engine.cc HEADERS engine.h USES base hw_rdt_types)
#
# HOME_OF names foreign libraries; they are linked PRIVATE, so no other room sees their headers through this one.
function(nrd_room name)
  cmake_parse_arguments(ROOM "" "PATH" "SOURCES;HEADERS;USES;HOME_OF" ${ARGN})
  set(door ${CMAKE_BINARY_DIR}/rooms/${name})
  foreach(header IN LISTS ROOM_HEADERS)
    get_filename_component(folder ${door}/${ROOM_PATH}/${header} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${ROOM_PATH}/${header} ${door}/${ROOM_PATH}/${header} SYMBOLIC)
  endforeach()
  if(ROOM_SOURCES)
    list(TRANSFORM ROOM_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/${ROOM_PATH}/)
    add_library(${name} STATIC ${ROOM_SOURCES})
    target_include_directories(${name} PUBLIC ${door})
    target_link_libraries(${name} PUBLIC ${ROOM_USES} PRIVATE nrd_warnings ${ROOM_HOME_OF})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${door})
    target_link_libraries(${name} INTERFACE ${ROOM_USES})
  endif()
endfunction()
