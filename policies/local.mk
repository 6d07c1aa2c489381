# policies — installed below $(pkgdatadir)
platformsdir = $(pkgdatadir)/platforms
dist_platforms_DATA = \
  policies/platforms/a100x8.yaml \
  policies/platforms/cs2.yaml \
  policies/platforms/cs3.yaml \
  policies/platforms/h100x8.yaml \
  policies/platforms/ipu-pod16.yaml
