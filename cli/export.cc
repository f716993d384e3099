#include "cli/export.h"

#include "cli/printer.h"
#include "hw/cpuset/types.h"

namespace nrd::cli {

Outcome<> export_unit(const std::string& service) {
  if (!cpuset::is_unit_name(service) || !service.ends_with(".service"))
    return stop(kUsage, service + " is not the name of a service, such as feed.service");
  print("# /etc/systemd/system/" + service +
        ".d/nrd.conf\n"
        "# To apply it: systemctl daemon-reload, and systemctl restart " +
        service + "\n[Service]\nSlice=nrd.slice\n");
  return {};
}

}  // namespace nrd::cli
