# daemon/vault
