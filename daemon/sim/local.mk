# daemon/sim
