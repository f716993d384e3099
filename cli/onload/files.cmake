# What nrdctl has of Onload.
if(NRD_ONLOAD)
  set(ONLOAD_SOURCES onload/acceleration.cc onload/export.cc onload/interfaces.cc
      onload/launch.cc onload/launch_profiles.cc onload/onload.cc onload/preloaded.cc onload/profile_shell.cc onload/steps.cc)
  set(ONLOAD_HEADERS onload/export.h onload/launch.h
      onload/launch_profiles.h onload/onload.h onload/preloaded.h onload/profile_shell.h onload/steps.h)
  set(ONLOAD_USES hw_onload_files hw_onload_profiles)
else()
  set(ONLOAD_SOURCES onload/absent.cc)
  set(ONLOAD_HEADERS)
  set(ONLOAD_USES)
endif()
