# tests/vault
