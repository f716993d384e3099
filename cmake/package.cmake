# A package for Debian 12, in the folder of a build: cpack. It depends on the libraries that it was linked with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nrd)
set(CPACK_PACKAGE_CONTACT "root <root@localhost>")  # the host that builds it
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "node resource daemon: L3 cache ways and more for workloads")
set(CPACK_PACKAGE_DESCRIPTION
"Grants ways of the L3 cache, memory bandwidth, CPU frequencies and Onload to
workloads over REST, all or nothing, and keeps them over crashes and reboots.
Clients of Intel RMD work unchanged.")
set(CPACK_SET_DESTDIR ON)  # some of what is installed has its place whatever the prefix
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DEPENDS systemd)  # systemd-sysusers makes the group
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
foreach(file conffiles postinst postrm prerm)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/systemd/deb/${file})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
