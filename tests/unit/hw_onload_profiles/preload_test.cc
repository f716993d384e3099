#include "hw/onload/profiles/preload.h"

#include <doctest/doctest.h>

namespace nrd::preload_test {

using nrd::profiles::merge_preload;

TEST_CASE("a library is prepended to LD_PRELOAD, and only once") {
  struct Row {
    const char* before;
    const char* after;
  };
  for (const Row& row : {Row{"", "/opt/libonload.so"}, Row{"libjemalloc.so", "/opt/libonload.so:libjemalloc.so"},
                         Row{"a.so b.so", "/opt/libonload.so:a.so b.so"}, Row{" : ", "/opt/libonload.so"},
                         Row{"a.so:/other/libonload.so", "a.so:/other/libonload.so"},
                         Row{"libonload.so", "libonload.so"}, Row{"a.so libonload.so:b.so", "a.so libonload.so:b.so"},
                         Row{"libonload.so.1", "/opt/libonload.so:libonload.so.1"},
                         Row{"/libonload.so/x.so", "/opt/libonload.so:/libonload.so/x.so"}}) {
    CAPTURE(row.before);
    CHECK(merge_preload(row.before, "/opt/libonload.so") == row.after);
  }
}

}  // namespace nrd::preload_test
