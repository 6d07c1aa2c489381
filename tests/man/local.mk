# tests/man — the man pages against the programs and the schemas
dist_check_SCRIPTS += tests/man/lint.sh
