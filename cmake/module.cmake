# Standard headers that most sources include.
set(NRD_PRECOMPILED
    <algorithm> <atomic> <chrono> <cstdint> <filesystem> <fmt/core.h> <fstream> <functional> <map> <memory> <mutex> <optional>
    <set> <sstream> <string> <string_view> <thread> <tl/expected.hpp> <utility> <variant> <vector>)

# nrd_module(NAME path FILES ... USES modules... HOME_OF libraries...)
#
# Makes one module a library that can include only what it names: each module gets a directory
# <build>/modules/<name>/ with links to its headers under their full path ("hw/rdt/types.h"), and the include path of a
# module is its own directory and those of the modules in USES. A wrong include does not compile.
#
#   nrd_module(engine PATH engine SOURCES transaction/engine.cc HEADERS transaction/engine.h USES base hw_rdt_types)
#
# With CMAKE_UNITY_BUILD, as most presets have it, the sources of a folder are compiled as one, in half
# of the time. ALONE names those that cannot be, because a name of their own is one of another source, too. The
# headers in NRD_PRECOMPILED are precompiled then, once for all modules: an eighth of the rest.
#
# FAST names sources that compute for long: a release, which is compiled for size otherwise, has them compiled for speed.
#
# HOME_OF names foreign libraries; they are linked PRIVATE, so no other module sees their headers through this one.
function(nrd_module name)
  cmake_parse_arguments(MODULE "" "PATH" "SOURCES;ALONE;FAST;HEADERS;USES;HOME_OF" ${ARGN})
  set(headers ${CMAKE_BINARY_DIR}/modules/${name})
  foreach(header IN LISTS MODULE_HEADERS)
    get_filename_component(folder ${headers}/${MODULE_PATH}/${header} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${MODULE_PATH}/${header} ${headers}/${MODULE_PATH}/${header} SYMBOLIC)
  endforeach()
  if(MODULE_SOURCES)
    list(TRANSFORM MODULE_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/${MODULE_PATH}/)
    add_library(${name} STATIC ${MODULE_SOURCES})
    list(TRANSFORM MODULE_ALONE PREPEND ${CMAKE_SOURCE_DIR}/${MODULE_PATH}/)
    if(MODULE_FAST AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
      list(TRANSFORM MODULE_FAST PREPEND ${CMAKE_SOURCE_DIR}/${MODULE_PATH}/)
      set_source_files_properties(${MODULE_FAST} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
    endif()
    set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
    foreach(source IN LISTS MODULE_SOURCES)
      if(NOT source IN_LIST MODULE_ALONE)
        get_filename_component(folder ${source} DIRECTORY)
        file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
        string(REPLACE "/" "_" folder ${folder})
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
      endif()
    endforeach()
    if(CMAKE_UNITY_BUILD)
      set(precompiled REUSE_FROM base)
      if(name STREQUAL "base")
        set(precompiled PRIVATE ${NRD_PRECOMPILED})
      endif()
      target_precompile_headers(${name} ${precompiled})
      target_compile_options(${name} PRIVATE -fpch-preprocess)  # for ccache
    endif()
    target_include_directories(${name} PUBLIC ${headers})
    target_link_libraries(${name} PUBLIC ${MODULE_USES} PRIVATE nrd_warnings ${MODULE_HOME_OF})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${headers})
    target_link_libraries(${name} INTERFACE ${MODULE_USES})
  endif()
endfunction()
