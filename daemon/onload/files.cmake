# What the daemon has of Onload.
set(ONLOAD_HEADERS onload/launch_config.h onload/parameters.h)
if(NRD_ONLOAD)
  set(ONLOAD_SOURCES onload/config_keys.cc onload/control_plane.cc onload/host.cc onload/launch_backend.cc
      onload/parameters.cc onload/preflight_checks.cc onload/step_errors.cc onload/target.cc onload/verify.cc
      onload/version_cache.cc)
  list(APPEND ONLOAD_HEADERS onload/control_plane.h onload/host.h onload/preflight_checks.h onload/step_errors.h
       onload/target.h onload/verify.h onload/version_cache.h)
  set(ONLOAD_USES engine_onload engine_onload_allocations hw_onload hw_onload_modules)
else()
  set(ONLOAD_SOURCES onload/absent.cc)
  set(ONLOAD_USES engine_onload)
endif()
