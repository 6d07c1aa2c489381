# daemon/engine
