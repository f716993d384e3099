// /v1/onload/versions: the installed versions of Onload.
#pragma once

#include "api/routing/call.h"

namespace nrd::v1 {

void list_onload_versions(const routing::Call& call, http::Reply reply);
// From a directory or tar archive below the configured directory. Answers once it is installed, which takes seconds.
void import_onload_version(const routing::Call& call, http::Reply reply);
void delete_onload_version(const routing::Call& call, http::Reply reply);

}  // namespace nrd::v1
