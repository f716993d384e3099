#include "daemon/accounts.h"

#include <doctest/doctest.h>

namespace nrd::accounts_test {

TEST_CASE("root is user and group 0, and unknown names are not found") {
  CHECK(daemon::find_user("root").value() == 0U);
  CHECK(daemon::find_group("root").value() == 0U);
  CHECK(daemon::find_user("no-such-user-here").value() == std::nullopt);
  CHECK(daemon::find_group("no-such-group-here").value() == std::nullopt);
}

TEST_CASE("an account is a user, or a group with an at sign") {
  CHECK(daemon::find_account("root", "a.key").value() == 0U);
  CHECK(daemon::find_account("@root", "a.key").value() == 0U);
  CHECK(daemon::find_account("@no-such-group-here", "a.key").value() == std::nullopt);
}

}  // namespace nrd::accounts_test
