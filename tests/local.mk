# tests/ mirrors daemon/; each folder says what it may link
EXTRA_DIST += tests/tap.h
# The longest first, and these wait more than they work: others run beside them.
include tests/e2e/local.mk
include tests/service/local.mk
if HAVE_CHECK
include tests/base/local.mk
include tests/model/local.mk
include tests/policy/local.mk
include tests/core/local.mk
include tests/engine/local.mk
include tests/store/local.mk
include tests/vault/local.mk
include tests/net/local.mk
include tests/notify/local.mk
include tests/replay/local.mk
include tests/sim/local.mk
include tests/daemon/local.mk
include tests/dst/local.mk
include tests/cli/local.mk
endif
include tests/man/local.mk
include tests/fuzz/local.mk
include tests/oracle/local.mk
include tests/bench/local.mk
dist_check_SCRIPTS += tests/arrows.sh
