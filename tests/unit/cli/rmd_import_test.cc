#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/certificates.h"
#include "cli/import_rmd/import_rmd.h"
#include "cli/import_rmd/import_workloads.h"
#include "cli/import_rmd/rmd_access.h"
#include "tests/support/temporary_tree.h"

namespace nrd::cli::rmd_import_test {

namespace fs = std::filesystem;

namespace {

// RMD's directory with what a test puts there, and certificates of our own.
class Rmd : public testing::TemporaryTree {
 public:
  explicit Rmd(const std::string& config) {
    put("rmd.toml", config);
    put("cert/server/rmd-cert.pem", pki().server.certificate);
    put("cert/server/rmd-key.pem", pki().server.key);
    put("cert/client/ca.pem", pki().ca.certificate);
  }
  RmdImport moved(std::optional<CacheWays> cache = std::nullopt) const {
    const Result<RmdDirectory> rmd = RmdDirectory::open(root());
    REQUIRE(rmd);
    Result<RmdImport> moving = moved_configuration(*rmd, "/etc/nrd", cache);
    REQUIRE(moving);
    return *std::move(moving);
  }
  // Made once: keys take their time.
  static const Pki& pki() {
    static const Pki kPki = *make_pki({.node = "a", .hosts = {"localhost"}, .lifetime = std::chrono::days(1)});
    return kPki;
  }
};

bool has_line(const RmdImport& moving, const std::string& line) {
  return moving.configuration().find("\n" + line + "\n") != std::string::npos;
}

// The number of notes of this kind about `what`.
long notes_about(const RmdImport& moving, Note::Kind kind, const std::string& what) {
  const auto& notes = moving.report().notes();
  return std::count_if(notes.begin(), notes.end(), [&](const Note& note) {
    return note.kind == kind && note.what.find(what) != std::string::npos;
  });
}

std::set<std::string> names_in(const RmdImport& moving, const std::string& directory) {
  std::set<std::string> names;
  if (!moving.files().contains(directory)) return names;
  for (const NewFile& file : moving.files().at(directory)) names.insert(file.name);
  return names;
}

DumpedWorkload only(const std::string& dump) {
  const auto workloads = workloads_of_dump(dump);
  REQUIRE(workloads);
  REQUIRE(workloads->size() == 1);
  return workloads->front();
}

}  // namespace

TEST_CASE("PAM users and RMD's access list are imported") {
  const Rmd rmd("[default]\nclientauth = \"no\"\nclientcapath = \"/nonexistent\"\n[pam]\nservice = \"rmd\"\n");
  rmd.put("acl/url/policy.csv", "p, user, /workloads, GET\ng, alice, user\n");
  const RmdImport moving = rmd.moved();
  CHECK(has_line(moving, "client_auth = \"optional\""));
  CHECK(moving.configuration().find("client_ca") == std::string::npos);
  CHECK(names_in(moving, "tls") == std::set<std::string>{"server.crt", "server.key"});
  CHECK(has_line(moving, "pam = true"));
  CHECK(has_line(moving, "acl = \"/etc/nrd/acl.csv\""));
  CHECK(names_in(moving, "").contains("acl.csv"));
  for (const std::string key : {"pam.service", "default.clientcapath"})
    CHECK(notes_about(moving, Note::Kind::LeftOut, key) == 1);
  CHECK(notes_about(moving, Note::Kind::LeftOut, "pam/rmd") == 1);
  CHECK(notes_about(moving, Note::Kind::Changed, "policy.csv") == 0);
  rmd.put("acl/url/policy.csv", "p, user, /workloads, GET\ng, root, user\n");
  CHECK(notes_about(rmd.moved(), Note::Kind::Changed, "policy.csv") == 1);
}

TEST_CASE("without HTTPS, files of PAM users are imported with the keys to add later") {
  const Rmd rmd("[default]\nclientauth = \"no\"\ncertpath = \"/nonexistent\"\n");
  rmd.put("pam/rmd", "auth required pam_unix.so\n");
  rmd.put("acl/url/policy.csv", "p, user, /workloads, GET\ng, alice, user\n");
  const RmdImport moving = rmd.moved();
  CHECK(names_in(moving, "") == std::set<std::string>{"acl.csv", "nrd.toml"});
  CHECK(names_in(moving, "pam") == std::set<std::string>{"nrd"});
  CHECK(moving.configuration().find("\n[access]") == std::string::npos);
  CHECK(moving.configuration().find("access.pam = true, access.acl = \"/etc/nrd/acl.csv\"") != std::string::npos);
}

TEST_CASE("RMD's PAM stack gets account lines unless it has some") {
  const std::string auth = "# RMD\nauth sufficient pam_unix.so\n-auth\trequisite pam_userdb.so db=/x crypt=crypt";
  CHECK(with_account_lines(auth) ==
        auth + "\naccount sufficient pam_unix.so\n-account\trequisite pam_userdb.so db=/x crypt=crypt\n");
  CHECK(with_account_lines("@include common-auth\n") == "@include common-auth\n@include common-account\n");
  for (const std::string whole : {"auth required a.so\naccount required b.so", "auth required a.so\n@include other\n",
                                  "auth required a.so\n-account required b.so\n", "", "session required a.so\n"}) {
    CAPTURE(whole);
    CHECK(with_account_lines(whole) == whole);
  }
  const Rmd rmd("[default]\nclientauth = \"no\"\n");
  rmd.put("pam/rmd", auth);
  const RmdImport moving = rmd.moved();
  CHECK(names_in(moving, "pam") == std::set<std::string>{"nrd"});
  CHECK(moving.files().at("pam").front().content == with_account_lines(auth));
  CHECK(notes_about(moving, Note::Kind::Changed, "pam/rmd") == 1);
}

TEST_CASE("client modes that granted everyone full access become require") {
  for (const std::string mode : {"require", "require_any", "challenge_given", "nonsense"}) {
    const Rmd rmd("[default]\nclientauth = \"" + mode + "\"\n");
    const RmdImport moving = rmd.moved();
    CHECK(has_line(moving, "client_auth = \"require\""));
    CHECK(notes_about(moving, Note::Kind::Changed, "clientauth") == 1);
    CHECK(moving.configuration().find("pam") == std::string::npos);
  }
}

TEST_CASE("valid listed certificates are copied, invalid ones are not") {
  const Rmd rmd(
      "[acl]\nauthorization = \"signature\"\nadmincert = \"/etc/rmd/acl/roles/admin\"\nusercert = \"/etc/rmd/u\"\n");
  rmd.put("acl/roles/admin/boss.pem", Rmd::pki().admin.certificate);
  rmd.put("acl/roles/admin/broken.pem", "x");
  rmd.put("acl/roles/admin/readme.txt", "x");
  const RmdImport moving = rmd.moved();
  CHECK(names_in(moving, "admin-certificates") == std::set<std::string>{"boss.pem"});
  CHECK(has_line(moving, "admin_certificates = \"/etc/nrd/admin-certificates\""));
  CHECK(notes_about(moving, Note::Kind::LeftOut, "broken.pem") == 1);
  CHECK(notes_about(moving, Note::Kind::LeftOut, "acl.usercert") == 1);
  CHECK(moving.configuration().find("user_certificates =") == std::string::npos);
}

TEST_CASE("roles are taken from the subject if RMD did so") {
  const Rmd by_unit("[acl]\nauthorization = \"role\"\n");
  CHECK(has_line(by_unit.moved(), "admin = [\"OU=Admin\"]"));
  CHECK(has_line(by_unit.moved(), "user = [\"OU=User\"]"));
  const Rmd by_name("[acl]\nauthorization = \"username\"\n");
  by_name.put("acl/url/policy.csv", "g, alice, admin\ng, bob, root\ng, eve, user\ng, admin, root\ng, x\np, a, b, c\n");
  CHECK(has_line(by_name.moved(), "admin = [\"CN=alice\", \"CN=bob\"]"));
  CHECK(has_line(by_name.moved(), "user = [\"CN=eve\"]"));
}

TEST_CASE("user-to-role lines are distinguished from role lines") {
  CHECK(named_roles_of("") == NamedRoles{});
  CHECK(named_roles_of("g,alice,root") == NamedRoles{{"CN=alice"}, {}});
  CHECK(named_roles_of("g, root, user\n#g, x, root\ng, y, boss\ng, , user\n\n") == NamedRoles{});
}

TEST_CASE("with plain HTTP, a non-loopback address becomes loopback") {
  const Rmd rmd("[default]\naddress = \"0.0.0.0\"\n[debug]\nenabled = true\n");
  CHECK(has_line(rmd.moved(), "address = \"127.0.0.1\""));
  const Rmd closed("[default]\naddress = \"0.0.0.0\"\n");
  CHECK(has_line(closed.moved(), "address = \"0.0.0.0\""));
  const Rmd named("[default]\naddress = \"node17\"\n");
  CHECK(named.moved().configuration().find("address =") == std::string::npos);
}

TEST_CASE("RMD's defaults are written for pools that RMD left unset") {
  const Rmd rmd("[CachePool]\nguarantee = 9\n");
  const RmdImport moving = rmd.moved(CacheWays{20, 1});
  for (const std::string line : {"os = 1", "guarantee = 9", "besteffort = 7", "shared = 2"})
    CHECK(has_line(moving, line));
  CHECK(notes_about(moving, Note::Kind::Changed, "besteffort") == 1);
  const Rmd wrong("[CachePool]\nguarantee = \"nine\"\nshared = 1\n");
  CHECK(wrong.moved().configuration().find("[cache_pools]") == std::string::npos);
}

TEST_CASE("numbers and booleans in quotes are imported, as RMD took them") {
  const Rmd rmd(
      "[default]\ntlsport = \"8444\"\n[debug]\nenabled = \"True\"\n"
      "[CachePool]\nguarantee = \"9\"\nbesteffort = \"4\"\nshrink = 1\n");
  const RmdImport moving = rmd.moved(CacheWays{20, 1});
  for (const std::string line : {"tls_port = 8444", "debug = true", "guarantee = 9", "besteffort = 4", "shrink = true"})
    CHECK(has_line(moving, line));
  const Rmd odd("[debug]\nenabled = \"yes\"\n[CachePool]\nguarantee = \"nine\"\nshrink = \"0\"\n");
  CHECK(notes_about(odd.moved(), Note::Kind::LeftOut, "debug.enabled") == 1);
  CHECK(has_line(odd.moved(), "shrink = false"));
}

TEST_CASE("a configuration in JSON is read before one in TOML, as RMD did") {
  const Rmd rmd("[default]\ntlsport = 8444\n");
  rmd.put("rmd.json", "{\n\t\"default\": {\n\t\t\"tlsport\": 8445,\n\t\t\"address\": \"192.0.2.1\"\n\t}\n}\n");
  CHECK(has_line(rmd.moved(), "tls_port = 8445"));
  CHECK(has_line(rmd.moved(), "address = \"192.0.2.1\""));
}

TEST_CASE("CPU types are imported in every form that RMD took") {
  const Rmd rmd("");
  rmd.put("cpu_map.toml",
          "[Broadwell]\nfamily = 6\nmodel = 61\n"
          "[[\"Ice Lake\"]]\nfamily = \"6\"\nmodel = 0x6a\nstepping = 4\n");
  const RmdImport moving = rmd.moved();
  const auto& files = moving.files().at("");
  const auto map = std::ranges::find(files, "cpu_map.toml", &NewFile::name);
  REQUIRE(map != files.end());
  CHECK(
      map->content.ends_with("\n[[broadwell]]\nfamily = 6\nmodel = 61\n\n[[\"ice lake\"]]\nfamily = 6\nmodel = 106\n"));
  CHECK(notes_about(moving, Note::Kind::LeftOut, "cpu_map.toml") == 0);
}

TEST_CASE("a value cannot break out of its comment") {
  const Rmd rmd("[log]\npath = \"a\\nb\"\n[default]\nplugins = \"\\u001b[2J\"\n");
  const std::string text = rmd.moved().configuration();
  CHECK(text.find("\nb") == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a workload of a dump is requested without the fields that RMD chose") {
  const DumpedWorkload one = only(
      R"([{"id":"3","core_ids":["4-5","7"],"status":"Successful","cos_name":"COS2",)"
      R"("rdt":{"cache":{"max":2,"min":2},"mba":{}},"plugins":{"pstate":{"ratio":1.50}},"uuid":"w","origin":"OPENSTACK",)"
      R"("backend_plugin_info":{"pstate":"1"}}])");
  CHECK(one.cores == "CPUs 4-5,7");
  CHECK(one.request(Id::Keep) ==
        R"({"id":"3","core_ids":["4-5","7"],"rdt":{"cache":{"max":2,"min":2}},"plugins":{"pstate":{"ratio":1.50}},)"
        R"("uuid":"w","origin":"OPENSTACK"})");
  CHECK(one.request(Id::Leave).find("\"id\"") == std::string::npos);
}

TEST_CASE("a workload of RMD 0.2 keeps its own format") {
  CHECK(only(R"([{"id":"1","core_ids":["1"],"cache":{"max":1,"min":1},"pstate":{"ratio":2}}])").request(Id::Leave) ==
        R"({"core_ids":["1"],"cache":{"max":1,"min":1},"pstate":{"ratio":2}})");
}

TEST_CASE("for a workload with a policy, only the policy is requested") {
  const DumpedWorkload one =
      only(R"([{"id":"3","task_ids":["17"],"policy":"gold","rdt":{"cache":{"max":4,"min":4}},"origin":"REST"}])");
  CHECK(one.cores == "tasks 17");
  CHECK(one.request(Id::Leave) == R"({"task_ids":["17"],"policy":"gold","origin":"REST"})");
}

TEST_CASE("workloads are ordered by number") {
  const auto workloads = workloads_of_dump(R"([{"id":"1"},{"id":"10"},{"id":"2"}])");
  REQUIRE(workloads);
  CHECK(workloads->at(1).id == "2");
  CHECK(workloads->at(2).id == "10");
}

TEST_CASE("certificate subjects are read, and keys are matched to certificates") {
  const auto admin = facts_of(Rmd::pki().admin.certificate);
  REQUIRE(admin);
  CHECK(admin->subject == "CN=admin,OU=Admin");
  CHECK_FALSE(admin->is_over);
  CHECK_FALSE(is_sample_of_rmd(*admin));
  CHECK(is_key_of(Rmd::pki().admin.key, Rmd::pki().admin.certificate));
  CHECK_FALSE(is_key_of(Rmd::pki().user.key, Rmd::pki().admin.certificate));
  CHECK_FALSE(is_key_of("", Rmd::pki().admin.certificate));
  for (const std::string& text : {std::string(), std::string("x"), Rmd::pki().admin.certificate.substr(0, 200)}) {
    CHECK_FALSE(facts_of(text));
  }
  CHECK(
      is_sample_of_rmd({.subject = "CN=Alice,OU=Admin", .issuer = "O=Resource Management Daedmon", .is_over = false}));
  CHECK(is_sample_of_rmd({.subject = "CN=RMD-SERVER", .issuer = "CN=x", .is_over = false}));
}

}  // namespace nrd::cli::rmd_import_test
