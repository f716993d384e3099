// nrdctl support-bundle FILE: collects the state of nrd and the node in one tar archive.
//
// It holds only responses to GET requests, so any API reader can create one and it exposes nothing beyond the API: no
// keys, passwords, application environments or profile texts.
#pragma once

#include <string>

#include "cli/answer.h"

namespace nrd::cli {

// A response of the API in the archive.
struct SupportPage {
  const char* name;  // of the file
  const char* path;
};

// Creates `file` (mode 0600); it must not exist.
OrStop<> write_support_bundle(const Client& client, const std::string& file);

}  // namespace nrd::cli
