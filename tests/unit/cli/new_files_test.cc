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

using namespace nrd;
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

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
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
  CHECK(content_of(folder.path("tls/a.key")) == "secret");
  CHECK(mode_of(folder.path("tls")) == 0700);
  CHECK(mode_of(folder.path("tls/a.crt")) == 0644);
  CHECK(mode_of(folder.path("tls/a.key")) == 0600);
}

TEST_CASE("an existing file is reported and nothing is changed") {
  const Folder folder;
  std::ofstream(folder.path("b.key")) << "precious";
  const auto written = cli::write_new_files(folder.root(), kThree);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.find(folder.path("b.key")) != std::string::npos);
  CHECK(names_in(folder.root()) == std::set<std::string>{"b.key"});
  CHECK(content_of(folder.path("b.key")) == "precious");
}

TEST_CASE("a symbolic link in place of a file is not followed") {
  const Folder folder;
  ::mkdir((folder.path("tls")).c_str(), 0700);
  fs::create_symlink(folder.path("elsewhere"), folder.path("tls/a.key"));
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
  std::ofstream(folder.path("theirs")) << "kept";
  const FileSizeLimit limit(2);
  CHECK_FALSE(cli::write_new_files(folder.root(), kThree).has_value());
  CHECK(names_in(folder.root()) == std::set<std::string>{"theirs"});
}

TEST_CASE("with replacement allowed, files and links are replaced with the requested modes") {
  const Folder folder;
  std::ofstream(folder.path("a.key")) << "old";
  std::ofstream(folder.path("elsewhere")) << "theirs";
  fs::create_symlink(folder.path("elsewhere"), folder.path("b.key"));
  REQUIRE(cli::write_new_files(folder.root(), kThree, cli::Existing::Replace).has_value());
  CHECK(names_in(folder.root()) == std::set<std::string>{"a.crt", "a.key", "b.key", "elsewhere"});
  CHECK(content_of(folder.path("a.key")) == "secret");
  CHECK(mode_of(folder.path("a.key")) == 0600);
  CHECK(content_of(folder.path("b.key")) == "more");
  CHECK(content_of(folder.path("elsewhere")) == "theirs");
}

TEST_CASE("a replacement that fails midway leaves existing files unchanged") {
  const Folder folder;
  std::ofstream(folder.path("first")) << "old";
  const std::vector<cli::NewFile> files = {{"first", "small", 0600}, {"second", std::string(3000, 'x'), 0600}};
  {
    const FileSizeLimit limit(1000);
    CHECK_FALSE(cli::write_new_files(folder.root(), files, cli::Existing::Replace).has_value());
  }
  CHECK(names_in(folder.root()) == std::set<std::string>{"first"});
  CHECK(content_of(folder.path("first")) == "old");
}

TEST_CASE("a directory writable by others is refused") {
  const Folder folder;
  ::chmod(folder.root().c_str(), 0777);
  const auto written = cli::write_new_files(folder.root(), kThree);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message.find("writable by other users") != std::string::npos);
  CHECK(names_in(folder.root()).empty());
}

TEST_CASE("a directory that is a link, a file or without a parent is refused") {
  const Folder folder;
  ::mkdir((folder.path("real")).c_str(), 0700);
  fs::create_symlink(folder.path("real"), folder.path("link"));
  std::ofstream(folder.path("file")) << "x";
  for (const char* name : {"link", "file", "none/tls"}) {
    CHECK_MESSAGE(!cli::write_new_files(folder.path(name), kThree).has_value(), name);
  }
  CHECK(names_in(folder.path("real")).empty());
  CHECK(names_in(folder.root()) == std::set<std::string>{"real", "link", "file"});
}
