# tests/service — under a real systemd, in a container: what the units, the packages and we make of it
dist_check_SCRIPTS += tests/service/service.sh
EXTRA_DIST += tests/service/lib.sh tests/service/package.sh
