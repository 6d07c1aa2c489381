# tests/oracle — known schedules, job by job; the reference that made some of them is slow and independent
dist_check_SCRIPTS += tests/oracle/oracle.sh
EXTRA_DIST += tests/oracle/reference.py tests/oracle/excerpt.py tests/oracle/compare.py tests/oracle/excerpt
