# debian — the packages: `make deb` builds them from what `make dist` packs, in packages/
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules debian/source/format \
  debian/wafer.docs debian/wafer.install debian/waferd.install debian/waferd.postrm debian/waferd.prerm

deb: dist
	rm -rf packages && $(MKDIR_P) packages
	tar -xJf $(distdir).tar.xz -C packages
	cd packages/$(distdir) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b
clean-local: clean-packages
clean-packages:
	rm -rf packages
.PHONY: deb clean-packages
