// /v1/onload/versions: the releases of Onload whose files lie on this node.
#pragma once

#include "api/v1/call.h"

namespace nrd::v1 {

void list_onload_versions(const Call& call, http::Reply reply);
// From a folder or a tar archive below the configured one. Answered when it is there, which takes seconds.
void import_onload_version(const Call& call, http::Reply reply);
void delete_onload_version(const Call& call, http::Reply reply);

}  // namespace nrd::v1
