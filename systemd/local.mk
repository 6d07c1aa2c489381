# systemd — the service as systemd runs it, and the files that an operator begins with
systemd_templates = systemd/waferd.service systemd/wafersim@.service systemd/waferd.yaml
EXTRA_DIST += $(systemd_templates:=.in) systemd/waferd.socket systemd/wafersim.slice \
  systemd/local.conf
CLEANFILES += $(systemd_templates)

$(systemd_templates): Makefile
	$(AM_V_GEN)$(MKDIR_P) systemd && sed -e 's|@sbindir[@]|$(sbindir)|g' \
	  -e 's|@sysconfdir[@]|$(sysconfdir)|g' -e 's|@pkgdatadir[@]|$(pkgdatadir)|g' \
	  <$(srcdir)/$@.in >$@.tmp && mv $@.tmp $@
systemd/waferd.service: systemd/waferd.service.in
systemd/wafersim@.service: systemd/wafersim@.service.in
systemd/waferd.yaml: systemd/waferd.yaml.in

if SYSTEMD_UNITS
systemdsystemunit_DATA = systemd/waferd.service systemd/wafersim@.service \
  systemd/waferd.socket systemd/wafersim.slice
dist_sysusers_DATA = systemd/sysusers.d/waferd.conf
dist_tmpfiles_DATA = systemd/tmpfiles.d/waferd.conf
endif

# What an operator has changed stays, also when the programs are installed again or go.
systemd_sites = $(DESTDIR)$(sysconfdir)/waferd
install-data-local: install-site
install-site: systemd/waferd.yaml
	$(MKDIR_P) '$(systemd_sites)/wafersim' '$(systemd_sites)/policies'
	test -e '$(systemd_sites)/waferd.yaml' || \
	  $(INSTALL_DATA) systemd/waferd.yaml '$(systemd_sites)/waferd.yaml'
	test -e '$(systemd_sites)/wafersim/local.conf' || \
	  $(INSTALL_DATA) $(srcdir)/systemd/local.conf '$(systemd_sites)/wafersim/local.conf'
	test -e '$(systemd_sites)/policies/roles.yaml' || \
	  $(INSTALL_DATA) $(srcdir)/policies/roles.yaml '$(systemd_sites)/policies/roles.yaml'
uninstall-local: uninstall-site
uninstall-site: systemd/waferd.yaml
	! cmp -s systemd/waferd.yaml '$(systemd_sites)/waferd.yaml' || rm '$(systemd_sites)/waferd.yaml'
	! cmp -s $(srcdir)/systemd/local.conf '$(systemd_sites)/wafersim/local.conf' || \
	  rm '$(systemd_sites)/wafersim/local.conf'
	! cmp -s $(srcdir)/policies/roles.yaml '$(systemd_sites)/policies/roles.yaml' || \
	  rm '$(systemd_sites)/policies/roles.yaml'
.PHONY: install-site uninstall-site
