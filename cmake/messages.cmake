# From docs/journal-messages.md, the ids of messages and the journal's catalog:
#
#   cmake -D CATALOG=FILE -D TABLE=FILE -P cmake/messages.cmake
#
# MESSAGE_ID, 128 bits, is the first half of the SHA-256 of "nrd:" and the id in words. It never changes: administrators and
# programs search for it.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
file(STRINGS ${root}/docs/journal-messages.md rows REGEX "^\\| `[A-Z_]+` \\|")
set(table "")
set(catalog "# Written by cmake/messages.cmake from docs/journal-messages.md: journalctl -x shows it.\n")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^\\| `([A-Z_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")
    message(FATAL_ERROR "docs/journal-messages.md: expected | `ID` | priority | meaning | remedy |, not ${row}")
  endif()
  set(code ${CMAKE_MATCH_1})
  set(text "${CMAKE_MATCH_3}\n\nRemedy: ${CMAKE_MATCH_4}")
  string(SHA256 id "nrd:${code}")
  string(SUBSTRING ${id} 0 32 id)
  string(APPEND table "    {\"${code}\", \"${id}\"},\n")
  string(REGEX REPLACE "\\[([^]]+)\\]\\([^)]+\\.md[^)]*\\)" "\\1" text "${text}")  # a link becomes its text
  string(REPLACE "`" "" text "${text}")
  string(APPEND catalog "\n-- ${id}\nSubject: nrd: ${code}\nDefined-By: nrd\nDocumentation: man:nrd(8)\n\n${text}\n")
endforeach()
file(WRITE ${CATALOG} "${catalog}")
file(WRITE ${TABLE} "// Written by cmake/messages.cmake from docs/journal-messages.md.
#include \"base/message_ids.h\"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nrd {

std::string_view message_id_of(std::string_view code) {
  using Entry = std::pair<std::string_view, std::string_view>;
  static constexpr Entry kEntries[] = {
${table}  };
  const auto* found = std::find_if(std::begin(kEntries), std::end(kEntries), 
      [code](const Entry& entry) { return entry.first == code; });
  return found == std::end(kEntries) ? std::string_view{} : found->second;
}

}  // namespace nrd
")
