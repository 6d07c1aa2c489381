# policies — platforms, below $(pkgdatadir); the rules are the site's, and systemd/ puts the first ones below /etc
platformsdir = $(pkgdatadir)/platforms
dist_platforms_DATA = \
  policies/platforms/a100x8.yaml \
  policies/platforms/cs2.yaml \
  policies/platforms/cs3.yaml \
  policies/platforms/h100x8.yaml \
  policies/platforms/ipu-pod16.yaml

EXTRA_DIST += policies/roles.yaml policies/scheduling.yaml

# A waferd that is not installed finds the platforms beside itself, also when it was built elsewhere.
all-local: platforms-beside
platforms-beside:
	@test -e policies/platforms || \
	  { $(MKDIR_P) policies && ln -s $(abs_top_srcdir)/policies/platforms policies/platforms; }
clean-local:
	@test ! -h policies/platforms || rm policies/platforms
.PHONY: platforms-beside
