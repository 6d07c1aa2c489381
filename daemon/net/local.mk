# daemon/net
