# What `cmake --install` puts where (GNU directories; Debian's prefix is /usr).
include(GNUInstallDirs)
install(TARGETS nrd DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS nrdctl DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES etc/nrd.toml DESTINATION /etc/nrd)
install(FILES systemd/nrd.service DESTINATION /usr/lib/systemd/system)
install(FILES docs/man/nrd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES docs/man/nrdctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/nrd.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
