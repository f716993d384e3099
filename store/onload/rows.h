// The rows of Onload's tables: reading all of them, and writing a change of them inside of a transaction.
#pragma once

#include <string>

#include "store/onload/records.h"
#include "store/sqlite.h"

namespace nrd::store {

class OnloadStatements {
 public:
  SqlError prepare(Connection& connection);
  SqlError write(const OnloadChange& change);

 private:
  SqlError write(const OnloadGenerationRecord& generation);
  SqlError write(const OnloadOperationRecord& operation);
  SqlError write(const OnloadAllocationRecord& allocation);
  SqlError write(const OnloadInterfaceRecord& interface);

  Statement freeze_, drain_, undrain_, errand_, drop_generation_, drop_operation_, generation_, parameter_,
      control_plane_, operation_, step_, allocation_, drop_allocation_, interface_, noted_interface_;
};

// `complaint`: what went wrong, empty if nothing did.
OnloadRecords read_onload(Connection& connection, std::string& complaint);

}  // namespace nrd::store
