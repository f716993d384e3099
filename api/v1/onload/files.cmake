# What api_v1 has of Onload.
if(NRD_ONLOAD)
  set(ONLOAD_SOURCES onload/allocations.cc onload/control_plane_args.cc onload/launch.cc onload/metrics.cc
      onload/onload.cc onload/parse.cc onload/profiles.cc onload/routes.cc onload/services.cc onload/to_json.cc
      onload/verbs.cc onload/versions.cc)
  set(ONLOAD_HEADERS onload/answer.h onload/control_plane_args.h onload/onload.h onload/parse.h onload/services.h)
  set(ONLOAD_USES engine_onload engine_onload_allocations hw_onload_types)
else()
  set(ONLOAD_SOURCES onload/absent.cc)
  set(ONLOAD_HEADERS)
  set(ONLOAD_USES engine_onload)
endif()

# describe_launch(TEXT): the variable holds docs/openapi.yaml, which describes nrd with Onload; without it, its paths and
# tags go. The schemas stay, one of them is of a workload's member.
function(describe_launch text)
  if(NOT NRD_ONLOAD)
    string(REGEX REPLACE "\n  /v1/onload[^\n]*(\n    [^\n]*)+" "" described "${${text}}")
    string(REGEX REPLACE "\n  - {name: onload[^\n]*" "" described "${described}")
    set(${text} "${described}" PARENT_SCOPE)
  endif()
endfunction()
