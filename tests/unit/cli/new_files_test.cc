#include "cli/new_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/temporary_tree.h"

namespace nrd::new_files_test {

namespace fs = std::filesystem;

namespace {

using Folder = testing::TemporaryTree;

// The kernel lets no file of this process grow beyond `bytes`: a write fails midway, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

const std::vector<cli::NewFile> kThree = {
    {"a.crt", "public", 0644}, {"a.key", "secret", 0600}, {"b.key", "more", 0600}};

}  // namespace

TEST_CASE("files and their directory are created with the requested content and modes") {
  const Folder folder;
  const mode_t before = ::umask(0);
  const auto written = cli::write_new_files(folder.path("tls"), kThree);
  ::umask(before);
  REQUIRE(written.has_value());
  CHECK(names_in(folder.path("tls")) == std::set<std::string>{"a.crt", "a.key", "b.key"});
  CHECK(folder.get("tls/a.key") == "secret");
  CHECK(folder.mode("tls") == 0700);
  CHECK(folder.mode("tls/a.crt") == 0644);
  CHECK(folder.mode("tls/a.key") == 0600);
}

TEST_CASE("an existing file is reported and nothing is changed") {
  const Folder folder;
  folder.put("b.key", "precious");
  const auto written = cli::write_new_files(folder.root(), kThree);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.find(folder.path("b.key")) != std::string::npos);
  CHECK(names_in(folder.root()) == std::set<std::string>{"b.key"});
  CHECK(folder.get("b.key") == "precious");
}

TEST_CASE("a symbolic link in place of a file is not followed") {
  const Folder folder;
  ::mkdir((folder.path("tls")).c_str(), 0700);
  folder.link("tls/a.key", folder.path("elsewhere"));
  CHECK_FALSE(cli::write_new_files(folder.path("tls"), kThree).has_value());
  CHECK(names_in(folder.root()) == std::set<std::string>{"tls"});
  CHECK(names_in(folder.path("tls")) == std::set<std::string>{"a.key"});
}

TEST_CASE("a write that fails midway leaves no file and no directory behind") {
  const Folder folder;
  const std::vector<cli::NewFile> files = {{"first", "small", 0600}, {"second", std::string(3000, 'x'), 0600}};
  {
    const FileSizeLimit limit(1000);
    const auto written = cli::write_new_files(folder.path("tls"), files);
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().message == folder.path("tls/second: File too large; no files were created"));
  }
  CHECK(names_in(folder.root()).empty());
  CHECK(cli::write_new_files(folder.path("tls"), files).has_value());
}

TEST_CASE("a write that fails midway leaves an existing directory unchanged") {
  const Folder folder;
  folder.put("theirs", "kept");
  const FileSizeLimit limit(2);
  CHECK_FALSE(cli::write_new_files(folder.root(), kThree).has_value());
  CHECK(names_in(folder.root()) == std::set<std::string>{"theirs"});
}

TEST_CASE("with replacement allowed, files and links are replaced with the requested modes") {
  const Folder folder;
  folder.put("a.key", "old");
  folder.put("elsewhere", "theirs");
  folder.link("b.key", folder.path("elsewhere"));
  REQUIRE(cli::write_new_files(folder.root(), kThree, cli::Existing::Replace).has_value());
  CHECK(names_in(folder.root()) == std::set<std::string>{"a.crt", "a.key", "b.key", "elsewhere"});
  CHECK(folder.get("a.key") == "secret");
  CHECK(folder.mode("a.key") == 0600);
  CHECK(folder.get("b.key") == "more");
  CHECK(folder.get("elsewhere") == "theirs");
}

TEST_CASE("a replacement that fails midway leaves existing files unchanged") {
  const Folder folder;
  folder.put("first", "old");
  const std::vector<cli::NewFile> files = {{"first", "small", 0600}, {"second", std::string(3000, 'x'), 0600}};
  {
    const FileSizeLimit limit(1000);
    CHECK_FALSE(cli::write_new_files(folder.root(), files, cli::Existing::Replace).has_value());
  }
  CHECK(names_in(folder.root()) == std::set<std::string>{"first"});
  CHECK(folder.get("first") == "old");
}

TEST_CASE("a directory writable by others is refused") {
  const Folder folder;
  ::chmod(folder.root().c_str(), 0777);
  const auto written = cli::write_new_files(folder.root(), kThree);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.find("writable by other users") != std::string::npos);
  CHECK(written.error().message.find("chmod") == std::string::npos);  // it may be /tmp
  CHECK(names_in(folder.root()).empty());
}

TEST_CASE("a directory that is a link, a file or without a parent is refused") {
  const Folder folder;
  ::mkdir((folder.path("real")).c_str(), 0700);
  folder.link("link", folder.path("real"));
  folder.put("file", "x");
  for (const char* name : {"link", "file", "none/tls"}) {
    CHECK_MESSAGE(!cli::write_new_files(folder.path(name), kThree).has_value(), name);
  }
  CHECK(names_in(folder.path("real")).empty());
  CHECK(names_in(folder.root()) == std::set<std::string>{"real", "link", "file"});
}

}  // namespace nrd::new_files_test
