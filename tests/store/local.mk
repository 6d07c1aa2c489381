# tests/store
