# What `cmake --install` puts where (GNU directories; Debian's prefix is /usr).
include(GNUInstallDirs)
install(TARGETS nrd DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS nrdctl DESTINATION ${CMAKE_INSTALL_BINDIR})
# Not below the prefix: nrd runs it by this path.
install(TARGETS nrd-pam DESTINATION /usr/libexec/nrd)
install(FILES etc/nrd.toml etc/policy.toml DESTINATION /etc/nrd)
install(FILES etc/pam.d/nrd DESTINATION /etc/pam.d)
install(FILES systemd/nrd.service systemd/nrd.socket systemd/sys-fs-resctrl.mount DESTINATION /usr/lib/systemd/system)
install(FILES systemd/msr.conf systemd/onload.conf systemd/pam.conf systemd/resctrl.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/nrd)
install(FILES systemd/nrd.sysusers DESTINATION /usr/lib/sysusers.d RENAME nrd.conf)
install(FILES docs/man/nrd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
install(FILES docs/man/nrdctl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/man/nrd.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
