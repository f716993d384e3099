# What a memory error has to get past before it is of use to an attacker. Sanitizers look for the error itself instead, and
# do not go with _FORTIFY_SOURCE.
if(NRD_SANITIZE)
  return()
endif()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fstack-protector-strong -fstack-clash-protection -fcf-protection -D_GLIBCXX_ASSERTIONS)
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)

# Level 3 also checks sizes that are known at run time only; GCC 12 is the first that has it. It needs an optimizer.
set(fortify 2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
  set(fortify 3)
endif()
add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)
