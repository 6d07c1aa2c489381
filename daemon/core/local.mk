# daemon/core
