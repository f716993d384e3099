# cmake --build build/dev --target lint: clang-tidy over the product's sources and clang-format over all.
file(GLOB_RECURSE LINT_SOURCES CONFIGURE_DEPENDS base/*.cc hw/*.cc store/*.cc engine/*.cc api/*.cc daemon/*.cc cli/*.cc)
file(GLOB_RECURSE FORMAT_SOURCES CONFIGURE_DEPENDS
  base/*.h hw/*.h store/*.h engine/*.h api/*.h daemon/*.h cli/*.h tests/*.h tests/*.cc tests/*.c bench/*.h bench/*.cc)
add_custom_target(lint
  COMMAND run-clang-tidy -quiet -p ${CMAKE_BINARY_DIR} ${LINT_SOURCES}
  COMMAND clang-format --dry-run --Werror ${LINT_SOURCES} ${FORMAT_SOURCES}
  COMMENT "clang-tidy and clang-format")
