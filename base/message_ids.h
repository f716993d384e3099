// MESSAGE_ID of a line in the journal, by which journalctl -x finds its explanation: 128 bits in hex, derived from the
// id in words ("READY"). docs/journal-messages.md is the source of the table and of the catalog (cmake/messages.cmake).
#pragma once

#include <string_view>

namespace nrd {

// Empty for an id that docs/journal-messages.md does not have.
std::string_view message_id_of(std::string_view code);

}  // namespace nrd
